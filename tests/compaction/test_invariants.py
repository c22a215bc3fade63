"""What must hold of any history, compacted three times in a row: each law stated here anew, not taken from the code under test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.checks import checks, failures
from compaction.plan import Budget, Snapshot, Status
from compaction.preview import preview
from compaction.strategies import by_id
from compaction.strategies.base import settled
from compaction.summary.template import TITLES
from sessions.contexts import Insert, InsertKind, Item, content_hash, project, unpaired
from sessions.entries import Kind, PartKind, Role
from sessions.meters.tokens import count, sizes
from tests.builders import (
    Draft,
    call,
    context,
    items,
    media,
    native_summary,
    prompt,
    raw_call,
    result,
    say,
    session,
    snapshot,
    think,
)

HYBRID = by_id("hybrid")

WORDS = st.sampled_from(
    [
        "fix parse_ledger in src/import/csv.rs",
        "never rename WriterQueue",
        "because the buffer overflows, I decided to use ChunkCursor",
        "不要改动数据库结构 import_ledger",
        "error: cannot borrow `buf`",
        "see https://example.org/docs and #42",
        "next I will run the tests",
        "## 7. Pending Tasks",
        "```",
        "",
    ]
)
TEXTS = st.builds(
    lambda words, times: "\n".join(words * times), st.lists(WORDS, min_size=1, max_size=3), st.integers(1, 12)
)
SPOKEN = TEXTS.map(lambda text: text or "go on")
TOOLS = st.sampled_from(
    ["Read", "Bash", "Edit", "Write", "Grep", "TodoWrite", "Task", "Skill", "AskUserQuestion", "shell", "mcp__x__y"]
)


@st.composite
def calls(draw: st.DrawFn) -> list[Draft]:
    """The calls of one answer and their results, the last of which may never have come."""
    number = draw(st.integers(0, 3))
    made: list[Draft] = []
    for _ in range(number):
        tool = draw(TOOLS)
        text = draw(TEXTS)
        args: dict[str, Any] = {
            "file_path": "/home/ada/app/a.py",
            "command": text,
            "content": text,
            "old_string": "a",
            "new_string": text,
        }
        made.append(draw(st.sampled_from([call(tool, **args), raw_call(tool, text)])))
    answered = number if draw(st.integers(0, 5)) else max(0, number - 1)
    for _ in range(answered):
        made.append(result(draw(TEXTS), error=draw(st.booleans()), images=draw(st.integers(0, 1))))
    return made


@st.composite
def turns(draw: st.DrawFn) -> list[Draft]:
    out = [prompt(draw(SPOKEN))]
    if draw(st.integers(0, 4)) == 0:
        out.append(
            draw(
                st.sampled_from(
                    [media(), context("<system-reminder>x</system-reminder>"), context("# CLAUDE.md: never push")]
                )
            )
        )
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            out.append(think(draw(TEXTS), signed=draw(st.booleans())))
        if draw(st.booleans()):
            out.append(say(draw(SPOKEN)))
        out += draw(calls())
    return out


HISTORIES = st.lists(turns(), min_size=1, max_size=7).map(lambda many: [draft for one in many for draft in one])
PARAMS = st.fixed_dictionaries(
    {
        "protect": st.sampled_from([None, 0, 100, 400]),
        "free": st.sampled_from([None, 0, 60]),
        "keep": st.sampled_from([None, 0, 150, 600]),
        "aim": st.sampled_from([None, 0, 300, 900]),
        "anchor": st.sampled_from([True, True, False]),
        "summary": st.sampled_from([None, 250, 600]),
        "files": st.sampled_from([0, 2, 5]),
    }
)


def grown(start: Snapshot, edits: Any, more: list[Draft], pins: frozenset[int]) -> Snapshot:
    done = {call_id for item in start.log() for call_id in item.results}
    waiting = [call_id for item in start.log() for call_id in item.calls if call_id not in done]
    late = [result("interrupted", of=call_id, error=True) for call_id in waiting] if more and len(more) % 2 else []
    return snapshot(items([*late, *more], start.log()), edits, pins=pins)


def laws(before: Snapshot, after: list[Item], tokens_after: int, pins: frozenset[int]) -> None:
    held = {item.seq: item for item in after if item.seq is not None}
    # I1, I2: pairs stay pairs.
    assert set(unpaired(after)[0]) <= set(unpaired(before.items)[0])
    assert set(unpaired(after)[1]) <= set(unpaired(before.items)[1])
    # I3: answers with signed reasoning are there whole and unchanged, or gone.
    for step in {item.step for item in before.items if item.signed}:
        answer = [item for item in before.items if item.step == step and item.role is Role.ASSISTANT]
        there = [held[item.seq] for item in answer if item.seq in held]
        assert not there or [item.parts for item in there] == [item.parts for item in answer]
    # I4: nothing empty; a user speaks first where one did before.
    assert all(item.parts for item in after)
    speakers = [item.role for item in after if item.role not in (Role.SYSTEM, Role.DEVELOPER)]
    assert speakers[0] is Role.USER
    # I5: the newest message.
    newest = max((item.seq for item in before.items if item.kind is Kind.PROMPT and item.seq is not None), default=None)
    if newest is not None:
        assert held[newest].parts == next(item.parts for item in before.items if item.seq == newest)
    # I6: smaller.
    assert tokens_after < before.total
    # I7: pins and protected results.
    for item in before.items:
        if item.seq in pins:
            assert held[item.seq].parts == item.parts
    protected = {
        part.call_id
        for item in before.items
        for part in item.parts
        if part.kind is PartKind.TOOL_CALL and part.tool in ("TodoWrite", "Task", "Skill", "AskUserQuestion")
    }
    for item in after:
        if item.masked and item.seq is not None:
            assert not protected & set(item.results)
    # Standing instructions are never folded.
    assert all(
        item.seq in held
        for item in before.items
        if item.kind is Kind.CONTEXT and "CLAUDE.md" in item.text and _newest(item, before)
    )


def _newest(item: Item, before: Snapshot) -> bool:
    return item.seq == max(
        other.seq or 0 for other in before.items if other.kind is Kind.CONTEXT and other.text == item.text
    )


@settings(max_examples=60, deadline=None)
@given(
    HISTORIES, st.lists(st.tuples(HISTORIES, PARAMS, st.sets(st.integers(0, 30), max_size=3)), min_size=3, max_size=3)
)
def test_any_history_three_times(
    first: list[Draft], rounds: list[tuple[list[Draft], dict[str, Any], set[int]]]
) -> None:
    budget = Budget("o200k", count)
    start = session(*first)
    landed = 0
    for more, params, pins in rounds:
        values = settled(HYBRID.params, params)
        wanted = frozenset(pin for pin in pins if pin <= start.last_seq)
        start = replace(start, pinned=frozenset())
        before = content_hash(project(start.log(), start.edits))
        made = preview(HYBRID, start, budget, values, pins=wanted)
        # I10: the same again.
        again = preview(HYBRID, start, budget, values, pins=wanted)
        assert again.digest == made.digest
        assert again.status is made.status
        assert made.status is not Status.FAILED_INVARIANT, made.reason
        # Preview writes nothing: the context it was made on is as it was (I9: and so undo leads back to it).
        assert content_hash(project(start.log(), start.edits)) == before
        edits = start.edits
        if made.lands:
            landed += 1
            laws(start, list(made.items), made.tokens_after, wanted)
            assert content_hash(project(start.log(), made.edits)) == content_hash(made.items)
            assert made.tokens_after == snapshot(start.log(), made.edits).total
            summaries = [edit for edit in made.edits if isinstance(edit, Insert) and edit.kind is InsertKind.SUMMARY]
            if params["anchor"]:
                assert len(summaries) <= 1
            for edit in summaries:
                assert all(title in edit.text for title in TITLES)
            # I8: nothing more to do until something new comes.
            then = snapshot(start.log(), made.edits, pins=wanted)
            repeated = preview(HYBRID, then, budget, values, pins=wanted)
            assert repeated.status in (Status.NOOP_BELOW_THRESHOLD, Status.NOOP_NOTHING_TO_DO), (
                f"{params} {made.status} {made.plan.facts} then {repeated.status} {repeated.plan.facts}"
            )
            edits = made.edits
        start = grown(start, edits, more, frozenset())


def test_media_count_by_number_in_every_estimate() -> None:  # I11
    start = session(prompt("look"), media(3), say("seen"))
    assert start.items[1].sizes == sizes([start.items[1].parts])[0]
    assert start.items[1].sizes.utf8 == 0
    assert start.items[1].sizes.images == 3


# ── each check fails when what it guards is broken ─────────────────────────────────────────────────────────────────────────────


def story() -> Snapshot:
    return session(
        prompt("first"),
        think("signed thoughts"),
        call("Bash", "c1", command="ls"),
        result("a.py", "c1"),
        call("TodoWrite", "c2", todos=[]),
        result("todos", "c2"),
        say("done"),
        prompt("second"),
        say("end"),
        pins=[6],
    )


def broken(after: list[Item], before: Snapshot | None = None, *, tokens: int = 1) -> set[str]:
    start = before or story()
    found = checks(start.items, after, tokens_before=start.total, tokens_after=tokens, pinned=start.pinned)
    return {check.id for check in failures(found)}


def changed(item: Item, text: str = "x") -> Item:
    return replace(item, parts=tuple(replace(part, text=text) for part in item.parts), masked=True)


def test_an_untouched_context_that_shrank_breaks_nothing() -> None:
    assert broken(list(story().items)) == set()


def test_every_check_can_fail() -> None:
    whole = list(story().items)

    def without(*gone: int) -> list[Item]:
        return [item for n, item in enumerate(whole) if n not in gone]

    put = replace(whole[0], key="i0", seq=None, kind=InsertKind.FILE, parts=(replace(whole[0].parts[0], text="file"),))
    assert broken(without(3)) == {"pairing"}
    assert broken(without(1, 2)) == {"pairing"}
    assert broken([*whole[:3], put, *whole[3:]]) == {"pairing"}
    assert broken(without(1)) == {"reasoning"}
    assert broken([*whole[:1], changed(whole[1]), *whole[2:]]) == {"reasoning"}
    assert broken(without(0)) == {"opening"}
    assert broken([*whole[:8], replace(whole[8], parts=())]) == {"opening"}
    assert broken(without(7)) == {"newest"}
    assert broken([*whole[:7], changed(whole[7]), whole[8]]) == {"newest"}
    assert broken(without(6)) == {"pins"}
    assert broken([*whole[:6], changed(whole[6]), *whole[7:]]) == {"pins"}
    assert broken([*whole[:5], changed(whole[5]), *whole[6:]]) == {"protected"}
    assert broken([replace(put, kind=InsertKind.SUMMARY), *whole]) == {"summary"}
    assert broken(whole, tokens=story().total) == {"smaller"}


def test_a_check_says_what_is_wrong() -> None:
    start = story()
    after = [item for n, item in enumerate(start.items) if n != 3]
    found = failures(checks(start.items, after, tokens_before=2, tokens_after=2, pinned=start.pinned))
    assert [(check.label, check.detail, check.status) for check in found] == [
        ("every call has its one result", "call c1 has no result any more", Status.FAILED_INVARIANT),
        ("smaller than before", "2 tokens after, 2 before", Status.FAILED_INFLATED),
    ]


def test_what_was_broken_before_is_not_our_doing() -> None:
    start = session(call("Bash", "open", command="sleep"), say("x"), prompt("y"))
    assert broken(list(start.items), start) == set()


def test_a_native_summary_is_a_candidate_like_any() -> None:
    start = session(
        native_summary("We use parse_ledger."),
        *(d for n in range(6) for d in (prompt(f"task {n} " * 60), say("ok " * 60))),
    )
    made = preview(HYBRID, start, Budget("o200k", count), settled(HYBRID.params, {"keep": 200, "aim": 300}))
    assert made.lands
    assert made.summary is not None
    assert "We use parse_ledger. (earlier)" in made.summary.text
