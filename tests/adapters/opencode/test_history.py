"""What history comes to: which messages are read back, in which order, and what was made of them. The slow tests ask the agent the same."""

from __future__ import annotations

import pytest

from sessions.assembly import Reading
from sessions.contexts import Hide, Insert, InsertKind, Replace
from sessions.entries import Role
from tests.adapters.opencode import shapes
from tests.adapters.opencode.build import START, Session, finish, read, start, text, tool

ASKED = "What did we do so far?"
SENT = {
    "two_compactions": [
        ASKED, "summary two", "third", "three", '{"command":"ls"}', "done", "Continue if you have next steps", "four",
    ],
    "failed_compaction": ["first", "one", ASKED, "second", "two"],
    "failed_compaction_with_a_tail": [ASKED, "second", "two", "third", "three"],
    "lost_tail": ["first", "one", ASKED, "summary", "second", "two"],
    "parallel_calls": [
        "look", "two at once", '{"command":"ls"}', "and", '{"command":"ls"}', "one", "two", "then", '{"command":"ls"}', "three", "done",
    ],
    "odd_results": [
        "try", *['{"command":"ls"}'] * 6, "no such file", "half", "Tool execution aborted", "[Tool execution was interrupted]",
        "[Tool execution was interrupted]", "[Old tool result content cleared]", "and now?", "fine",
    ],
    "stopped_answers": ["first", "hm", "half an ans", "second", "third", "fourth", "at last"],
    "files": ["see this", "what the mention stands for", "dot.png", '{"command":"ls"}', "an image\nshot.png", "I see"],
    "reverted_past_a_compaction": ["first", "one"],
    "out_of_order": [
        ASKED, "summary two", "third", "three", '{"command":"ls"}', "done", "Continue if you have next steps", "four",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", shapes.SHAPES)
def test_what_is_sent(name: str) -> None:
    assert [item.text for item in read(shapes.SHAPES[name].data()).context()] == SENT[name]


def kinds(reading: Reading) -> list[str]:
    return [version.kind for version in reading.versions]


def turns(count: int) -> Session:
    out = Session()
    for n in range(count):
        out.user(text(f"question {n}"))
        out.assistant(start(), text(f"answer {n}"), tool(f"call_{n}", f"result {n}"), finish())
    return out


def test_a_compaction_without_a_tail_hides_what_was_before_it() -> None:
    out = turns(2)
    out.compacted("so far")
    reading = read(out.data())
    (version,) = reading.versions
    assert (version.kind, version.facts) == ("compaction", {"trigger": "manual"})
    (hide,) = version.edits
    assert isinstance(hide, Hide)
    assert [item.text for item in reading.context()] == [ASKED, "so far"]
    assert all(
        one.entry.kind == "compaction" or one.seq in hide.ranges for one in reading.placed[:-1] if one.entry.sent
    )


def test_a_tail_stands_behind_the_summary_that_stands_for_what_went() -> None:
    out = turns(3)
    tail = out.messages[4]["info"]["id"]
    out.compacted("so far", tail=tail, auto=True)
    out.user(text("go on"))
    reading = read(out.data())
    (version,) = reading.versions
    assert version.facts == {"trigger": "auto", "tail_start_id": tail}
    hide, asked, summary = version.edits
    assert isinstance(hide, Hide)
    assert isinstance(asked, Insert)
    assert isinstance(summary, Insert)
    assert (asked.role, summary.role, summary.kind) == (Role.USER, Role.ASSISTANT, InsertKind.SUMMARY)
    folded = {one.entry.text for one in reading.placed if one.seq in summary.stands_for and one.entry.sent}
    assert folded == {"question 0", "answer 0", "result 0", "question 1", "answer 1", "result 1", '{"command":"ls"}'}
    assert [item.text for item in reading.context()][:3] == [ASKED, "so far", "question 2"]
    assert [item.text for item in reading.context()][-1] == "go on"


def test_each_compaction_is_a_version_and_the_last_is_in_force() -> None:
    reading = read(shapes.two_compactions().data())
    assert kinds(reading) == ["compaction", "compaction"]
    first, second = reading.versions
    assert first.at_seq < second.at_seq


def test_pruned_results_are_one_version_for_each_time() -> None:
    out = turns(5)
    for n, when in ((0, 4500), (1, 4501), (2, 8500)):
        out.messages[2 * n + 1]["parts"][2]["state"]["time"]["compacted"] = START + when
    reading = read(out.data())
    assert kinds(reading) == ["microcompaction", "microcompaction"]
    first, second = reading.versions
    assert (first.facts, second.facts) == ({"cleared": 2}, {"cleared": 1})
    assert [edit.seq for edit in first.edits if isinstance(edit, Replace)] == [7, 15]
    assert [edit.seq for edit in second.edits if isinstance(edit, Replace)] == [7, 15, 23]
    assert first.at_seq == max(one.seq for one in reading.placed if one.entry.text == "question 2")
    said = [item.text for item in reading.context() if item.results]
    assert said == ["[Old tool result content cleared]"] * 3 + ["result 3", "result 4"]
    assert reading.placed[7].entry.text == "result 0", "the entry keeps what it was"


def test_a_pruned_result_has_no_files_any_more() -> None:
    out = Session()
    out.user(text("look"))
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
    out.assistant(start(), tool("call_1", "see", attachments=[picture], time={"compacted": START + 9000}), finish())
    (result,) = [item for item in read(out.data()).context() if item.results]
    assert [(part.kind, part.text) for part in result.parts] == [("tool_result", "[Old tool result content cleared]")]


def test_a_revert_hides_its_message_and_all_after_it() -> None:
    out = turns(3)
    out.info["revert"] = {"messageID": out.messages[2]["info"]["id"]}
    reading = read(out.data())
    assert kinds(reading) == ["revert"]
    assert [item.text for item in reading.context()] == ["question 0", "answer 0", '{"command":"ls"}', "result 0"]


def test_a_revert_of_a_part_hides_the_rest_of_its_message() -> None:
    out = turns(3)
    out.info["revert"] = {"messageID": out.messages[3]["info"]["id"], "partID": out.part_id(3, 2)}
    context = read(out.data()).context()
    assert [item.text for item in context][-2:] == ["question 1", "answer 1"]


@pytest.mark.parametrize("revert", [{"messageID": "msg_gone"}, {}, None, "x", {"messageID": 7}])
def test_a_revert_to_nowhere_hides_nothing(revert: object) -> None:
    out = turns(1)
    out.info["revert"] = revert
    reading = read(out.data())
    assert reading.versions == []
    assert len(reading.context()) == 4


def test_an_undone_revert_leaves_the_versions_before_it() -> None:
    out = turns(2)
    out.compacted("so far")
    out.user(text("go on"))
    plain = read(out.data()).versions
    out.info["revert"] = {"messageID": out.messages[0]["info"]["id"]}
    reverted = read(out.data()).versions
    assert [version.kind for version in reverted] == ["compaction", "revert"]
    assert reverted[:1] == plain


def test_a_version_says_what_held_when_it_was_made() -> None:
    """The first of two compactions, as it was before the second, with results cleared only later still whole."""
    out = turns(2)
    out.compacted("so far", tail=out.messages[2]["info"]["id"])
    out.user(text("go on"))
    out.messages[3]["parts"][2]["state"]["time"]["compacted"] = START + 60_000
    reading = read(out.data())
    assert kinds(reading) == ["compaction", "microcompaction"]
    assert not any(isinstance(edit, Replace) for edit in reading.versions[0].edits)
    assert any(isinstance(edit, Replace) for edit in reading.versions[1].edits)
