"""What Gemini CLI itself sends when it resumes a session, against our context, block for block.

Slow and offline: it runs the real agent (0.61.0). Skips where the recordings or the agent are missing.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sessions.adapters.gemini_cli import ADAPTER
from sessions.assembly import Reading, read_whole
from tests.adapters.gemini_cli import build, test_history
from tests.adapters.resume import Answer, Rule, Sent, ask, differences, flatten

pytestmark = pytest.mark.resume

SHOWS = {
    "agent-sessions-jsonl_v040.jsonl": "0.40: results beside their calls only",
    "agent-sessions-large.json": "a whole file; messages of types that no version writes",
    "agent-sessions-small.json": "a whole file",
    "agentsview-thinking_only.json": "thoughts, which are not sent",
    "agentsview-tool_calls.json": "a call without a result",
    "gen061-export-session.json": "a whole file in which messages are laid out in parts",
    "gen061-image-and-topic.jsonl": "an image beside a result",
    "gen061-imported-by-session-file.jsonl": "an imported summary, then the surroundings put before it",
    "gen061-interactive-chatsave-compress-rewind.jsonl": "a compaction, and a rewind to the middle of an answer",
    "gen061-main-resumed-3x-compacted-2x.jsonl": "two compactions in the middle of a turn, three histories listed again",
    "gen061-main-resumed-once-same-minute.jsonl": "a history listed again in another shape",
    "gen061-parent-of-subagent.jsonl": "a parent of a sub-agent",
    "mgemini-session-2025-12-03T04-51-dea67935.json": "0.18: notes and errors between the messages",
    "mgemini-session-2025-12-03T08-28-fc2fd534.json": "todos, errors of the provider",
    "mgemini-session-2025-12-13T18-18-606305e2.json": "a prompt that was not answered",
    "mgemini-session-2025-12-24T06-27-36e8d28f.json": "several calls in one message",
    "mgemini-session-2025-12-28T04-02-3d0463e2.json": "begins with an error",
    "mgemini-session-2025-12-30T18-12-d5169a00.json": "700 KB, thirteen turns",
    "mgemini-session-2025-12-30T21-46-d5169a00.json": "the same id, another conversation",
    "mgemini-session-2026-01-02T02-34-9330d511.json": "calls that failed and one that was cancelled",
    "mgemini-session-2026-01-02T02-35-9330d511.json": "the file of a sub-agent that does not say so",
    "crafted-accepted/session-2026-11-30T02-00-aaaaaaa1.jsonl": "the least there can be",
    "crafted-accepted/session-2026-11-30T02-01-aaaaaaa2.jsonl": "a rewind",
    "crafted-accepted/session-2026-11-30T02-04-aaaaaaa5.jsonl": "a last line that breaks off",
    "crafted-accepted/session-2026-11-30T02-05-aaaaaaa6.jsonl": "a compaction that keeps its tail's ids",
    "crafted-accepted/session-2026-11-30T02-06-aaaaaaa7.json": "a whole file with a call",
    "crafted-accepted/session-dashboard-aaaaaaa9.jsonl": "keys that nobody knows",
}


def _trimmed(sent: Sent) -> Sent | None:
    text = sent.text.strip() if sent.kind == "text" else sent.text
    return replace(sent, text=text) if text != sent.text else sent


def _no_surroundings(sent: Sent) -> Sent | None:
    return None if sent.kind == "context" and sent.text.lstrip().startswith("<session_context>") else sent


def _image(sent: Sent) -> Sent:
    return replace(sent, role="") if sent.kind == "image" else sent


def _other(sent: Sent) -> Sent:
    return replace(sent, text=json.dumps(json.loads(sent.text), sort_keys=True)) if sent.kind == "other" else sent


def _result(sent: Sent) -> Sent:
    """The harness prints a result that is more than its output as JSON."""
    if sent.kind != "tool_result":
        return sent
    try:
        value = json.loads(sent.text)
    except ValueError:
        return sent
    if isinstance(value, dict) and value.keys() == {"error"} and isinstance(value["error"], str):
        return replace(sent, text=value["error"])
    return replace(sent, text=json.dumps(value, sort_keys=True))


def _id(sent: Sent) -> Sent:
    """A call that was recorded without an id gets one of ours, and another of the agent's."""
    made = sent.call_id is not None and sent.call_id.startswith(("unnamed-", "synth_"))
    return replace(sent, call_id="") if made else sent


RULES = [
    Rule("surroundings told anew", "the agent describes date and folder afresh each time it starts", _no_surroundings),
    Rule("blanks around words", "the agent trims what it records and not what it lists again", _trimmed),
    Rule("an image's place", "we say of which call an image came, the agent lays it beside the result", _image),
    Rule("an error by its words", "the harness prints the object around an error; we keep its words", _result),
    Rule("order of keys", "a part that the harness does not know is printed as it came", _other),
    Rule("ids that were not recorded", "the agent makes one from a hash, we count", _id),
]


def once(blocks: list[Sent]) -> list[Sent]:
    """Without the second copies of a result: the agent sends it beside its call and again as the message that repeats it.

    A defect of 0.61 on resuming; our context has each result once. Only copies that are the same are left out.
    """
    out: list[Sent] = []
    seen: set[Sent] = set()
    open_: dict[str, int] = {}
    image_of_copy = False
    for block in blocks:
        if block.kind == "tool_call" and block.call_id:
            open_[block.call_id] = open_.get(block.call_id, 0) + 1
        if block.kind == "tool_result":
            image_of_copy = block in seen and open_.get(block.call_id or "", 0) < 1
            if image_of_copy:
                continue
            seen.add(block)
            open_[block.call_id or ""] = max(0, open_.get(block.call_id or "", 0) - 1)
        elif block.kind == "image" and image_of_copy:
            continue
        else:
            image_of_copy = False
        out.append(block)
    return out


def compare(reading: Reading, answer: Answer) -> list[str]:
    """What differs, in words; empty where nothing does."""
    assert answer.verdict in ("resumed", "empty"), answer.reason
    return differences(flatten(reading.context()), once(answer.history), RULES).left


def read(path: Path) -> Reading:
    return read_whole(ADAPTER, path, [(path.read_bytes(), False)])


@pytest.mark.parametrize("name", SHOWS)
def test_what_is_sent_on_resume(name: str, shared_data: Path) -> None:
    path = shared_data / "gemini" / name
    assert compare(read(path), ask("gemini", path, shared_data.parent)) == []


@pytest.mark.parametrize("name", test_history.TABLE)
def test_the_table_of_histories_is_the_agents(name: str, shared_data: Path, tmp_path: Path) -> None:
    """What the fast tests expect of compactions, masks and rewinds is asked of the agent itself."""
    records, _ = test_history.TABLE[name]
    path = tmp_path / build.NAME
    path.write_bytes(build.data(build.head(), *records))
    assert compare(read(path), ask("gemini", path, shared_data.parent)) == []
