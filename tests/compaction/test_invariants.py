"""Each check fails when what it guards is broken, and says what is wrong. The laws themselves are in `test_laws`."""

from __future__ import annotations

from dataclasses import replace

from compaction.checks import checks, failures
from compaction.plan import Budget, Snapshot, Status
from compaction.preview import preview
from compaction.strategies import by_id
from compaction.strategies.base import settled
from sessions.contexts import InsertKind, Item
from sessions.meters.tokens import count, sizes
from tests.builders import call, media, native_summary, prompt, result, say, session, think

HYBRID = by_id("hybrid")


def test_media_count_by_number_in_every_estimate() -> None:  # I11
    start = session(prompt("look"), media(3), say("seen"))
    assert start.items[1].sizes == sizes([start.items[1].parts])[0]
    assert start.items[1].sizes.utf8 == 0
    assert start.items[1].sizes.images == 3


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
