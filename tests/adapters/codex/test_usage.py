"""What each request cost: nothing counted twice, nothing of another session."""

from __future__ import annotations

from sessions.assembly import Reading
from tests.adapters.codex.build import (
    THREAD,
    compacted,
    counts,
    end,
    event,
    meta,
    read,
    says,
    start,
    summary,
    token_count,
    turn_context,
    usage_record,
    user,
)

FIRST = counts(100, 60, 20, 5)
GAUGE = {**counts(0, 0, 0, 0), "total_tokens": 42}


def spent(reading: Reading) -> list[tuple[int | None, int | None, int | None]]:
    return [
        (s.usage.fresh, s.usage.cache_read, s.usage.output) for s in reading.steps if s.usage and not s.usage.estimated
    ]


def gauges(reading: Reading) -> list[int | None]:
    return [s.usage.total for s in reading.steps if s.usage and s.usage.estimated]


def test_cached_is_part_of_the_input() -> None:
    written = {**counts(100, 60, 20, 5), "cache_write_input_tokens": 30}
    reading = read(meta(), user("go"), says("a"), token_count(written, written))
    (step,) = reading.steps
    assert step.usage is not None
    assert (step.usage.fresh, step.usage.cache_read, step.usage.cache_write) == (10, 60, 30)
    assert (step.usage.prompt, step.usage.output, step.usage.reasoning, step.usage.context) == (100, 20, 5, 120)


def test_a_repeated_count_is_one_request() -> None:
    reading = read(
        meta(),
        user("go"),
        says("a"),
        token_count(FIRST, FIRST),
        token_count(FIRST, FIRST),
        user("on"),
        token_count(FIRST, FIRST),
    )
    assert spent(reading) == [(40, 60, 20)]


def test_a_total_that_falls_is_a_new_count() -> None:
    low = counts(10, 0, 5, 0)
    reading = read(
        meta(),
        user("go"),
        says("a"),
        token_count(counts(900, 500, 90, 0), FIRST),
        user("on"),
        says("b"),
        token_count(low, low),
    )
    assert spent(reading) == [(40, 60, 20), (10, 0, 5)]


def test_records_are_the_better_source() -> None:
    total = counts(200, 120, 40, 10)
    reading = read(
        meta(version="0.171.0"), start("t"), user("go", shown=False),
        says("a"), usage_record("r1", FIRST), token_count(FIRST, FIRST),
        user("on", shown=False), says("b"), usage_record("r2", FIRST), usage_record("r2", FIRST), token_count(total, FIRST), end("t"),
    )  # fmt: skip
    assert spent(reading) == [(40, 60, 20), (40, 60, 20)]
    assert [step.response_id for step in reading.steps] == [f"{THREAD}/r1", f"{THREAD}/r2"]


def test_an_estimate_after_a_compaction_is_a_gauge_and_no_cost() -> None:
    total = counts(200, 120, 40, 10)
    reading = read(
        meta(), start("t"), user("go"), says("a"), token_count(FIRST, FIRST), token_count(total, FIRST),
        compacted("S", summary("S")), token_count(total, GAUGE), token_count(total, GAUGE), end("t"),
    )  # fmt: skip
    assert spent(reading) == [(40, 60, 20), (40, 60, 20)], "the compaction's own request counts"
    assert gauges(reading) == [42]
    assert reading.steps[-1].usage is not None
    assert reading.steps[-1].usage.context == 42, "the last step says how full the window is now"


def test_the_gauge_is_at_the_window_after_an_overflow() -> None:
    full = {
        "input_tokens": 0,
        "cached_input_tokens": 0,
        "output_tokens": 0,
        "reasoning_output_tokens": 0,
        "total_tokens": 258400,
    }
    delta = {**full, "total_tokens": 8400}
    reading = read(meta(), user("go"), says("a"), token_count(FIRST, FIRST), token_count(full, delta))
    assert spent(reading) == [(40, 60, 20)]
    assert gauges(reading) == [258400]


def test_answers_after_the_compactions_request_are_requests_of_their_own() -> None:
    reading = read(
        meta(), start("t"), user("go"), says("a"), token_count(FIRST, FIRST),
        token_count(counts(200, 120, 40, 10), FIRST), compacted("S", summary("S")), says("b"),
        token_count(counts(300, 180, 60, 15), counts(10, 0, 1, 0)), end("t"),
    )  # fmt: skip
    assert spent(reading) == [(40, 60, 20), (40, 60, 20), (10, 0, 1)]
    assert reading.steps[-1].first_seq == next(p.seq for p in reading.placed if p.entry.text == "b")


def test_the_model_of_a_request_is_that_of_its_turn() -> None:
    reading = read(
        meta(), turn_context("one"), user("go"), says("a"), token_count(FIRST, FIRST),
        turn_context("two"), user("on"), says("b"), token_count(counts(200, 120, 40, 10), FIRST),
    )  # fmt: skip
    assert [step.model for step in reading.steps] == ["one", "two"]
    assert reading.facts.models == ["one", "two"]


def test_counts_in_other_words_are_no_usage() -> None:
    odd = event("token_count", info={"prompt": 1420, "completion": 910})
    assert read(meta(), user("go"), says("a"), odd, event("turn.completed", usage=FIRST)).steps[0].usage is None


def test_a_file_that_says_nothing_of_usage() -> None:
    reading = read(meta(), start("t"), user("go"), says("a"), token_count(None, None), end("t"))
    assert [step.usage for step in reading.steps] == [None]


def test_an_id_that_is_only_a_number_is_of_its_thread() -> None:
    """Servers of one's own count their answers from one; OpenAI's ids are nobody else's, and a copied record keeps its thread."""
    drawn = "resp_0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    log = [*meta(), *start("t"), *user("go"), *says("one"), *usage_record(drawn, FIRST)]
    assert [step.response_id for step in read(log).steps] == [drawn]
