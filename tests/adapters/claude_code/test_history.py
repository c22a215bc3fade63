"""What the agent made of its own history, and what it would send next. The expectations were observed on the agent itself."""

import pytest

from sessions.adapters.claude_code.edits import CLEARED
from sessions.contexts import Hide, Insert, Replace, project
from sessions.entries import PartKind
from tests.adapters.claude_code.build import Transcript, call, seen, text, uid

SUMMARY = "This session is being continued from a previous conversation that ran out of context. what was done"


def talk(turns: int = 3, **fields) -> Transcript:
    """Prompts P0, P1… with answers A0, A1…; their records are r1, r2…"""
    t = Transcript(**fields)
    for n in range(turns):
        t.prompt(f"P{n}")
        t.answer(text(f"A{n}"))
    return t


def kinds(t: Transcript) -> list[tuple[str, int]]:
    return [(version.kind, version.at_seq) for version in t.read().versions]


def then(t: Transcript, number: int) -> list[str]:
    """What the model saw at the version's own place."""
    reading = t.read()
    version = reading.versions[number]
    return [part.text for item in project(reading.items(version.at_seq), version.edits) for part in item.parts]


def test_a_straight_session_makes_no_version():
    t = talk()
    assert kinds(t) == []
    assert seen(t.read()) == ["P0", "A0", "P1", "A1", "P2", "A2"]


def test_a_compaction_hides_all_before_it_and_says_what_the_record_says():
    t = talk()
    t.compaction(postTokens=700)
    t.prompt("after")
    reading = t.read()
    (version,) = reading.versions
    assert (version.kind, version.at_seq, version.label) == ("compaction", 7, "Compacted (auto, 5,000 tokens before)")
    assert version.facts == {"trigger": "auto", "preTokens": 5000, "postTokens": 700, "summary_seq": 7}
    assert [e.ranges.spans for e in version.edits if isinstance(e, Hide)] == [((0, 6),)]
    assert seen(reading) == [SUMMARY, "after"]
    assert then(t, 0) == [SUMMARY]


def test_a_boundary_whose_summary_never_came_hides_nothing():
    t = talk(2)
    t.add("system", parent=None, subtype="compact_boundary", content="Conversation compacted", compactMetadata={})
    assert kinds(t) == []
    assert seen(t.read()) == ["P0", "A0", "P1", "A1"]


def test_a_boundary_works_without_the_summarys_flag():
    t = talk(2)
    t.add("system", parent=None, subtype="compact_boundary", content="Conversation compacted", compactMetadata={})
    t.prompt("a summary in other words")
    assert kinds(t) == [("compaction", 5)]
    assert seen(t.read()) == ["a summary in other words"]


def test_an_older_file_has_the_summary_as_its_only_mark():
    t = talk(2)
    t.prompt(SUMMARY, parent=None)
    t.answer(text("ok"))
    assert kinds(t) == [("compaction", 4)]
    assert seen(t.read()) == [SUMMARY, "ok"]


def test_a_parented_summary_cuts_nothing():
    t = talk(1)
    t.prompt(SUMMARY, isCompactSummary=True)
    assert seen(t.read()) == ["P0", "A0", SUMMARY]


def kept(t: Transcript, names: list[str], anchor: int) -> dict:
    """`anchor`: 1 the boundary that comes next, 2 its summary."""
    ids = [uid(name) for name in names]
    return {"preservedMessages": {"anchorUuid": uid(f"r{t.count + anchor}"), "uuids": ids, "allUuids": ids}}


def test_preserved_messages_follow_the_summary_although_they_stand_before_it():
    t = talk()
    t.compaction(**kept(t, ["r5", "r6"], 2))
    assert seen(t.read()) == [SUMMARY, "P2", "A2"]
    t.prompt("after")
    reading = t.read()
    assert seen(reading) == [SUMMARY, "P2", "A2", "after"]
    (insert,) = (e for e in reading.versions[-1].edits if isinstance(e, Insert))
    assert (insert.kind, insert.after, insert.stands_for.spans) == ("summary", -1, ((0, 4),))
    assert reading.versions[-1].facts["preserved"] == 2


def test_an_older_boundary_names_a_segment():
    t = talk()
    segment = {"headUuid": uid("r4"), "anchorUuid": uid("r8"), "tailUuid": uid("r6")}
    t.compaction(preservedSegment=segment)
    t.prompt("after")
    assert seen(t.read()) == [SUMMARY, "A1", "P2", "A2", "after"]


def test_summarised_from_here_the_kept_ones_come_first():
    t = talk()
    t.compaction(**kept(t, ["r1", "r2"], 1))
    t.prompt("after")
    assert seen(t.read()) == ["P0", "A0", SUMMARY, "after"]


def test_one_id_that_cannot_be_found_loses_all_that_was_kept():
    t = talk()
    t.compaction(**kept(t, ["r5", "nowhere"], 2))
    t.prompt("after")
    assert seen(t.read()) == [SUMMARY, "after"]
    assert t.read().versions[-1].facts["preserved_lost"] is True


def test_what_a_kept_answer_had_beside_it_is_not_kept_with_it():
    t = talk(1)
    t.prompt("do")
    t.answer(text("w"), call("Bash", "toolu_1", command="ls"))
    t.result("toolu_1", "out")
    t.answer(text("done"))
    t.compaction(**kept(t, ["r4", "r7"], 2))
    t.prompt("after")
    assert seen(t.read()) == [SUMMARY, "w", "done", "after"]


def test_where_records_were_kept_a_way_back_to_the_others_leads_to_the_last_kept_one():
    t = talk()
    t.compaction(**kept(t, ["r5", "r6"], 2))
    t.prompt("after")
    t.prompt("back", parent=uid("r2"))
    assert seen(t.read()) == [SUMMARY, "P2", "A2", "back"]


def test_a_second_compaction_may_keep_what_the_first_one_kept():
    t = talk()
    t.compaction(**kept(t, ["r5", "r6"], 2))
    t.prompt("after")
    t.answer(text("A3"))
    t.compaction("two", **kept(t, ["r6", "r9", "r10"], 2))
    t.prompt("more")
    assert seen(t.read())[1:] == ["A2", "after", "A3", "more"]
    assert [v.kind for v in t.read().versions] == ["compaction", "compaction"]


def test_a_rewind_hides_the_branch_it_left_and_says_where_it_went_back_to():
    t = talk()
    t.prompt("other way", parent=uid("r2"))
    t.answer(text("B"))
    assert kinds(t) == [("rewind", 6)]
    assert t.read().versions[0].facts == {"to": 1}
    assert seen(t.read()) == ["P0", "A0", "other way", "B"]


def test_a_rewind_to_before_a_compaction_undoes_it():
    t = talk()
    t.compaction()
    t.prompt("after")
    t.prompt("back", parent=uid("r2"))
    assert [v.kind for v in t.read().versions] == ["compaction", "rewind"]
    assert seen(t.read()) == ["P0", "A0", "back"]


def test_going_back_to_an_abandoned_branch_brings_it_back():
    t = talk()
    t.prompt("other way", parent=uid("r2"))
    t.prompt("after all", parent=uid("r6"))
    assert [v.kind for v in t.read().versions] == ["rewind", "rewind"]
    assert seen(t.read()) == ["P0", "A0", "P1", "A1", "P2", "A2", "after all"]


def test_parallel_calls_are_no_rewind_in_any_order_of_their_results():
    t = talk(1)
    t.prompt("do")
    calls = t.answer(*(call("Bash", f"toolu_{n}", command="x") for n in range(3)))
    for n in (1, 0, 2):
        t.result(f"toolu_{n}", f"out{n}", parent=calls[n])
    t.answer(text("done"))
    assert kinds(t) == []
    assert [item.results for item in t.read().context() if item.results] == [("toolu_1",), ("toolu_0",), ("toolu_2",)]


def test_a_call_that_streams_on_while_results_come_in_keeps_its_records_together():
    t = talk(1)
    t.prompt("do")
    first = t.answer(
        text("w"), call("Bash", "toolu_1", command="x"), call("Bash", "toolu_2", command="y"), response="R"
    )
    one = t.result("toolu_1", "out1", parent=first[1])
    (third,) = t.answer(call("Bash", "toolu_3", command="z"), response="R")
    t.result("toolu_2", "out2", parent=first[2])
    t.result("toolu_3", "out3", parent=third)
    t.answer(text("done"))
    assert one
    assert kinds(t) == []
    assert seen(t.read())[3:] == [
        "w",
        '{"command":"x"}',
        '{"command":"y"}',
        '{"command":"z"}',
        "out1",
        "out2",
        "out3",
        "done",
    ]


@pytest.mark.parametrize("kind", ["progress", "attachment", "system"])
def test_what_hangs_between_is_bridged(kind):
    fields = {
        "progress": {"data": {"type": "hook_progress"}},
        "attachment": {"attachment": {"type": "prompt_snapshot"}},
        "system": {"subtype": "turn_duration"},
    }[kind]
    t = talk(1)
    for _ in range(3):
        t.add(kind, **fields)
    t.prompt("P1")
    assert kinds(t) == []
    assert seen(t.read()) == ["P0", "A0", "P1"]


def test_an_attachment_beside_the_way_is_left_behind():
    t = talk(1)
    answered = t.last
    t.add("attachment", attachment={"type": "date", "date": "2026-03-01"})
    t.prompt("P1", parent=answered)
    assert seen(t.read()) == ["P0", "A0", "P1"]


def test_a_missing_parent_is_mended_by_what_came_within_five_seconds():
    for seconds, expected in ((4.9, ["P0", "A0", "near"]), (5.1, ["near"])):
        t = talk(1)
        t.seconds = seconds
        t.prompt("near", parent=uid("nowhere"))
        assert seen(t.read()) == expected
    assert kinds(t) == [("cut", 2)]
    assert "not in the file" in t.read().versions[0].label


def test_progress_does_not_stand_in_for_a_missing_parent():
    t = talk(1)
    t.seconds = 3
    t.add("progress", parent=uid("nowhere"), data={"type": "hook_progress"})
    t.prompt("late")
    assert seen(t.read()) == ["late"]


def test_a_record_without_parent_begins_anew():
    t = talk(2)
    t.prompt("fresh", parent=None)
    assert kinds(t) == [("cut", 4)]
    assert seen(t.read()) == ["fresh"]


def test_a_child_before_its_parent_finds_it():
    t = talk(2)
    t.lines[2], t.lines[3] = t.lines[3], t.lines[2]
    t.prompt("P2")
    assert seen(t.read()) == ["P0", "A0", "P1", "A1", "P2"]


def test_of_a_repeated_id_the_last_record_counts():
    t = talk(2)
    t.prompt("P1 again", name="r3", parent=uid("r2"))
    t.prompt("P2", parent=uid("r4"))
    assert seen(t.read()) == ["P0", "A0", "P1 again", "A1", "P2"]


def test_a_cycle_ends():
    t = talk(1)
    t.prompt("one", name="one", parent=uid("two"))
    t.prompt("two", name="two", parent=uid("one"))
    assert seen(t.read()) == ["one", "two"]


OTHER = ["P0", "A0", "other way", "B"]
ALL = ["P0", "A0", "P1", "A1", "P2", "A2"]
ZERO = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize(
    ("bookmark", "more", "expected"),
    [
        ({"leafUuid": uid("r6")}, False, ALL),  # on another branch than the tail: it wins
        ({"leafUuid": uid("r6")}, True, ALL),  # even when the tail's branch went on
        ({"leafUuid": uid("r2")}, False, OTHER),  # above the tail
        ({"leafUuid": uid("r2"), "explicit": True}, False, ["P0", "A0"]),
        ({"leafUuid": uid("r2"), "explicit": True}, True, [*OTHER, "more"]),
        ({"leafUuid": ZERO, "explicit": True}, False, OTHER),
        ({"leafUuid": uid("nowhere"), "explicit": True}, False, OTHER),
        ({"leafUuid": None, "explicit": True}, False, []),  # wound back to the start
        ({"leafUuid": None, "explicit": True}, True, [*OTHER, "more"]),
        ({"leafUuid": "", "explicit": True}, False, OTHER),
        ({"explicit": True}, False, OTHER),
        ({"leafUuid": None}, False, OTHER),
    ],
)
def test_the_bookmark_chooses_the_leaf(bookmark, more, expected):
    t = talk()
    t.prompt("other way", parent=uid("r2"))
    t.answer(text("B"))
    t.loose("last-prompt", lastPrompt="x", **bookmark)
    if more:
        t.prompt("more")
    assert seen(t.read()) == expected


def test_a_bookmark_before_a_boundary_is_forgotten_and_one_after_it_counts():
    t = talk()
    t.loose("last-prompt", leafUuid=uid("r2"), explicit=True)
    t.compaction()
    t.prompt("after")
    assert seen(t.read()) == [SUMMARY, "after"]
    t.loose("last-prompt", leafUuid=uid("r6"))
    assert seen(t.read()) == ALL


def test_a_large_file_is_read_from_its_last_boundary_on():
    def large(words: int) -> Transcript:
        t = talk()
        t.prompt("x" * words)
        t.compaction()
        t.prompt("after")
        t.prompt("back", parent=uid("r2"))
        return t

    assert seen(large(1_000).read()) == ["P0", "A0", "back"]
    reading = large(5_400_000).read()
    assert seen(reading) == ["back"]
    assert reading.versions[-1].kind == "cut"
    assert "5 MiB" in reading.versions[-1].label


def test_a_large_file_whose_boundary_keeps_records_is_read_whole():
    t = talk()
    t.prompt("x" * 5_400_000)
    t.compaction(**kept(t, ["r5", "r6"], 2))
    t.prompt("after")
    assert seen(t.read()) == [SUMMARY, "P2", "A2", "after"]


def test_cleared_results_are_blank_until_the_agent_resumes():
    t = talk(1)
    t.prompt("do")
    t.answer(call("Bash", "toolu_1", command="ls"))
    t.result("toolu_1", "long output")
    metadata = {"trigger": "auto", "preTokens": 100, "tokensSaved": 50, "compactedToolIds": ["toolu_1", "toolu_other"]}
    t.add("system", subtype="microcompact_boundary", content="Context microcompacted", microcompactMetadata=metadata)
    t.prompt("P1")
    reading = t.read()
    assert [v.kind for v in reading.versions] == ["microcompaction", "replacement"]
    (replaced,) = (e for e in reading.versions[0].edits if isinstance(e, Replace))
    assert (replaced.seq, [p.text for p in replaced.parts]) == (4, [CLEARED])
    assert replaced.parts[0].call_id == "toolu_1"
    assert reading.versions[0].facts["tokensSaved"] == 50
    assert "long output" in seen(reading)


def test_a_replacement_record_shortens_a_result():
    t = talk(1)
    t.prompt("do")
    t.answer(call("Bash", "toolu_1", command="ls"))
    t.result("toolu_1", "long output")
    t.loose(
        "content-replacement", replacements=[{"kind": "tool-result", "toolUseId": "toolu_1", "replacement": "short"}]
    )
    t.prompt("P1")
    reading = t.read()
    assert seen(reading)[-2:] == ["short", "P1"]
    assert all(item.kind != PartKind.TOOL_RESULT or item.masked for item in reading.context())


def test_a_collapsed_stretch_is_sent_as_its_summary():
    t = talk()
    t.loose(
        "marble-origami-commit",
        collapseId="1",
        summary="in short",
        firstArchivedUuid=uid("r1"),
        lastArchivedUuid=uid("r4"),
    )
    t.prompt("P3")
    reading = t.read()
    assert seen(reading) == ["in short", "P2", "A2", "P3"]
    (insert,) = (e for e in reading.versions[-1].edits if isinstance(e, Insert))
    assert insert.stands_for.spans == ((0, 4),)


def test_what_the_provider_made_the_agent_take_back_is_not_sent():
    t = talk(1)
    asked = t.prompt("do")
    refused = t.answer(text("refused"))
    t.add("system", subtype="model_refusal_fallback", content="fell back", retractedMessageUuids=refused)
    t.answer(text("instead"), parent=asked)
    assert seen(t.read()) == ["P0", "A0", "do", "instead"]
    kept_words = talk(1)
    words = kept_words.answer(text("stays"))
    kept_words.add("system", subtype="api_refusal", retractedMessageUuids=words)
    assert seen(kept_words.read()) == ["P0", "A0", "stays"]


def test_inline_sub_agents_are_never_in_view_and_never_the_leaf():
    t = talk(1)
    t.add("user", parent=None, isSidechain=True, message={"role": "user", "content": "child"})
    assert seen(t.read()) == ["P0", "A0"]
    assert kinds(t) == []
