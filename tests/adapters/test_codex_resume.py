"""What Codex itself sends when it resumes a session, against our context, block for block.

Slow and offline: it runs the real agent (0.171.0). Skips where the recordings or the agent are missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sessions.adapters.codex import ADAPTER
from sessions.assembly import Reading, read_whole
from tests.adapters.codex import build, test_rebuilding
from tests.adapters.resume import Answer, Rule, Sent, ask, differences, flatten

pytestmark = pytest.mark.resume

SHOWS = {
    "cli-0.36.0/*acef03a3*.jsonl": "wrapped, before turn marks; results in the shell tool's JSON",
    "cli-0.98.0/*01a22af3-3786*.jsonl": "a compaction without a history of its own, in the middle of a turn",
    "cli-0.125.0/*01a22af3-6e68*.jsonl": "a compaction with a replacement history, in the middle of a turn",
    "cli-0.125.0/*01a22af3-fd5a*.jsonl": "a rollback, then an image, then a compaction that leaves the image out, then a sub-agent's notice",
    "cli-0.125.0/*01a22af4-01c0*.jsonl": "a fork that copies its parent, with the rollback and the compaction in the copy",
    "cli-0.125.0/*01a22af4-0293*.jsonl": "a sub-agent (v1)",
    "cli-0.171.0/*04-59-53*.jsonl": "paginated; a call to a tool that is not there",
    "cli-0.171.0/*05-00-46*.jsonl": "goal turns, results without a call, a compaction, an interrupted turn",
    "cli-0.171.0/*05-01-43*7fff480.jsonl": "three turns, later reverted in another file",
    "cli-0.171.0/*05-01-44*_*.jsonl": "a revert: the file that continues a cut of the one above",
    "cli-0.171.0/archived_sessions/*.jsonl": "a fork by reference to the revert: two bases",
    "cli-0.171.0/*01a22aee-1f88*.jsonl": "a parent of v1 sub-agents",
    "cli-0.171.0/*01a22aee-2026*.jsonl": "a sub-agent (v1), paginated",
    "cli-0.171.0/*01a22aee-293b*.jsonl": "v2 agents: a team's instructions",
    "cli-0.171.0/*01a22af9-e375*.jsonl": "6.8 MB, two compactions that repeat messages and put context between them, an image",
    "cli-0.171.0/*01a22af9-f13f*.jsonl": "a parent of a v2 sub-agent, with mail from it",
    "agentsessions-stage0-large.jsonl": "items of types that no version writes",
}


def _bare_kind(sent: Sent) -> Sent:
    return replace(sent, kind="text") if sent.kind == "context" else sent


def _image_type(sent: Sent) -> Sent:
    if sent.kind != "image" or not sent.text.startswith("{"):
        return sent
    address = json.loads(sent.text)["image_url"]
    return replace(sent, text=address.removeprefix("data:").partition(";")[0])


def _mail(sent: Sent) -> Sent:
    if sent.kind != "other" or not sent.text.startswith('{"type": "agent_message"'):
        return sent
    return replace(
        sent,
        kind="text",
        text="\n".join(block["text"] for block in json.loads(sent.text)["content"] if "text" in block),
    )


RULES = [
    Rule(
        "context by another name",
        "the harness names context by a few openings, we by the agent's own; the text is compared",
        _bare_kind,
    ),
    Rule("image by its type", "we keep what an image is and not its bytes", _image_type),
    Rule("mail as its text", "the harness prints mail between agents as JSON; we keep its words", _mail),
]


def wrapped(history: list[Sent], ours: int) -> tuple[list[Sent], list[Sent]]:
    """The agent's blocks without what it wraps around the conversation, and what follows them.

    Two wrappings, both its own and not in the log: the base instructions, sent as the first developer message (they stand in
    `session_meta`); and what it puts in after the whole history because it now runs elsewhere and with another model. Summaries
    that the provider sealed are left out on both sides: our blocks hold no more of them than that they are there.
    """
    first, rest = history[0], [block for block in history[1:] if not sealed(block)]
    assert first.role == "developer"
    assert first.text.startswith(("You are Codex", "You are a coding agent"))
    return rest[:ours], rest[ours:]


_INSTRUCTIONS = (
    "<model_switch>",
    "<skills_instructions>",
    "<permissions instructions>",
    "<multi_agent",
    "You are `/root`, ",
)


def sealed(block: Sent) -> bool:
    return block.kind == "other" and block.text.startswith(('{"type": "compaction"', '{"type": "context_compaction"'))


def put_in_on_resume(block: Sent) -> bool:
    if block.role == "developer":
        return block.text.startswith(_INSTRUCTIONS)
    return block.role == "user" and block.text.startswith("<environment_context>")


def compare(reading: Reading, answer: Answer) -> list[str]:
    """What differs, in words; empty where nothing does."""
    assert answer.verdict in ("resumed", "empty"), answer.reason
    ours = flatten(reading.context())
    theirs, after = wrapped(answer.history, len(ours))
    left = differences(ours, theirs, RULES).left
    return left + [
        f"sent, not ours: {block.role} {block.text[:120]!r}" for block in after if not put_in_on_resume(block)
    ]


def chain_of(path: Path, folder: Path) -> tuple[list[tuple[bytes, bool]], list[Path]]:
    """The sources that a session is read from, in order, and those among them that are not its own."""
    own = path.read_bytes()
    claim = ADAPTER.claim(path, own[: 1 << 16])
    assert claim is not None
    if claim.base is None:
        return [(own, False)], []
    for other in sorted(folder.rglob("rollout-*.jsonl")):
        raw = other.read_bytes()
        known = ADAPTER.claim(other, raw[: 1 << 16])
        if known is not None and known.source_id == claim.base.native_id:
            bases, paths = chain_of(other, folder)
            whole = raw if known.native_id == claim.native_id else raw[: claim.base.until_offset]
            return [*((data, True) for data, _ in bases[:-1]), (whole, True), (own, False)], [*paths, other]
    raise LookupError(claim.base.native_id)


@pytest.mark.parametrize("pattern", SHOWS)
def test_what_is_sent_on_resume(pattern: str, shared_data: Path) -> None:
    (path,) = (shared_data / "codex").glob(pattern)
    sources, bases = chain_of(path, shared_data / "codex")
    reading = read_whole(ADAPTER, path, sources)
    assert compare(reading, ask("codex", path, shared_data.parent, companions=bases)) == []


def summary_head(shared_data: Path) -> str:
    """The words before a summary, whole, as the agent looks for them; taken from a recording."""
    (path,) = (shared_data / "codex" / "cli-0.98.0").glob("rollout-*.jsonl")
    messages = [
        json.loads(line)["payload"]["message"]
        for line in path.read_bytes().splitlines()
        if b'"type":"compacted"' in line
    ]
    opening, lead, _ = messages[0].partition("analysis:\n")
    return str(opening + lead)


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


@pytest.mark.parametrize("name", test_rebuilding.TABLE)
def test_the_table_of_rebuilding_is_the_agents(name: str, shared_data: Path, tmp_path: Path) -> None:
    """What the fast tests expect of compactions and rollbacks is asked of the agent itself."""
    records, _ = test_rebuilding.TABLE[name]
    path = tmp_path / build.NAME
    path.write_bytes(
        build.data([*build.meta(), *records]).replace(_json(build.SUMMARY_HEAD), _json(summary_head(shared_data)))
    )
    reading = read_whole(ADAPTER, path, [(path.read_bytes(), False)])
    assert compare(reading, ask("codex", path, shared_data.parent)) == []


def as_thread(raw: bytes, change: Callable[[dict[str, object]], None]) -> bytes:
    """A rollout with another first line."""
    first, _, rest = raw.partition(b"\n")
    record = json.loads(first)
    change(record["payload"])
    return json.dumps(record).encode() + b"\n" + rest


def test_an_inheriting_sub_agent(shared_data: Path, tmp_path: Path) -> None:
    """The agent resumes a v2 sub-agent only through its parent; so it is asked with the same log as a thread of its own."""
    (path,) = (shared_data / "codex").glob("cli-0.171.0/*01a22af9-f1df*.jsonl")

    def free(payload: dict[str, object]) -> None:
        payload["source"] = "cli"
        for key in (
            "parent_thread_id",
            "agent_path",
            "agent_nickname",
            "thread_source",
            "subagent_history_start_ordinal",
            "multi_agent_version",
        ):
            payload.pop(key, None)

    copy = tmp_path / path.name
    copy.write_bytes(as_thread(path.read_bytes(), free))
    answer = ask("codex", copy, shared_data.parent)
    reading = read_whole(ADAPTER, path, [(path.read_bytes(), False)])
    assert compare(reading, answer) == []


def test_a_log_of_every_type(shared_data: Path, tmp_path: Path) -> None:
    """A census of types whose values were taken out, behind a first line that the agent accepts."""
    census = (shared_data / "codex" / "agentsessions-stage0-small.jsonl").read_bytes()
    copy = tmp_path / build.NAME
    copy.write_bytes(build.data(build.meta()) + census.partition(b"\n")[2])
    reading = read_whole(ADAPTER, copy, [(copy.read_bytes(), False)])
    assert compare(reading, ask("codex", copy, shared_data.parent)) == []


def test_a_flat_log_as_a_wrapped_one(shared_data: Path, tmp_path: Path) -> None:
    """The agent no longer resumes flat files: the same items, wrapped, are what it would send."""
    (path,) = (shared_data / "codex").glob("cli-0.25.0/*535e04ce*.jsonl")
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    items = [build.line("response_item", record) for record in records if "type" in record]
    copy = tmp_path / build.NAME
    copy.write_bytes(build.data([*build.meta(), *items]))
    reading = read_whole(ADAPTER, path, [(path.read_bytes(), False)])
    assert compare(reading, ask("codex", copy, shared_data.parent)) == []


def test_flat_files_cannot_be_resumed(shared_data: Path) -> None:
    (path,) = (shared_data / "codex").glob("cli-0.25.0/*535e04ce*.jsonl")
    assert ask("codex", path, shared_data.parent).verdict == "refused"
