"""An answer that ends because it reached its limit, and what is asked for so that the same question has the same answer."""

from __future__ import annotations

from typing import Any

import pytest

from compaction import runs
from compaction.models import Run
from compaction.plan import NotWritten, Status
from compaction.summarisers.endings import to_last_sentence
from compaction.summarisers.writing import Overflow, Reply, Request, forecast, write
from compaction.summary.shapes import CONCLUSION, PLAIN
from sessions.meters.tokens import count
from sessions.models import Session
from sessions.store import edits_of
from tests.loopback import Answer, Asked, Server
from tests.loopback import Status as Says
from tests.summarisers.conftest import MODELS
from tests.summarisers.test_writing import a_job

LONG = "The importer streams now. It reads pieces of 64 KiB. The cache is left, since"
WHOLE = "The importer streams now. It reads pieces of 64 KiB."


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (LONG, WHOLE),
        (f'He said "never!" {LONG}', f'He said "never!" {WHOLE}'),
        ("它现在逐块读取。缓存还", "它现在逐块读取。"),
        ("Version 1.2 of `a.rs` was", ""),
        ("- read a.rs\n- changed b.rs\n- then", "- read a.rs\n- changed b.rs"),
        ("1. It reads.\n2. Then it wr", "1. It reads."),
        (WHOLE, WHOLE),
        ("", ""),
    ],
)
def test_a_text_ends_where_something_is_whole(text: str, whole: str) -> None:
    assert to_last_sentence(text) == whole


@pytest.mark.parametrize("shape", [PLAIN, CONCLUSION])
@pytest.mark.parametrize("again", [Reply("", cut=False), Reply("word " * 20_000), Overflow(), None])
def test_running_text_that_is_cut_off_again_is_taken_as_far_as_it_is_whole(shape: str, again: Any) -> None:
    asked: list[Request] = []

    def model(request: Request) -> Reply:
        asked.append(request)
        if len(asked) > 1 and isinstance(again, Exception):
            raise again
        return Reply(LONG, cut=True) if again is None or len(asked) == 1 else again

    answer = write(a_job(8, shape=shape), model, name="llm:x")
    assert [one.purpose for one in asked] == ["summary", "reminder"]
    assert answer.text.startswith(WHOLE + "\n\n")
    assert any("last whole sentence" in note for note in answer.notes)


def test_running_text_that_is_shorter_the_second_time_is_taken_as_it_is() -> None:
    replies = iter([Reply(LONG, cut=True), Reply("It streams; the cache is left")])
    answer = write(a_job(shape=PLAIN), lambda _: next(replies), name="llm:x")
    assert answer.text.startswith("It streams; the cache is left\n\n")
    assert answer.notes == ()


@pytest.mark.parametrize(("shape", "text"), [("nine-sections", LONG), ("state-snapshot", LONG), (PLAIN, "no end of")])
def test_what_needs_a_form_or_holds_no_sentence_is_refused(shape: str, text: str) -> None:
    with pytest.raises(NotWritten, match="cut off") as failure:
        write(a_job(shape=shape), lambda _: Reply(text, cut=True), name="llm:x")
    assert failure.value.status is Status.FAILED_BAD_TEMPLATE


@pytest.mark.parametrize("shape", ["nine-sections", PLAIN])
def test_in_a_small_window_rules_record_and_answer_have_their_place(shape: str) -> None:
    todo = a_job(8, shape=shape, window=2_048)
    sent: list[Request] = []

    def model(request: Request) -> Reply:
        sent.append(request)
        raise Overflow(2_048)

    assert forecast(todo).calls >= 1
    with pytest.raises(NotWritten):
        write(todo, model, name="llm:x")
    assert sent
    for one in sent:
        assert sum(count([one.system, *(text for _, text in one.turns)])) + one.max_tokens <= 2_048
    with pytest.raises(NotWritten, match="window is too small") as failure:
        forecast(a_job(8, shape=shape, window=700))
    assert failure.value.status is Status.FAILED_CONTEXT_OVERFLOW


def plainly(session: Session, provider: str) -> Run:
    run = runs.request(session.pk, strategy="universal", summariser="llm", model=MODELS[provider])
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "completed", run.reason
    return run


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("provider", list(MODELS))
def test_a_run_says_that_its_text_was_cut_off(
    session: Session, server: Server, models: list[float], provider: str
) -> None:
    server.says(Answer(LONG, cut=True))
    run = plainly(session, provider)
    assert run.version is not None
    text = next(edit.text for edit in edits_of(run.version) if getattr(edit, "kind", None) == "summary")
    assert WHOLE in text
    assert "The cache is left" not in text
    assert any("last whole sentence" in word for word in run.report["warnings"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("provider", list(MODELS))
def test_the_same_is_asked_for_the_same_and_without_where_a_model_takes_no_such_setting(
    session: Session, server: Server, models: list[float], provider: str
) -> None:
    def picky(asked: Asked) -> Any:
        set_so = asked.json.get("generationConfig", asked.json)
        return Says(400, "`temperature` and seed are no settings of this model") if {"temperature", "seed"} & {
            *set_so
        } else WHOLE  # fmt: skip

    server.says(picky)
    run = plainly(session, provider)
    first, second = (asked.json.get("generationConfig", asked.json) for asked in server.asked)
    fixed = {"anthropic": {"temperature": 0}, "gemini": {"seed": 1}}.get(provider, {"temperature": 0, "seed": 1})
    assert {name: first[name] for name in ("temperature", "seed") if name in first} == fixed
    assert not {"temperature", "seed"} & {*second}
    assert [call.outcome for call in run.calls.all()] == ["answered"]
