"""Laws of the goal tree: one state for every item, one goal or none for every entry, in linear time, the same in pieces as at once."""

import gc
import json
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions.adapters.base import Line
from sessions.assembly import Assembly
from sessions.entries import Entry, GoalChange, GoalItem, GoalStatus, Kind, Role
from sessions.goals import Goal, GoalTracker
from sessions.matching import likeness

PENDING, DOING, DONE, GONE = GoalStatus.PENDING, GoalStatus.IN_PROGRESS, GoalStatus.COMPLETED, GoalStatus.DROPPED
OPEN = (PENDING, DOING)
LINE = Line(0, b"")
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a machine with much else to do

texts = st.one_of(
    st.sampled_from(
        [
            "write tests",
            "write the tests",
            "Write tests for 解析器",
            "修复 登录 错误",
            "部署 🚀",
            "🎯",
            "phase 1",
            "phase 2",
            "a",
        ]
    ),
    st.text(min_size=1, max_size=12),
)
items = st.builds(
    GoalItem,
    text=texts,
    status=st.sampled_from([PENDING, DOING, DONE, GoalStatus.ABANDONED]),
    key=st.one_of(st.none(), st.sampled_from(["1", "2", "3"])),
    parent_key=st.one_of(st.none(), st.sampled_from(["1", "2", "3", "nobody"])),
    path=st.one_of(st.none(), st.none(), st.sampled_from(["1", "1.1", "2'", "7"])),
)
changes = st.builds(
    GoalChange,
    items=st.lists(items, max_size=7).map(tuple),
    whole=st.booleans(),
    focus=st.one_of(st.none(), st.sampled_from(["", "1", "2", "nobody"])),
    plan=st.one_of(st.none(), st.none(), st.none(), st.sampled_from(["# Stream it", "Plan: write tests"])),
)
records = st.lists(
    st.builds(
        Entry,
        kind=st.sampled_from([Kind.MESSAGE, Kind.TOOL_RESULT]),
        role=st.just(Role.ASSISTANT),
        opens_turn=st.booleans(),
        lane=st.sampled_from(["", "", "", "sub"]),
        goals=st.one_of(st.none(), changes),
        step_key=st.one_of(st.none(), st.sampled_from(["a", "b"])),
    ),
    max_size=14,
)


def follow(entries: list[Entry], stop_at: int | None = None) -> tuple[Assembly, list[str | None]]:
    """Place the entries; at `stop_at` everything that is known goes into JSON and back, as between two appends."""
    assembly = Assembly()
    placed = []
    for n, entry in enumerate(entries):
        if n == stop_at:
            assembly = Assembly.from_state(json.loads(json.dumps(assembly.state())))
        placed.append(assembly.place(entry, LINE).goal)
    return assembly, placed


@unhurried
@given(records)
def test_every_item_is_in_one_state_and_every_entry_in_one_goal_or_none(entries: list[Entry]) -> None:
    assembly, placed = follow(entries)
    tree = assembly.goals.tree()
    assert len({goal.path for goal in tree}) == len(tree)
    paths = {goal.path for goal in tree}
    assert all(goal.parent is None or goal.parent in paths for goal in tree)
    assert all(isinstance(goal.status, GoalStatus) for goal in tree)
    assert all((goal.closed_seq is None) == (goal.status in OPEN) for goal in tree)
    belongs: dict[int, str] = {}
    for goal in tree:
        for first, last in goal.tally.spans:
            for seq in range(first, last + 1):
                assert seq not in belongs, "an entry of two goals"
                belongs[seq] = goal.path
        assert goal.tally.entries == sum(last - first + 1 for first, last in goal.tally.spans)
    if assembly.goals.goals:  # where a plan came late, what was before it belongs to requests that gave way
        assert {seq: goal for seq, goal in enumerate(placed) if goal in paths} == belongs
    else:
        assert belongs == {seq: goal for seq, goal in enumerate(placed) if goal and goal == tree[-1].path} | {
            seq: path for seq, path in belongs.items() if path != tree[-1].path
        }


@unhurried
@given(records)
def test_a_plan_is_open_exactly_while_one_of_its_items_is(entries: list[Entry]) -> None:
    tree = follow(entries)[0].goals.tree()
    for plan in tree:
        items = [goal for goal in tree if goal.parent == plan.path]
        if plan.plan and items and not plan.inferred:
            assert (plan.status in OPEN) == any(item.status in OPEN for item in items)


@unhurried
@given(records, st.integers(0, 14))
def test_in_two_goes_it_is_the_same_tree(entries: list[Entry], stop_at: int) -> None:
    once, placed = follow(entries)
    twice, again = follow(entries, stop_at)
    assert again == placed
    if once.goals.goals:
        assert twice.goals.tree() == once.goals.tree()
        assert twice.goals.current == once.goals.current
    elif once.goals.inferred:
        assert twice.goals.inferred[-1] == once.goals.inferred[-1]


@given(
    st.lists(st.lists(st.tuples(texts, st.sampled_from([PENDING, DOING, DONE])), max_size=6), min_size=1, max_size=8)
)
def test_what_a_rewritten_list_has_not_is_closed(lists: list[list[tuple[str, GoalStatus]]]) -> None:
    tracker = GoalTracker()
    for seq, rows in enumerate(lists):
        tracker.apply(GoalChange(tuple(GoalItem(text, status) for text, status in rows), whole=True), seq)
    standing = sorted((goal.text, goal.status) for goal in tracker.goals if goal.listed)
    assert standing == sorted(lists[-1]), "the list as it was written last, no more and no less"
    assert all(goal.status not in OPEN for goal in tracker.goals if not goal.listed)


def test_a_dropped_item_that_comes_back_is_itself_again() -> None:
    tracker = GoalTracker()
    for seq, rows in enumerate([["a", "b"], ["a"], ["b", "a"]]):
        tracker.apply(GoalChange(tuple(GoalItem(text, PENDING) for text in rows), whole=True), seq)
    assert [(goal.path, goal.text, goal.status) for goal in tracker.tree()] == [
        ("1", "a", PENDING),
        ("2", "b", PENDING),
    ]


def test_a_cancelled_item_that_stays_listed_is_not_added_again() -> None:
    tracker = GoalTracker()
    for seq in range(5):
        tracker.apply(GoalChange((GoalItem("a", GoalStatus.ABANDONED), GoalItem("b", DOING)), whole=True), seq)
    assert len(tracker.goals) == 2
    assert tracker.goals[0].closed_seq == 0


def test_a_list_does_not_drop_tasks_that_are_kept_one_by_one() -> None:
    tracker = GoalTracker()
    tracker.apply(GoalChange((GoalItem("a task", PENDING, key="1"),), whole=False), 0)
    tracker.apply(GoalChange((GoalItem("a todo", DOING),), whole=True), 1)
    tracker.apply(GoalChange((), whole=True), 2)
    assert [(goal.text, goal.status) for goal in tracker.tree()] == [("a task", PENDING), ("a todo", GONE)]


def test_an_inline_sub_agents_list_stands_under_the_goal_it_serves_and_drops_nothing_of_the_main_one() -> None:
    tracker = GoalTracker()
    tracker.apply(GoalChange((GoalItem("build", DOING), GoalItem("ship", PENDING)), whole=True), 0)
    tracker.apply(GoalChange((GoalItem("look", DOING),), whole=True), 1, "sub")
    tracker.apply(GoalChange((GoalItem("look", DONE), GoalItem("tell", DOING)), whole=True), 2, "sub")
    assert [(goal.path, goal.text, goal.status) for goal in tracker.tree()] == [
        ("1", "build", DOING),
        ("1.1", "look", DONE),
        ("1.2", "tell", DOING),
        ("2", "ship", PENDING),
    ]
    assert (tracker.at(3), tracker.at(3, "sub")) == ("1", "1.2")


def test_of_two_in_progress_the_one_that_began_last_holds_and_the_one_under_it() -> None:
    tracker = GoalTracker()
    tracker.apply(GoalChange((GoalItem("a", PENDING), GoalItem("b", DOING)), whole=True), 0)
    assert tracker.at(0) == "2"
    tracker.apply(GoalChange((GoalItem("a", DOING), GoalItem("b", DOING)), whole=True), 1)
    assert tracker.at(1) == "1", "it began with this list"
    tracker.apply(GoalChange((GoalItem("a", DOING), GoalItem("b", DOING)), whole=True), 2)
    assert tracker.at(2) == "1", "nothing began: it is still the one"
    tracker.apply(
        GoalChange((GoalItem("top", DOING, key="t"), GoalItem("leaf", DOING, key="l", parent_key="t")), whole=False), 3
    )
    assert tracker.at(3) == "3.1"


def test_a_focus_given_here_takes_the_entries_that_come() -> None:
    entries = [Entry(Kind.MESSAGE, Role.ASSISTANT, opens_turn=n == 0) for n in range(6)]
    assembly = Assembly()
    assembly.goals.timeline = [(2, "+1"), (4, None)]
    placed = [assembly.place(entry, LINE).goal for entry in entries]
    assert placed == ["r1", "r1", "+1", "+1", "r1", "r1"]
    assert assembly.goals.inferred[-1].tally.spans == [[0, 1], [4, 5]]
    assert assembly.goals.marked["+1"].tally.spans == [[2, 3]]


def test_texts_that_are_one_item_and_texts_that_are_two() -> None:
    one = [
        ("Write tests for the parser", "Write the tests for the new parser"),
        ("Create RunResumeWithInput helper using pty", "Create RunResumeInteractive helper using pty"),
        ("修复登录页面的错误", "修复登录页面的错误提示"),
        ("Implement the parser", "Implementing the parser"),
        ("deploy 🚀", "Deploy 🚀"),
        ("write", "write it"),
    ]
    two = [
        ("Write tests", "Write docs"),
        ("Fix phase 1", "Fix phase 2"),
        ("Add field A to the struct", "Remove the struct"),
        ("修复登录错误", "编写部署文档"),
        ("🎯", "🚀"),
    ]
    assert [pair for pair in one if likeness(*pair) == 0] == []
    assert [pair for pair in two if likeness(*pair) > 0] == []


def test_many_goals_and_many_rewritings_take_no_more_than_their_number() -> None:
    def seconds(count: int, rounds: int, *, alike: bool = False) -> float:
        """Of this process alone, at its best: neither other programs nor the collector's looks at what other tests left count."""
        return min(once(count, rounds, alike) for _ in range(3))

    def once(count: int, rounds: int, alike: bool) -> float:
        tracker = GoalTracker()
        gc.collect()
        gc.disable()
        begun = time.process_time()
        for seq in range(rounds):
            names = ["again" if alike else f"item {n} of list {seq // 4}" for n in range(count)]
            rows = tuple(GoalItem(name, DONE if n < seq % count else PENDING) for n, name in enumerate(names))
            tracker.apply(GoalChange(rows, whole=True), seq)
        took = time.process_time() - begun
        gc.enable()
        return took

    small, large = seconds(20, 100), seconds(20, 400)
    assert large < 12 * max(small, 0.01), (small, large)
    assert seconds(1000, 4) < 60 * max(small, 0.02)
    assert seconds(1000, 8, alike=True) < 60 * max(small, 0.02), "a thousand items of one text"


def test_a_goal_comes_back_from_its_json() -> None:
    tracker = GoalTracker()
    tracker.apply(GoalChange((GoalItem("a", DOING, key="k", note="n"),), whole=True), 3)
    goal = tracker.goals[0]
    assert Goal.from_json(json.loads(json.dumps(goal.to_json()))) == goal
