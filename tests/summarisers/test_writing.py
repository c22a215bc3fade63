"""The order of the calls and what is sent, on plain values: the model is a function."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compaction.plan import NotWritten, Status, SummaryAnswer, SummaryAsk
from compaction.summarisers.transcript import Level, TooLarge, fenced, lay_out
from compaction.summarisers.writing import Capacity, Job, Overflow, Reply, Request, forecast, job, write
from compaction.summary.events import Voice
from compaction.summary.manifest import HEADING
from compaction.summary.shapes import CONCLUSION, PLAIN, SHAPES, faults
from compaction.summary.survey import survey
from sessions.meters.tokens import count
from tests.builders import call, items, prompt, result, say
from tests.summarisers.texts import nine


def a_job(rounds: int = 40, *, shape: str = "nine-sections", window: int | None = 200_000, **more: object) -> Job:
    said = [prompt("Make the importer stream. Never load a whole file.")]
    for n in range(rounds):
        said += [call("Bash", command=f"cargo test -p import n{n}"), result(f"line {n}\n" * 200, exit_code=n % 3)]
        said.append(say(f"Step {n} is done."))
    found = tuple(items(said))
    ask = SummaryAsk("summary", found, (), 3_000, template=shape, **more)  # type: ignore[arg-type]
    return job(ask, survey(found), set(range(len(found))), Capacity(window, None, 8_000), count)


def filled(shape: str) -> str:
    """A text of this shape."""
    known = SHAPES[shape]
    if known.id == "nine-sections":
        return nine()
    if known.root:
        return f"<{known.root}>{''.join(f'<{tag}>x</{tag}>' for tag in known.parts)}</{known.root}>"
    return "\n\n".join(f"## {title}\n- something" for title in known.parts) or "Running text."


@pytest.mark.parametrize("shape", list(SHAPES))
def test_every_shape_is_asked_for_with_all_its_parts_and_accepted(shape: str) -> None:
    sent: list[Request] = []

    def model(request: Request) -> Reply:
        sent.append(request)
        return Reply(f"<analysis>thinking</analysis>\n```markdown\n{filled(shape)}\n```")

    answer = write(a_job(shape=shape), model, name="llm:x")
    assert len(sent) == 1
    task = sent[0].turns[0][1].rpartition("</record-")[2]
    assert all(part in task for part in SHAPES[shape].parts)
    assert faults(shape, answer.text) == []
    assert "thinking" not in answer.text
    assert answer.text.count(HEADING) == 1
    assert "`cargo test -p import n1` → exit code 1" in answer.text


def test_a_window_that_is_too_small_is_read_in_pieces_each_with_what_is_known_so_far() -> None:
    sent: list[str] = []

    def model(request: Request) -> Reply:
        sent.append(request.turns[0][1])
        return Reply(nine(f"Piece {len(sent)}."))

    todo = a_job(400, window=8_000)
    found = forecast(todo)
    answer = write(todo, model, name="llm:x")
    assert found.level is Level.PIECES
    assert found.calls == len(sent) > 2
    assert "Piece 1." not in sent[0]
    assert all(f"Piece {n}." in sent[n][: sent[n].index("<record-")] for n in range(1, len(sent)))
    assert f"Piece {len(sent)}." in answer.text
    assert all(count([text])[0] < 8_000 for text in sent)
    assert any("pieces" in note for note in answer.notes)


def test_a_record_shrinks_in_order_and_a_persons_words_stay_longest() -> None:
    events = a_job(60).events
    whole = lay_out(events, 1_000_000, count)
    masked = lay_out(events, whole.tokens - 1, count)
    fewer = lay_out(events, int(masked.tokens * 0.9), count)
    pieces = lay_out(events, int(masked.tokens * 0.5), count)
    levels = [one.level for one in (whole, masked, fewer, pieces)]
    assert levels == [Level.WHOLE, Level.MASKED, Level.OLDEST_OUT, Level.PIECES]
    assert "line 7\nline 7" in whole.pieces[0]
    assert "line 7\nline 7" not in masked.pieces[0]
    assert "cargo test -p import n7" in masked.pieces[0]
    assert "Never load a whole file." in fewer.pieces[0]
    assert fewer.left_out > 0
    assert "n59" in fewer.pieces[0]
    # A call is not left without the result it had.
    assert fewer.pieces[0].count("call Bash") == fewer.pieces[0].count("exit code")
    with pytest.raises(TooLarge):
        lay_out(events, 100, count)


@pytest.mark.parametrize("text", ["", "plain", "</record-000000000000>", "<record-x>" * 50])
def test_what_is_fenced_cannot_close_its_fence(text: str) -> None:
    first, *_, last = fenced("record", text).split("\n")
    assert first[1:] == last[2:]
    assert first not in text
    assert last not in text


def test_a_model_that_always_says_too_long_gets_ever_less_and_then_the_run_fails() -> None:
    sizes: list[int] = []

    def model(request: Request) -> Reply:
        sizes.append(count([request.turns[0][1]])[0])
        raise Overflow

    with pytest.raises(NotWritten) as failure:
        write(a_job(200), model, name="llm:x")
    assert failure.value.status is Status.FAILED_CONTEXT_OVERFLOW
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes) > 2


def test_lines_name_the_entries_they_cite_and_no_others() -> None:
    def model(request: Request) -> Reply:
        return Reply(nine("Found in [e2] and [e99999]."))

    answer: SummaryAnswer = write(a_job(), model, name="llm:x")
    assert {seqs for section in answer.sections for _, seqs in section.lines} == {(2,)}


def test_wishes_and_aim_are_data_too() -> None:
    def model(request: Request) -> Reply:
        text = request.turns[0][1]
        assert "<wishes-" in text
        assert "<aim-" in text
        return Reply(nine())

    write(a_job(instructions="Dwell on the errors.", focus="fix the tests"), model, name="llm:x")


@pytest.mark.parametrize("shape", [PLAIN, CONCLUSION])
def test_running_text_longer_than_what_it_stands_for_is_refused(shape: str) -> None:
    long: Callable[[Request], Reply] = lambda request: Reply("word " * 20_000)  # noqa: E731 -- one line
    with pytest.raises(NotWritten) as failure:
        write(a_job(5, shape=shape), long, name="llm:x")
    assert failure.value.status is Status.FAILED_INFLATED


def test_voices_of_earlier_summaries_are_no_part_of_the_record() -> None:
    todo = a_job(previous="## 1. Primary Request and Intent\n- Stream.\n\n" + HEADING + "\n- `old.rs`: edited ×3")
    assert "`old.rs`: edited ×3" in todo.listed
    assert all(event.voice is not Voice.SUMMARY for event in todo.events)
