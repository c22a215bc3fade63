"""OpenCode's way, by the figures of its rule."""

import pytest

from compaction.outputs import CLEARED
from compaction.plan import Snapshot, Status, SummaryAsk
from compaction.strategies import by_id
from compaction.strategies.base import settled
from compaction.strategies.opencode import chars4, pruned
from sessions.contexts import InsertKind
from tests.builders import Draft, items, native_summary, prompt, result, say, session, snapshot
from tests.builders import call as called
from tests.compaction.strategies.agents import output, run, said, seqs, turns, windowed

PARAMS = settled(by_id("opencode").params, {"prune": True})


def cleared(start: Snapshot, **params: object) -> list[int]:
    return sorted(output.n for output in pruned(start, {**PARAMS, **params}))


def outside_two_turns(*newest_first: int, tool: str = "Bash") -> Snapshot:
    older = [draft for tokens in reversed(newest_first) for draft in output(tokens, tool)]
    return session(prompt("go"), *older, prompt("second"), say("yes"), prompt("third"), say("yes"))


@pytest.mark.parametrize(("length", "tokens"), [(0, 0), (1, 0), (2, 1), (5, 1), (6, 2), (7, 2)])
def test_its_estimate(length: int, tokens: int) -> None:
    assert chars4("a" * length) == tokens
    assert chars4("😀") == 1  # two units


def test_prunes_what_lies_beyond_the_protected_and_crosses_it() -> None:
    start = outside_two_turns(30_000, 15_000, 10_000, 12_000)
    assert cleared(start) == [2, 4, 6]
    made = run("opencode", start, prune=True, compact="never")
    assert made.status is Status.PRUNED_ONLY
    assert [item.text for item in made.items if item.masked] == [CLEARED] * 3
    assert made.items[8].text == start.items[8].text


def test_prunes_nothing_where_it_is_not_more_than_the_minimum() -> None:
    start = outside_two_turns(30_000, 15_000, 5_000)
    assert cleared(start) == []
    assert run("opencode", start, prune=True, compact="never").status is Status.NOOP_NOTHING_TO_DO
    assert cleared(start, minimum=19_999) == [2, 4]


def test_the_last_two_turns_are_not_looked_at() -> None:
    start = session(prompt("a"), *output(90_000), prompt("b"), *output(90_000), prompt("c"), *output(90_000))
    assert cleared(start) == [2]
    assert cleared(start, turns=0) == [2, 5, 8]


def test_skills_are_not_counted_and_failures_stay() -> None:
    start = session(
        prompt("a"),
        *output(30_000),
        called("Bash", command="x"),
        result("word " * 32_000, error=True),
        *output(50_000, "skill"),
        *output(41_000),
        prompt("b"),
        prompt("c"),
    )
    assert cleared(start) == [2, 8]
    assert cleared(start, exempt="bash") == []


def test_the_walk_stops_at_a_summary_and_at_what_was_cleared_before() -> None:
    beyond = [prompt("go"), *output(60_000), native_summary("Earlier."), *output(30_000), prompt("b"), prompt("c")]
    assert cleared(session(*beyond)) == []
    start = outside_two_turns(30_000, 15_000, 10_000, 12_000)
    made = run("opencode", start, prune=True, compact="never")
    again = snapshot(start.log(), made.edits)
    assert cleared(again) == []
    more = [draft for n in range(3) for draft in (*output(45_000), prompt(f"p{n}"))]
    assert cleared(snapshot(items(more, start.log()), made.edits)) == [8, 14, 17]


def turn_of(n: int, tokens: int) -> list[Draft]:
    return [prompt(f"turn {n}"), *output(tokens)]


def test_the_tail_is_the_newest_turns_that_fit() -> None:
    start = session(*turn_of(0, 9_000), *turn_of(1, 2_000), *turn_of(2, 2_000), *turn_of(3, 2_000))
    made = run("opencode", start)
    assert made.status is Status.COMPLETED, made.reason
    assert said(made.items) == ["turn 2", "turn 3"]
    assert made.items[0].kind is InsertKind.SUMMARY
    assert seqs(made.items) == [6, 7, 8, 9, 10, 11]
    assert said(run("opencode", start, tail_turns=1).items) == ["turn 3"]
    assert said(run("opencode", start, tail_turns=3).items) == ["turn 1", "turn 2", "turn 3"]


def test_of_the_first_turn_that_does_not_fit_its_newest_part_stays() -> None:
    start = session(
        *turn_of(0, 9_000), prompt("long"), *output(5_000), *output(3_000), *output(2_500), *turn_of(2, 2_000)
    )
    made = run("opencode", start)
    # 8,000 hold the newest turn and the outputs of 2,500 and 3,000 before it, each with its call.
    assert seqs(made.items) == [6, 7, 8, 9, 10, 11, 12]
    assert made.plan.facts["used"]["tail_tokens"] == 8_000


def test_what_is_kept_is_a_fourth_of_what_is_usable() -> None:
    start = session(*turns(30))
    for window, tail in ((200_000, 8_000), (48_000, 4_000), (36_000, 2_000), (8_000, 2_000)):
        assert run("opencode", start, windowed(window)).plan.facts["used"]["tail_tokens"] == tail


def test_without_a_tail_the_newest_message_stays_and_the_summary_behind_it() -> None:
    start = session(*turns(8))
    made = run("opencode", start, tail_turns=0)
    assert made.status is Status.COMPLETED
    assert [item.kind.value for item in made.items] == ["prompt", "summary"]
    assert made.items[0].text == "Task 7: change handler_7"


def test_all_in_the_tail_is_no_tail() -> None:
    start = session(*turns(2, size=200))
    assert start.total < 8_000
    made = run("opencode", start)
    assert made.status is Status.COMPLETED
    assert [item.kind.value for item in made.items] == ["prompt", "summary"]


def test_engine_two_keeps_messages_and_begins_with_the_persons() -> None:
    start = session(*turn_of(0, 20_000), *turn_of(1, 6_000), *turn_of(2, 6_000), *turn_of(3, 2_000))
    made = run("opencode", start, tail="newest messages")
    assert said(made.items) == ["turn 1", "turn 2", "turn 3"]
    everything = session(*turns(4))
    assert everything.total < 15_000
    assert said(run("opencode", everything, tail="newest messages").items) == ["Task 3: change handler_3"]


def test_the_earlier_summary_is_carried_on() -> None:
    start = session(native_summary("We chose lexer_two."), *turns(12))
    ask = run("opencode", start).plan.asks[0]
    assert isinstance(ask, SummaryAsk)
    assert ask.previous == "We chose lexer_two."
    assert ask.template == "work-state"
    anew = run("opencode", start, anchored=False).plan.asks[0]
    assert isinstance(anew, SummaryAsk)
    assert anew.previous == ""


def test_the_summariser_reads_the_beginning_of_each_output() -> None:
    start = session(prompt("go"), *output(9_000), say("done"), prompt("next"))
    ask = run("opencode", start).plan.asks[0]
    assert isinstance(ask, SummaryAsk)
    texts = [item.text for item in ask.items if item.results]
    assert texts == [("word " * 7_200)[:2_000] + "\n[truncated]"]


def test_at_the_threshold_only() -> None:
    start = session(*turns(20))
    below = run("opencode", start, windowed(200_000), compact="at the threshold")
    assert below.status is Status.NOOP_BELOW_THRESHOLD
    assert "168,000" in below.reason
    assert run("opencode", start, windowed(40_000), compact="at the threshold").lands
    assert run("opencode", start, compact="at the threshold").status is Status.NOOP_BELOW_THRESHOLD
    assert run("opencode", start, compact="at the threshold", threshold=1_000).lands
