"""Runs without a broker: preview, request, execute, land, cancel, and what becomes of those whose worker is gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import orjson
import pytest
from django.db import connection, transaction

from compaction import progress, runs
from compaction.landing import Stale, land
from compaction.models import Run
from compaction.plan import Outcome, Plan, Status
from compaction.schemas import plan_json
from compaction.strategies import strategies
from compaction.strategies.hybrid import STRATEGY
from sessions import versions
from sessions.contexts import Hide
from sessions.entries import Kind
from sessions.models import Entry, Event, Pin, Session
from sessions.ranges import Ranges
from sessions.store import edits_of
from sessions.versions import Refused
from tests.compaction.stage import age, context_hash, everything, grow, head_of, until

FOLDS: dict[str, Any] = {"strategy": "hybrid", "params": {"free": 1_000_000}}
"""A choice that folds: no mask is worth it. With the defaults masks alone would do for the session of these tests."""

pytestmark = pytest.mark.django_db(transaction=True)


def in_threads[T](*calls: Callable[[], T]) -> list[T | Exception]:
    """Do several things at once, each on a connection of its own; what each returned or raised."""

    def one(call: Callable[[], T]) -> T | Exception:
        try:
            return call()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def prompt_after(session: Session) -> str:
    """A person's next message, as the agent would append it to the session's file."""
    last = (
        Entry.objects.filter(session=session, native_id__isnull=False)
        .order_by("-seq")
        .values_list("native_id", flat=True)[0]
    )
    record = {
        "parentUuid": last,
        "isSidechain": False,
        "userType": "external",
        "cwd": session.cwd,
        "sessionId": session.native_id,
        "version": "2.0.55",
        "type": "user",
        "message": {"role": "user", "content": "And now the changelog, please."},
        "uuid": "0c5d6a55-0000-4000-8000-000000000001",
        "timestamp": "2026-09-15T10:00:00.000Z",
    }
    return json.dumps(record)


# -- preview --------------------------------------------------------------------------------------------------------


def test_a_preview_writes_nothing_and_is_the_same_twice(session: Session) -> None:
    before = everything()
    first = plan_json(runs.preview_run(session, **FOLDS))
    second = plan_json(runs.preview_run(session, **FOLDS))
    assert everything() == before
    assert orjson.dumps(first) == orjson.dumps(second)
    assert first["status"] == Status.COMPLETED
    assert 0 < first["tokens"]["after"] < first["tokens"]["before"]


def test_a_preview_cannot_write(session: Session) -> None:
    """It is the database that keeps it from writing, not our good will."""

    class Writes(Idle):
        def plan(self, *args: Any) -> Plan:
            Session.objects.filter(pk=session.pk).update(title="written")
            return Plan("writes:1")

    with plugged(Writes()), pytest.raises(Exception, match="read-only transaction"):
        runs.preview_run(session, strategy="idle")
    assert Session.objects.get(pk=session.pk).title == session.title


@pytest.mark.parametrize(
    ("choice", "code", "says"),
    [
        ({"strategy": "nap"}, "no_such_strategy", "there are: hybrid"),
        ({"params": {"nap": 1}}, "bad_param", "no parameter 'nap'"),
        ({"summariser": "oracle"}, "no_such_summariser", "extractive"),
        ({"summariser": "llm"}, "no_model", "No model is configured"),
        ({"edited_summary": "  "}, "bad_summary", "empty"),
        ({"pins": [100_000]}, "no_such_entry", "entries 0 to 302"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused_before_anything_is_written(
    session: Session, choice: dict[str, Any], code: str, says: str
) -> None:
    before = everything()
    for verb in (lambda **c: runs.preview_run(session, **c), lambda **c: runs.request(session.pk, **c)):
        with pytest.raises(Refused, match=says) as refused:
            verb(**{"strategy": "hybrid", **choice})
        assert refused.value.code == code
    assert everything() == before


# -- landing --------------------------------------------------------------------------------------------------------


def test_a_run_does_what_its_preview_showed(session: Session) -> None:
    previewed = runs.preview_run(session, **FOLDS)
    base = head_of(session)
    assert base is not None

    run = runs.request(
        session.pk,
        **FOLDS,
        expected_hash=previewed.base.content_hash,
        plan_digest=previewed.preview.digest,
    )
    assert (run.state, run.base_id, run.last_seq) == (Run.State.QUEUED, base.pk, 302)
    runs.execute(run.pk)

    run.refresh_from_db()
    assert (run.state, run.status, run.reason, run.attempts) == ("completed", "completed", "", 1)
    assert run.report == json.loads(orjson.dumps(previewed.preview.to_json()))
    assert (run.tokens_before, run.tokens_after) == (previewed.preview.tokens_before, previewed.preview.tokens_after)
    version = head_of(session)
    assert version is not None
    assert run.version_id == version.pk
    assert (version.origin, version.run, version.parent_id, version.at_seq) == ("run", run.pk, base.pk, 302)
    assert edits_of(version) == list(previewed.preview.edits)
    event = Event.objects.get(session=session, what="compacted")
    assert event.facts == {"from": base.n, "to": version.n, "run": run.pk, "strategy": f"hybrid:{STRATEGY.version}"}


def test_its_log_tells_every_phase_in_order(session: Session) -> None:
    run = runs.request(session.pk, **FOLDS)
    runs.execute(run.pk)
    run.refresh_from_db()
    phases = list(dict.fromkeys(phase for _, phase, _ in run.log))
    assert (phases[:3], phases[-1]) == (["memory", "snapshot", "plan"], "land")
    assert {"summary", "files"} < set(phases)
    seconds = [at for at, _, _ in run.log]
    assert seconds == sorted(seconds)
    assert run.started_at is not None
    assert run.ended_at is not None
    assert run.asked_at <= run.started_at <= run.ended_at


def test_undo_and_redo_of_a_run_are_exact(session: Session) -> None:
    before = context_hash(session)
    run = runs.request(session.pk, **FOLDS)
    runs.execute(run.pk)
    compacted = context_hash(session)
    assert compacted != before

    versions.undo(session.pk)
    assert context_hash(session) == before
    versions.redo(session.pk)
    assert context_hash(session) == compacted


def test_entries_that_come_during_a_run_stay_visible(session: Session) -> None:
    run = runs.request(session.pk, **FOLDS)
    grow(session, prompt_after(session))
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.reason) == ("completed", "")
    version = head_of(session)
    assert version is not None
    assert version.at_seq == 302
    assert 303 not in version.hidden
    assert versions.arrived_after(session, version) == 1


def test_a_run_that_would_change_nothing_is_refused(session: Session) -> None:
    runs.execute(runs.request(session.pk, **FOLDS).pk)
    head, before = head_of(session), context_hash(session)
    again = runs.request(session.pk, **FOLDS)
    runs.execute(again.pk)
    again.refresh_from_db()
    assert again.state == "refused"
    assert again.status in (Status.NOOP_NOTHING_TO_DO, Status.NOOP_BELOW_THRESHOLD, Status.FAILED_INFLATED)
    assert again.reason
    assert again.report is not None
    assert (head_of(session), context_hash(session)) == (head, before)


def test_a_malformed_summary_is_refused(session: Session) -> None:
    head = head_of(session)
    run = runs.request(session.pk, **FOLDS, edited_summary="All is well.")
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.status) == ("refused", Status.FAILED_BAD_TEMPLATE)
    assert run.report is not None
    assert head_of(session) == head


# -- what moved meanwhile -------------------------------------------------------------------------------------------


def test_a_run_on_a_head_that_moved_is_refused(session: Session) -> None:
    run = runs.request(session.pk, **FOLDS)
    rolled = versions.roll_back(session.pk, to_entry=280).now
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.status, run.version) == ("refused", Status.STALE, None)
    assert f"stands at v{rolled.n}" in run.reason
    assert head_of(session) == rolled


def test_a_head_that_moves_in_the_last_moment_is_seen_under_the_lock(session: Session) -> None:
    """The check before the plan has passed; the one that counts is made in the landing transaction."""
    run = runs.request(session.pk, **FOLDS)
    held = progress.claim(run.pk)
    assert held is not None
    previewed = runs.preview_run(session, **FOLDS)
    rolled = versions.roll_back(session.pk, to_entry=280).now
    with pytest.raises(Stale):
        land(held, edits=previewed.preview.edits, status="completed", label="x", report={})
    assert head_of(session) == rolled
    assert not session.versions.filter(run=run.pk).exists()


def test_undo_and_redo_do_not_make_a_run_stale(session: Session) -> None:
    runs.execute(runs.request(session.pk, **FOLDS).pk)
    versions.undo(session.pk)
    run = runs.request(session.pk, **FOLDS)
    versions.redo(session.pk)
    versions.undo(session.pk)
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "completed"


def test_changed_entries_under_a_run_refuse_it(session: Session) -> None:
    run = runs.request(session.pk, **FOLDS)
    head = head_of(session)
    Entry.objects.filter(session=session, seq=300).update(digest=b"changed!")
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.status) == ("refused", Status.STALE)
    assert head_of(session) == head


def test_a_request_on_another_context_than_the_previewed_is_refused(session: Session) -> None:
    previewed = runs.preview_run(session, **FOLDS)
    versions.roll_back(session.pk, to_entry=280)
    with pytest.raises(Refused, match="moved on") as refused:
        runs.request(session.pk, **FOLDS, expected_hash=previewed.base.content_hash)
    assert refused.value.code == "stale"
    assert not Run.objects.exists()


def test_a_run_that_would_do_anything_else_than_previewed_is_refused(session: Session) -> None:
    previewed = runs.preview_run(session, **FOLDS)
    head = head_of(session)
    run = runs.request(session.pk, **FOLDS, plan_digest=previewed.preview.digest)
    Pin.objects.create(session=session, seq=next(iter(_folded(previewed))))
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.status) == ("refused", Status.STALE)
    assert "no longer the one previewed" in run.reason
    assert head_of(session) == head


def test_a_result_that_arrives_for_a_folded_call_refuses_the_run(session: Session) -> None:
    call = Entry.objects.filter(session=session, kind=Kind.TOOL_CALL, seq__gt=130).order_by("seq").first()
    assert call is not None
    run = runs.request(session.pk, **FOLDS)
    held = progress.claim(run.pk)
    assert held is not None
    assert call.call_ids is not None
    record = json.loads(prompt_after(session))
    record["message"]["content"] = [{"type": "tool_result", "tool_use_id": call.call_ids[0], "content": "late"}]
    grow(session, json.dumps(record))
    head = head_of(session)
    assert head is not None
    edits = [*edits_of(head), Hide(Ranges.of([(call.seq, call.seq + 1)]))]
    with pytest.raises(Stale, match=f"entry {call.seq}"):
        land(held, edits=edits, status="completed", label="x", report={})
    assert head_of(session) == head


# -- two at once ----------------------------------------------------------------------------------------------------


def test_of_two_requests_at_once_one_is_taken(session: Session) -> None:
    barrier = Barrier(2)

    def ask() -> Run:
        barrier.wait()
        return runs.request(session.pk, **FOLDS)

    outcomes = in_threads(ask, ask)
    taken = [one for one in outcomes if isinstance(one, Run)]
    refused = [one for one in outcomes if isinstance(one, Refused)]
    assert (len(taken), len(refused), Run.objects.count()) == (1, 1, 1)
    assert refused[0].code == "run_is_live"
    runs.execute(taken[0].pk)
    assert session.versions.filter(origin="run").count() == 1


def test_a_message_delivered_twice_at_once_is_done_once(session: Session) -> None:
    run = runs.request(session.pk, **FOLDS)
    barrier = Barrier(2)

    def deliver() -> None:
        barrier.wait()
        runs.execute(run.pk)

    assert in_threads(deliver, deliver) == [None, None]
    run.refresh_from_db()
    assert (run.state, run.attempts) == ("completed", 1)
    assert session.versions.filter(origin="run").count() == 1
    runs.execute(run.pk)  # and much later once more
    assert session.versions.filter(origin="run").count() == 1


# -- cancel ---------------------------------------------------------------------------------------------------------


def test_a_queued_run_is_cancelled_at_once(session: Session) -> None:
    head = head_of(session)
    run = runs.cancel(runs.request(session.pk, **FOLDS).pk)
    assert (run.state, run.status) == ("cancelled", "interrupted")
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, head_of(session)) == ("cancelled", head)
    with pytest.raises(Refused, match="has ended already: cancelled"):
        runs.cancel(run.pk)


def test_a_running_run_is_cancelled_even_at_the_door_of_landing(session: Session) -> None:
    run = runs.request(session.pk, **FOLDS)
    head = head_of(session)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            versions.locked(session.pk)  # so that the run has to wait where it would land
            working = pool.submit(_execute, run.pk)
            in_threads(lambda: until(run.pk, lambda now: now.phase == "land"))
            in_threads(lambda: runs.cancel(run.pk))
        working.result()
    run.refresh_from_db()
    assert (run.state, run.status, run.version) == ("cancelled", "interrupted", None)
    assert head_of(session) == head
    runs.execute(runs.request(session.pk, **FOLDS).pk)
    assert head_of(session) != head


# -- workers that are gone ------------------------------------------------------------------------------------------


def test_a_run_whose_worker_is_gone_is_tried_again_then_given_up(session: Session, settings: Any) -> None:
    settings.RUN_ATTEMPTS = 3
    head = head_of(session)
    run = runs.request(session.pk, **FOLDS)
    for attempt in (1, 2, 3):
        held = progress.claim(run.pk)
        assert held is not None
        assert held.attempt == attempt
        assert runs.pick_up_stale_runs() == []  # it was heard of just now
        age(run, progress.stale_seconds() + 1)
        assert runs.pick_up_stale_runs() == ([run.pk] if attempt < 3 else [])
    run.refresh_from_db()
    assert (run.state, run.status) == ("failed", "interrupted")
    assert "ended 3 times" in run.reason
    assert head_of(session) == head
    following = runs.request(session.pk, **FOLDS)
    runs.execute(following.pk)
    following.refresh_from_db()
    assert following.state == "completed"


def test_a_worker_taken_for_dead_can_neither_write_nor_land(session: Session, settings: Any) -> None:
    settings.RUN_ATTEMPTS = 3
    run = runs.request(session.pk, **FOLDS)
    first = progress.claim(run.pk)
    assert first is not None
    previewed = runs.preview_run(session, **FOLDS)
    age(run, progress.stale_seconds() + 1)
    assert runs.pick_up_stale_runs() == [run.pk]
    second = progress.claim(run.pk)
    assert second is not None

    with pytest.raises(progress.Lost):
        first.note("plan", "still here")
    assert not first.beat()
    assert not first.end("failed", status=None)
    with pytest.raises(progress.Lost):
        land(first, edits=previewed.preview.edits, status="completed", label="x", report={})
    assert not session.versions.filter(origin="run").exists()
    land(second, edits=previewed.preview.edits, status="completed", label="x", report={})
    run.refresh_from_db()
    assert (run.state, run.attempts) == ("completed", 2)


def test_a_cancelled_run_whose_worker_is_gone_ends_cancelled(session: Session) -> None:
    run = runs.request(session.pk, **FOLDS)
    assert progress.claim(run.pk) is not None
    runs.cancel(run.pk)
    age(run, progress.stale_seconds() + 1)
    assert runs.pick_up_stale_runs() == []
    run.refresh_from_db()
    assert (run.state, run.status) == ("cancelled", "interrupted")


def test_a_lost_message_is_sent_again_when_nobody_works(session: Session) -> None:
    run = runs.request(session.pk, **FOLDS)
    assert runs.pick_up_stale_runs() == []
    age(run, progress.stale_seconds() * 4 + 1)
    assert runs.pick_up_stale_runs() == [run.pk]
    assert runs.pick_up_stale_runs() == []  # sent just now
    run.refresh_from_db()
    assert (run.state, run.attempts) == ("queued", 0)


def test_the_heartbeat_is_heard_while_a_phase_is_long(session: Session, settings: Any) -> None:
    settings.RUN_HEARTBEAT_SECONDS = 1
    run = runs.request(session.pk, **FOLDS)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            versions.locked(session.pk)
            working = pool.submit(_execute, run.pk)
            (landing,) = in_threads(lambda: until(run.pk, lambda now: now.phase == "land"))
            assert isinstance(landing, Run)
            heard = landing.heartbeat_at
            assert heard is not None
            (later,) = in_threads(lambda: until(run.pk, lambda now: (now.heartbeat_at or heard) > heard))
            assert isinstance(later, Run), later
        working.result()
    run.refresh_from_db()
    assert run.state == "completed"


# -- a strategy that breaks -----------------------------------------------------------------------------------------


def test_a_strategy_that_breaks_fails_its_run_with_the_reason(session: Session) -> None:
    class Breaks(Idle):
        def plan(self, *args: Any) -> Plan:
            raise ZeroDivisionError("no budget at all")

    head = head_of(session)
    with plugged(Breaks()):
        run = runs.request(session.pk, strategy="idle")
        runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, head_of(session)) == ("failed", head)
    assert "ZeroDivisionError: no budget at all" in run.reason


def test_a_run_of_a_strategy_that_has_changed_since_is_refused(session: Session) -> None:
    run = runs.request(session.pk, **FOLDS)
    Run.objects.filter(pk=run.pk).update(strategy="hybrid:0")
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.version) == ("refused", None)
    assert "asked for hybrid:0" in run.reason


class Idle:
    """A strategy as a third party would bring one, which finds nothing to do."""

    id = "idle"
    version = 1
    label = "Idle"
    about = "Does nothing."
    params: Sequence[Any] = ()
    presets: dict[str, Any] = {}

    def plan(self, *args: Any) -> Plan:
        return Plan("idle:1", status=Status.NOOP_NOTHING_TO_DO, reason="nothing to do")

    def finish(self, plan: Plan, *args: Any) -> Outcome:
        return Outcome((), plan.status, plan.reason)


class plugged:  # noqa: N801 -- reads as a word in `with`
    """The strategy is in the registry for the block, as an installed package's would be."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy

    def __enter__(self) -> None:
        strategies()[self.strategy.id] = self.strategy

    def __exit__(self, *exc: object) -> None:
        del strategies()[self.strategy.id]


def _execute(run_id: int) -> None:
    try:
        runs.execute(run_id)
    finally:
        connection.close()


def _folded(previewed: runs.Previewed) -> Ranges:
    hidden = Ranges()
    for edit in previewed.preview.edits:
        if isinstance(edit, Hide):
            hidden = hidden | edit.ranges
    return hidden - previewed.base.version.hidden
