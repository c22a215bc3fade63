"""Goals are followed through rewritten lists: reworded items stay themselves, vanished ones are noticed."""

from hypothesis import given
from hypothesis import strategies as st

from sessions.entries import GoalChange, GoalItem, GoalStatus
from sessions.goals import GoalTracker, path_key

PENDING, DOING, DONE, GONE = GoalStatus.PENDING, GoalStatus.IN_PROGRESS, GoalStatus.COMPLETED, GoalStatus.DROPPED


def rewritten(*lists: list[tuple[str, GoalStatus]]) -> GoalTracker:
    tracker = GoalTracker()
    for seq, items in enumerate(lists):
        tracker.apply(GoalChange(tuple(GoalItem(text, status) for text, status in items), whole=True), seq)
    return tracker


def state(tracker: GoalTracker) -> list[tuple[str, str, GoalStatus]]:
    return [(goal.path, goal.text, goal.status) for goal in tracker.tree()]


def test_a_list_rewritten_whole_keeps_identities() -> None:
    tracker = rewritten(
        [("Read the code", DOING), ("Write tests", PENDING)], [("Read the code", DONE), ("Write tests", DOING)]
    )
    assert state(tracker) == [("1", "Read the code", DONE), ("2", "Write tests", DOING)]
    assert tracker.current == "2"


def test_a_reworded_item_stays_itself() -> None:
    tracker = rewritten([("Write tests for the parser", PENDING)], [("Write the tests for the new parser", DOING)])
    assert state(tracker) == [("1", "Write the tests for the new parser", DOING)]


def test_an_open_item_that_vanishes_is_dropped() -> None:
    tracker = rewritten([("Benchmark it", PENDING), ("Ship it", PENDING)], [("Ship it", DOING)])
    assert state(tracker) == [("1", "Benchmark it", GONE), ("2", "Ship it", DOING)]
    assert tracker.goals[0].closed_seq == 1, "the entry that shows it"
    assert tracker.goals[0].note is None, "nobody said why"


def test_a_completed_item_that_vanishes_stays_completed() -> None:
    tracker = rewritten([("Read", DONE), ("Ship it", DOING)], [("Ship it", DONE)])
    assert state(tracker) == [("1", "Read", DONE), ("2", "Ship it", DONE)]


def test_items_with_keys_are_patched() -> None:
    tracker = GoalTracker()
    tracker.apply(GoalChange((GoalItem("Parse", PENDING, key="1"),), whole=False), 0)
    tracker.apply(GoalChange((GoalItem("", DOING, key="1"),), whole=False), 1)
    tracker.apply(GoalChange((GoalItem("Sub", PENDING, key="2", parent_key="1"),), whole=False), 2)
    assert state(tracker) == [("1", "Parse", DOING), ("1.1", "Sub", PENDING)]


def test_requests_are_goals_where_no_plan_is_kept() -> None:
    tracker = GoalTracker()
    tracker.request("fix  the\nbug", 3)
    assert tracker.at(4) == "r1"
    tracker.request("and document it", 7)
    assert state(tracker) == [("r1", "fix the bug", DONE), ("r2", "and document it", DOING)]
    assert all(goal.inferred for goal in tracker.tree())


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abcdefgh 目标 🎯"), st.sampled_from([PENDING, DOING, DONE])), max_size=6),
        min_size=1,
        max_size=8,
    )
)
def test_any_sequence_of_rewrites_leaves_each_item_in_one_state_and_survives_json(
    lists: list[list[tuple[str, GoalStatus]]],
) -> None:
    tracker = rewritten(*lists)
    assert len({goal.path for goal in tracker.goals}) == len(tracker.goals)
    listed = sorted(text for text, _ in lists[-1])
    standing = [goal for goal in tracker.goals if goal.status is not GONE]
    for text in listed:
        assert any(goal.text == text for goal in standing) or not text
    tracker.take_changed()
    assert GoalTracker.from_json(tracker.to_json()) == tracker


def test_paths_sort_by_number() -> None:
    assert sorted(["10", "2", "1.10", "1.2", "1"], key=path_key) == ["1", "1.2", "1.10", "2", "10"]
