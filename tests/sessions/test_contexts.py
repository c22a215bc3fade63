"""Projection: entries never change, a version's edits decide what of them is sent."""

from hypothesis import given
from hypothesis import strategies as st

from sessions.contexts import Hide, Insert, InsertKind, Item, Replace, content_hash, project, unpaired
from sessions.entries import Kind, Part, PartKind, Role
from sessions.ranges import Ranges


def text(words: str) -> tuple[Part, ...]:
    return (Part(PartKind.TEXT, words),)


def entries(count: int) -> list[Item]:
    return [Item(f"e{n}", n, Role.USER, Kind.PROMPT, text(f"words {n}")) for n in range(count)]


def test_no_edits_send_everything() -> None:
    assert project(entries(5), []) == entries(5)


def test_hidden_entries_go_and_insertions_stand_where_they_were() -> None:
    summary = Insert(3, Role.USER, InsertKind.SUMMARY, text("so far"), stands_for=Ranges.of([(1, 4)]))
    seen = project(entries(6), [Hide(Ranges.of([(1, 4)])), summary])
    assert [item.key for item in seen] == ["e0", "i0", "e4", "e5"]
    assert seen[1].text == "so far"


def test_insertions_before_all_after_all_and_in_order_at_one_place() -> None:
    edits = [Insert(n, Role.USER, InsertKind.NOTICE, text(words)) for n, words in [(9, "last"), (-1, "a"), (-1, "b")]]
    assert [item.text for item in project(entries(2), edits)] == ["a", "b", "words 0", "words 1", "last"]


def test_a_replaced_entry_stays_in_place_with_another_body() -> None:
    seen = project(entries(3), [Replace(1, text("cut"))])
    assert [(item.text, item.masked) for item in seen] == [("words 0", False), ("cut", True), ("words 2", False)]


def test_what_arrives_later_is_simply_visible() -> None:
    edits = [Hide(Ranges.of([(0, 3)])), Insert(2, Role.USER, InsertKind.SUMMARY, text("s"))]
    assert [item.key for item in project(entries(5), edits)] == ["i0", "e3", "e4"]


@given(st.sets(st.integers(0, 20)), st.lists(st.integers(-1, 21), max_size=6))
def test_projection_keeps_order_and_loses_only_what_is_hidden(hidden: set[int], places: list[int]) -> None:
    edits = [
        Hide(Ranges.from_numbers(hidden)),
        *(Insert(at, Role.USER, InsertKind.NOTICE, text(str(at))) for at in places),
    ]
    seen = project(entries(21), edits)
    kept = [item.seq for item in seen if item.seq is not None]
    assert kept == [n for n in range(21) if n not in hidden]
    assert sorted(item.key for item in seen if item.inserted) == sorted(f"i{n}" for n in range(len(places)))
    for at, item in enumerate(seen):
        if item.inserted:
            assert item.after is not None
            assert all(before.seq is None or before.seq <= item.after for before in seen[:at])
            assert all(behind.seq is None or behind.seq > item.after for behind in seen[at:])


def test_hash_tells_contents_apart_and_nothing_else() -> None:
    assert content_hash(project(entries(3), [])) == content_hash(entries(3))
    assert content_hash(project(entries(3), [Replace(0, text("x"))])) != content_hash(entries(3))
    assert content_hash(project(entries(3), [Hide(Ranges.of([(2, 3)]))])) != content_hash(entries(3))


def test_unpaired_names_open_calls_and_orphan_results() -> None:
    def call(name: str) -> Item:
        return Item("c", 0, Role.ASSISTANT, Kind.TOOL_CALL, (Part(PartKind.TOOL_CALL, "{}", tool="t", call_id=name),))

    def result(name: str) -> Item:
        return Item("r", 0, Role.TOOL, Kind.TOOL_RESULT, (Part(PartKind.TOOL_RESULT, "out", call_id=name),))

    assert unpaired([call("a"), result("a")]) == ([], [])
    assert unpaired([result("a"), call("a")]) == (["a"], ["a"])
    assert unpaired([call("a"), result("a"), result("a")]) == ([], ["a"])
