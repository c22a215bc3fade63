"""What OpenCode itself sends when it resumes an export, against our context, block for block.

Slow and offline: it runs the real agent (1.18.33). Skips where the recordings or the agent are missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from sessions.assembly import Reading
from sessions.contexts import Item
from sessions.expansion import expanded
from tests.adapters.opencode import shapes
from tests.adapters.opencode.build import read
from tests.adapters.resume import Answer, Rule, Sent, ask, differences, flatten

pytestmark = pytest.mark.resume

SHOWS = {
    "gen11833-export-auto": "a compaction by itself whose tail begins in mid-turn, the nudge to go on, a second turn after it",
    "gen11833-export-prune": "six of twelve results pruned",
    "gen11833-export-reverted": "a compaction by hand, then a turn reverted",
    "gen11833-export-partial": "a compaction by hand, then an answer reverted from one of its parts on",
    "gen11833-export-child": "a sub-agent's session",
    "gen11833-export-sanitized": "the same as partial, its words taken out",
    "crafted-rewritten-compacted": "an export written by hand: a compaction of all there is",
}

RULES = [
    Rule(
        "context by another name",
        "the harness names context by a few openings, we by the agent's own; the text is compared",
        lambda sent: replace(sent, kind="text") if sent.kind == "context" else sent,
    ),
    Rule(
        "a file that the model cannot take",
        "the harness's model takes no files, and the agent says so in their place; that a file stands there is compared",
        lambda sent: _as_refused(sent),
    ),
]
_REFUSED = re.compile(r"ERROR: Cannot read .* \(this model does not support (\w+) input\)\. Inform the user\.")


def _as_refused(sent: Sent) -> Sent:
    if sent.kind == "image":
        return replace(sent, text=sent.text.partition("/")[0])
    found = _REFUSED.fullmatch(sent.text)
    return replace(sent, kind="image", text=found[1]) if found else sent


def as_sent_by_the_harness(items: Iterable[Item]) -> list[Sent]:
    """Our blocks, as the provider of the harness puts a step: all its words as one text, then its calls, then the results.

    Reasoning comes back as words there, since the harness answers with another model than the one recorded; so the agent does.
    """
    out: list[Sent] = []
    for step, group in groupby(items, key=lambda item: item.step):
        blocks = flatten(group)
        if step is None:
            out += _inserted(blocks)
            continue
        out += _one_answer(blocks)
    return out


def _one_answer(blocks: Sequence[Sent]) -> list[Sent]:
    said = [block for block in blocks if block.role == "assistant" and block.kind in ("text", "reasoning")]
    words = "".join(block.text for block in said if block.kind == "text" or block.text.strip())
    rest = [block for block in blocks if block not in said]
    attached = [block for block in rest if block.kind == "image" and block.role == "tool"]
    rest = [block for block in rest if block not in attached]
    out = [Sent("assistant", "text", words)] if words else []
    out += rest
    if attached:  # this provider takes no files in results: the agent sends them as a person's message
        out.append(Sent("user", "text", "Attached media from tool result:"))
        out += [replace(block, role="user", call_id=None) for block in attached]
    return out


def _inserted(blocks: Sequence[Sent]) -> list[Sent]:
    """Insertions of one answer (a summary with its reasoning, moved before the tail) are one text too."""
    out: list[Sent] = []
    for role, group in groupby(blocks, key=lambda block: block.role):
        run = list(group)
        out += _one_answer(run) if role == "assistant" else run
    return out


def compare(reading: Reading, answer: Answer) -> list[str]:
    """What differs, in words; empty where nothing does. The first message of the system is the agent's own prompt."""
    assert answer.verdict in ("resumed", "empty"), answer.reason
    assert answer.history[0].role == "system"
    return differences(as_sent_by_the_harness(reading.context()), answer.history[1:], RULES).left


@pytest.mark.parametrize("name", SHOWS)
def test_what_is_sent_on_resume(name: str, shared_data: Path) -> None:
    path = shared_data / "opencode" / f"{name}.json"
    assert compare(read(path.read_bytes()), ask("opencode", path, shared_data.parent)) == []


@pytest.mark.parametrize("title", ["Fix calculator parser", "Compaction and revert demo (fork #1)", "Prune demo"])
def test_what_is_sent_of_a_database(title: str, shared_data: Path, tmp_path: Path) -> None:
    """What we make of a database's rows, the agent takes for an export."""
    found = expanded(shared_data / "opencode" / "gen11833-opencode.db")
    assert found is not None
    documents = {json.loads(data)["info"]["title"]: data for data in map(found.document, found.members())}
    path = tmp_path / "session.json"
    path.write_bytes(documents[title])
    assert compare(read(documents[title]), ask("opencode", path, shared_data.parent)) == []


def test_what_is_sent_of_an_older_release(shared_data: Path) -> None:
    """A sub-agent's session of 1.2.15, with several calls at once."""
    path = shared_data / "opencode" / "nvim-derived-explore.1.json"
    assert compare(read(path.read_bytes()), ask("opencode", path, shared_data.parent)) == []


@pytest.mark.parametrize("name", ["nvim-derived-redo-all", "nvim-derived-planning"])
def test_what_is_sent_of_the_first_releases(name: str, shared_data: Path, tmp_path: Path) -> None:
    """Sessions of 0.14 and 0.15, with what the agent asks of an import today; nothing of it is sent."""
    raw = json.loads((shared_data / "opencode" / f"{name}.json").read_bytes())
    raw["info"] = {
        "slug": "old",
        "title": "old",
        "version": "0.15.0",
        "time": {"created": 1, "updated": 1},
        **raw["info"],
    }
    asked = "msg_none"
    for message in raw["messages"]:
        info = message["info"]
        if info["role"] == "user":
            asked = info["id"]
            info.update(agent="build", model={"providerID": "acme", "modelID": "large"})
        else:
            info.update({"parentID": asked, "agent": "build", "mode": "build"} | info)
            info.pop("system", None)
        for part in message["parts"]:
            if part["type"] == "step-finish":
                part.setdefault("reason", "stop")
    path = tmp_path / "session.json"
    path.write_text(json.dumps(raw))
    own = read((shared_data / "opencode" / f"{name}.json").read_bytes())
    assert compare(own, ask("opencode", path, shared_data.parent)) == []


@pytest.mark.parametrize("name", shapes.SHAPES)
def test_shapes_that_no_recording_has(name: str, shared_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(shapes.SHAPES[name].data())
    assert compare(read(path.read_bytes()), ask("opencode", path, shared_data.parent)) == []
