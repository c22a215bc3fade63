"""UniversalAIClient's way, by its description."""

from compaction.plan import Status, SummaryAsk
from tests.builders import call, prompt, result, say, session, snapshot
from tests.compaction.strategies.agents import kinds, run, seqs, turns


def test_the_last_two_messages_stay() -> None:
    start = session(*turns(6), prompt("and now?"), say("Now this."))
    made = run("universal", start)
    assert made.status is Status.COMPLETED, made.reason
    assert kinds(made.items) == ["summary", "prompt", "message"]
    ask = made.plan.asks[0]
    assert isinstance(ask, SummaryAsk)
    assert (ask.template, ask.previous) == ("plain", "")


def test_the_kept_part_reaches_back_to_the_beginning_of_its_answer() -> None:
    start = session(*turns(6), prompt("and now?"), call("Bash", "c", command="ls"), result("a", "c"), say("There."))
    made = run("universal", start)
    assert seqs(made.items) == [42, 43, 44, 45]
    alone = run("universal", start, keep=1)
    assert seqs(alone.items) == [42, 45]  # the newest message stays anyway
    assert made.items[-1].text == "There."


def test_refuses_below_its_threshold_and_with_two_messages() -> None:
    small = run("universal", session(prompt("hello"), say("hi"), prompt("x")))
    assert small.status is Status.NOOP_BELOW_THRESHOLD
    assert "1,000" in small.reason
    two = run("universal", session(prompt("word " * 4_000), say("hi")))
    assert two.status is Status.NOOP_NOTHING_TO_DO
    # 3,996 characters and the spaces between three texts are 1,000 of its tokens
    assert (
        run("universal", session(prompt("a" * 3_000), say("b" * 990), say("c" * 7))).status
        is not Status.NOOP_BELOW_THRESHOLD
    )
    assert (
        run("universal", session(prompt("a" * 3_000), say("b" * 990), say("c"))).status is Status.NOOP_BELOW_THRESHOLD
    )


def test_the_summary_is_at_most_three_tenths() -> None:
    start = session(*turns(6), prompt("x"), say("y"))
    ask = run("universal", start).plan.asks[0]
    assert isinstance(ask, SummaryAsk)
    assert ask.max_tokens == int(0.3 * sum(start.tokens[:-2]))


def test_a_second_time_there_is_nothing_to_do() -> None:
    start = session(*turns(6))
    made = run("universal", start)
    again = run("universal", snapshot(start.log(), made.edits))
    assert again.status in (Status.NOOP_NOTHING_TO_DO, Status.NOOP_BELOW_THRESHOLD)
