"""A draft that a model writes: held with the head where it was, read, changed, and applied or discarded without asking the model again."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from compaction import holding, progress, runs, tasks
from compaction.holding import Wishes, preview_draft
from compaction.models import Run
from compaction.pickup import pick_up_stale_runs
from compaction.summary import manifest
from sessions import versions
from sessions.models import Session
from sessions.store import edits_of
from sessions.versions import Refused
from tests.compaction.stage import age, context_hash, everything, head_of, member_of
from tests.loopback import Server
from tests.summarisers.conftest import MODELS
from tests.summarisers.texts import nine
from webapp.models import Role

pytestmark = pytest.mark.django_db(transaction=True)

FOLDS: dict[str, Any] = {"strategy": "hybrid", "params": {"free": 1_000_000}, "summariser": "llm"}
OWN = "## 1. Primary Request and Intent\n- The clerk's words."


def held(session: Session, **choice: Any) -> Run:
    run = runs.request(session.pk, **FOLDS, **choice, hold=True)
    runs.execute(run.pk)
    run.refresh_from_db()
    return run


def applied(run: Run, wishes: Wishes | None = None) -> Run:
    holding.apply(run.pk, wishes)
    runs.execute(run.pk)
    run.refresh_from_db()
    return run


def summary_of(run: Run) -> str:
    assert run.version is not None
    return next(edit.text for edit in edits_of(run.version) if getattr(edit, "kind", None) == "summary")


def test_a_draft_moves_nothing_and_lands_as_it_was_written(
    session: Session, server: Server, models: list[float]
) -> None:
    server.says(nine("Bytes are read in pieces."))
    before, head = context_hash(session), head_of(session)
    run = held(session)
    assert (run.state, run.version, head_of(session)) == (Run.State.HELD, None, head), run.reason
    assert context_hash(session) == before
    assert run.report["retention"]["kinds"]
    assert "Bytes are read in pieces." in run.report["summary"]["text"]

    untouched = everything()
    seen = preview_draft(run).preview
    assert everything() == untouched
    assert (seen.lands, seen.digest, seen.tokens_after) == (True, run.plan_digest, run.tokens_after)

    run = applied(run)
    assert (run.state, run.status) == (Run.State.COMPLETED, "completed"), run.reason
    assert len(server.asked) == 1, "the model was asked again"
    assert summary_of(run) == seen.summary.text  # type: ignore[union-attr]
    assert run.tokens_after == seen.tokens_after
    versions.undo(session.pk)
    assert context_hash(session) == before


def test_a_persons_words_and_pins_go_before_the_models(session: Session, server: Server, models: list[float]) -> None:
    server.says(nine())
    run = held(session)
    folded = next(iter(range(*run.report["fold"][0])))
    run = applied(run, Wishes.of(edited_summary=nine("The clerk's own words."), pins=[folded]))
    assert run.state == Run.State.COMPLETED, run.reason
    assert run.version is not None
    text = summary_of(run)
    assert "The clerk's own words." in text
    assert "exit code" in manifest.of(text), "the list of files and commands went with the model's words"
    assert folded not in run.version.hidden
    assert len(server.asked) == 1


def test_a_draft_that_does_not_cover_what_would_be_folded_is_refused(
    session: Session, server: Server, models: list[float]
) -> None:
    """A pin that is taken off makes one more entry go, of which the model was told nothing."""
    server.says(nine())
    plain = runs.preview_run(session, **FOLDS).preview
    pinned = next(iter(plain.plan.fold))
    run = held(session, pins=[pinned])
    assert run.state == Run.State.HELD, run.reason
    seen = preview_draft(run, Wishes.of(pins=[])).preview
    assert (seen.lands, seen.status.value) == (False, "stale")
    assert f"e{pinned}" in seen.reason
    with pytest.raises(Refused, match="written again"):
        holding.apply(run.pk, Wishes.of(pins=[]))
    assert applied(run).state == Run.State.COMPLETED


def test_a_draft_is_stale_where_the_head_moved_and_good_again_where_it_came_back(
    session: Session, server: Server, models: list[float]
) -> None:
    server.says(nine())
    run = held(session)
    other = runs.request(session.pk, strategy="hybrid", params={"free": 1_000_000})
    with pytest.raises(Refused) as live:
        holding.apply(run.pk)
    assert live.value.code == "run_is_live"
    runs.execute(other.pk)
    with pytest.raises(Refused) as moved:
        holding.apply(run.pk)
    assert moved.value.code == "stale"
    run.refresh_from_db()
    assert run.state == Run.State.HELD
    versions.undo(session.pk)
    assert applied(run).state == Run.State.COMPLETED


def test_a_draft_is_discarded_and_another_takes_its_place(
    session: Session, server: Server, models: list[float]
) -> None:
    server.says(nine())
    first = held(session)
    second = held(session)
    first.refresh_from_db()
    assert (first.state, second.state) == (Run.State.CANCELLED, Run.State.HELD)
    runs.cancel(second.pk)
    for run in (first, second):
        with pytest.raises(Refused) as refused:
            holding.apply(run.pk)
        assert refused.value.code == "not_held"


@pytest.mark.parametrize(
    ("answer", "status"), [("no form at all", "failed_bad_template"), ("", "failed_empty_summary")]
)
def test_a_bad_answer_leaves_no_draft_and_has_its_name(
    session: Session, server: Server, models: list[float], answer: str, status: str
) -> None:
    server.says(answer)
    run = held(session)
    assert (run.state, run.status, run.draft) == (Run.State.REFUSED, status, None)


def test_only_what_a_model_writes_can_be_held(session: Session) -> None:
    with pytest.raises(Refused) as refused:
        runs.request(session.pk, strategy="hybrid", hold=True)
    assert refused.value.code == "no_model"


def test_a_worker_that_dies_while_it_applies_loses_no_draft(
    session: Session, server: Server, models: list[float]
) -> None:
    server.says(nine())
    run = held(session)
    holding.apply(run.pk)
    assert progress.claim(run.pk) is not None
    age(run, 3_600)
    pick_up_stale_runs()
    run.refresh_from_db()
    assert (run.state, run.reason.startswith("Its worker ended in the middle")) == (Run.State.FAILED, True), run.reason
    assert applied(run).state == Run.State.COMPLETED
    assert len(server.asked) == 1


def test_the_command_writes_a_draft_and_applies_it(
    session: Session, server: Server, models: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    server.says(nine("Bytes are read in pieces."))
    monkeypatch.setattr(tasks.execute, "delay", lambda run_id: runs.execute(run_id))
    monkeypatch.setattr(tasks, "_knock", lambda: None)
    out = io.StringIO()
    call_command("compact", str(session.pk), "--summariser", "llm", "--set", "free=1000000", "--hold", stdout=out)
    run = Run.objects.get()
    assert run.state == Run.State.HELD
    assert "Bytes are read in pieces." in out.getvalue()
    assert f"apply {run.pk}" in out.getvalue()
    words = tmp_path / "words.md"
    words.write_text(nine("The clerk's own words."), encoding="utf-8")
    call_command("apply", str(run.pk), "--summary", str(words), stdout=out)
    run.refresh_from_db()
    assert run.state == Run.State.COMPLETED
    assert "The clerk's own words." in summary_of(run)
    with pytest.raises(CommandError, match="cannot be applied any more"):
        call_command("apply", str(run.pk), stdout=out)


def test_the_api_holds_previews_and_applies(
    session: Session, server: Server, models: list[float], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.says(nine("Bytes are read in pieces."))
    monkeypatch.setattr(tasks.execute, "delay", lambda run_id: runs.execute(run_id))
    monkeypatch.setattr(tasks, "_knock", lambda: None)
    client.force_login(member_of(session.workspace, "quill", Role.OPERATOR))

    def post(path: str, **body: Any) -> Any:
        return client.post(f"/api{path}", json.dumps(body), content_type="application/json")

    made = post(f"/sessions/{session.pk}/compact", **FOLDS, hold=True)
    assert made.status_code == 202, made.content
    whole = client.get(f"/api/runs/{made.json()['id']}").json()
    assert (whole["state"], whole["hold"]) == ("held", True)
    assert "Bytes are read in pieces." in whole["report"]["summary"]["text"]
    seen = post(f"/runs/{whole['id']}/apply", summary=nine("Mine."), preview=True).json()
    assert (seen["lands"], seen["summary"]["summariser"]) == (True, "edited")
    other = post(f"/runs/{whole['id']}/apply", plan_digest=seen["plan_digest"])
    assert other.status_code == 409, "words that were not looked at were taken"
    landed = post(f"/runs/{whole['id']}/apply", summary=nine("Mine."), plan_digest=seen["plan_digest"])
    assert (landed.status_code, landed.json()["state"]) == (202, "completed"), landed.content


def test_the_page_writes_shows_and_applies_a_draft(
    session: Session, server: Server, models: list[float], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.says(nine("Bytes are read in pieces."))
    monkeypatch.setattr(tasks, "start", lambda run: None)
    client.force_login(member_of(session.workspace, "quill", Role.OPERATOR))
    here = f"/s/{session.pk}/compact"
    chosen = {"strategy": "hybrid", "set.free": "1,000,000", "summariser": f"llm:{MODELS['openai']}"}
    asked = client.post(here, {**chosen, "do": "draft"})
    run = Run.objects.get()
    assert (asked.status_code, f"held={run.pk}" in asked["Location"], run.hold) == (302, True, True)
    writing = client.get(asked["Location"]).content.decode()
    assert 'id="drafting"' in writing
    assert 'id="why-not"' in writing

    runs.execute(run.pk)
    done = client.get(f"/s/{session.pk}/runs/{run.pk}/draft", headers={"HX-Request": "true"})
    page = client.get(done["HX-Redirect"]).content.decode()
    assert "Bytes are read in pieces. (Current Work)" in page
    assert f"written by {MODELS['openai']}" in page
    assert "90,100 in, 77 out" in page

    words = {f"section-{n}": f"- Mine, {n}" for n in range(1, 10)}
    sent = client.post(
        here, {**chosen, **words, "held": run.pk, "was": "hybrid|", "do": "apply", "draft": "x", "shown": "x"}
    )
    assert sent.status_code == 302, sent.content.decode()[:2000]
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == Run.State.COMPLETED, run.reason
    assert "Mine, 4" in summary_of(run)
    assert len(server.asked) == 1
