"""The verbs on runs: preview, request, execute, cancel, pick up what a dead worker left.

A preview writes nothing. A run goes queued → running → completed, refused, failed or cancelled; only a completed one moved the head.
One that is to be held goes queued → running → held, and applied (`compaction.holding`) queued → running → completed.
Nothing here sends a message: `compaction.tasks` does, after the commit. Locks are taken in one order: session, then run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import Error, IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from compaction import drafts, progress, session_memory
from compaction.budget import meter_for
from compaction.choosing import SUMMARISERS, Choice, choose
from compaction.hooks import consulting
from compaction.landing import Stale, append, check_base, land, look_at_head
from compaction.models import Rule, Run
from compaction.pickup import pick_up_stale_runs
from compaction.plan import Budget, Snapshot, Status
from compaction.preview import Preview, Writer, preview
from compaction.progress import CancelAsked, Claim, Lost
from compaction.snapshots import Base, base_of, budget_of, pins_of, reading, snapshot_of
from compaction.summarisers.asking import Asker
from compaction.summarisers.configured import fallback
from compaction.summarisers.writers import by_model, foretelling
from sessions.collecting import held_back
from sessions.limits import overrides_of
from sessions.models import Session
from sessions.store import clean
from sessions.versions import Refused, locked

__all__ = [
    "SUMMARISERS",
    "Choice",
    "Previewed",
    "again",
    "cancel",
    "choice_of",
    "choose",
    "execute",
    "fail",
    "pick_up_stale_runs",
    "preview_run",
    "request",
    "same_base",
]

logger = logging.getLogger(__name__)

REFUSED_AS_FAILED = (Status.FAILED_PROVIDER, Status.FAILED_TOKEN_COUNT)
"""Outcomes that are nobody's refusal but a failure of what the run needed."""


@dataclass(frozen=True, slots=True)
class Previewed:
    """A plan and all it leads to, with the base it was made on. `preview.digest` names it: a run with that digest does just this."""

    session: Session
    base: Base
    choice: Choice
    preview: Preview


def preview_run(
    session: Session,
    *,
    strategy: str,
    params: Mapping[str, Any] | None = None,
    summariser: str = "extractive",
    instructions: str = "",
    pins: Iterable[int] = (),
    without: Iterable[str] = (),
    edited_summary: str | None = None,
    model: str | None = None,
    critique: bool = False,
    extractive_allowed: bool = False,
) -> Previewed:
    """What a run asked for now would do to the context in force. Writes nothing: the transaction is read-only. No model is asked: where
    one would write the summary, the extractive text stands in its place, and the answer says what the model would take.

    Raises Refused for a choice that cannot be made or a session without entries; a plan that could not land is no error but says so
    in its status.
    """
    choice = choose(
        strategy=strategy,
        params=params,
        summariser=summariser,
        instructions=instructions,
        pins=pins,
        without=without,
        edited_summary=edited_summary,
        model=model,
        critique=critique,
        extractive_allowed=extractive_allowed,
    )
    with reading(), held_back():
        session = Session.objects.select_related("head", "native_head").get(pk=session.pk)
        base = base_of(session)
        _check_pins(base, choice)
        return Previewed(session, base, choice, _previewed(session, base, choice).preview)


@transaction.atomic
def request(
    session_id: UUID,
    *,
    strategy: str,
    params: Mapping[str, Any] | None = None,
    summariser: str = "extractive",
    instructions: str = "",
    pins: Iterable[int] = (),
    without: Iterable[str] = (),
    edited_summary: str | None = None,
    model: str | None = None,
    critique: bool = False,
    extractive_allowed: bool = False,
    by: Any = None,
    expected_hash: str | None = None,
    plan_digest: str | None = None,
    rule: Rule | None = None,
    hold: bool = False,
) -> Run:
    """Store a run that starts from the context in force. Send it with `tasks.start(run)`.

    `expected_hash`: the base of the preview that was looked at; `plan_digest`: its plan, which the run will not depart from. `rule`: the one
    that asks in a person's place. `hold`: it ends before it lands, for a person to look at what the model wrote; an older draft of the
    session is discarded. Refused (no_model) where that is asked of a run that no model writes for,
    (run_is_live) while another run of the session is queued or running, (stale) where the context is no longer that of
    `expected_hash`, and for a choice that cannot be made. Takes the session's lock.
    """
    choice = choose(
        strategy=strategy,
        params=params,
        summariser=summariser,
        instructions=instructions,
        pins=pins,
        without=without,
        edited_summary=edited_summary,
        model=model,
        critique=critique,
        extractive_allowed=extractive_allowed,
    )
    session = locked(session_id)
    live = Run.objects.filter(session=session, state__in=Run.LIVE).first()
    if live is not None:
        raise Refused("run_is_live", f"Run {live.pk} of this session is still {live.state}. Wait for it, or cancel it.")
    if hold and (choice.model is None or choice.edited_summary is not None):
        raise Refused("no_model", "A draft is what a model writes: choose a model, or apply the summary as it stands.")
    base = base_of(session)
    _check_pins(base, choice)
    same_base(base, expected_hash)
    if hold:
        older = Run.objects.filter(session=session, state=Run.State.HELD)
        older.update(
            state=Run.State.CANCELLED, phase=Run.State.CANCELLED, reason="Discarded: another draft was asked for."
        )
    try:
        with transaction.atomic():
            return Run.objects.create(
                workspace_id=session.workspace_id,
                session=session,
                base=base.version,
                base_hash=base.content_hash,
                last_seq=base.last_seq,
                strategy=choice.name,
                params=dict(choice.params),
                summariser=choice.summariser,
                model=None if choice.model is None else choice.model.name,
                critique=choice.critique,
                extractive_allowed=choice.extractive_allowed,
                trigger="manual" if rule is None else "automatic",
                rule=rule,
                instructions=choice.instructions,
                edited_summary=choice.edited_summary,
                pins=sorted(choice.pins),
                without=sorted(choice.without),
                plan_digest=clean(plan_digest),
                hold=hold,
                meter=meter_for(session.agent, session.agent_version).id,
                by=by,
                heartbeat_at=Now(),
            )
    except IntegrityError as error:
        # The constraint holds where the lock does not: a second door, never expected to be tried.
        raise Refused("run_is_live", "Another run of this session is queued or running.") from error


def execute(run_id: int, *, limits: tuple[type[Exception], ...] = ()) -> None:
    """Carry a queued run out, to its end. Does nothing where another worker has it or it has ended. `limits`: what the worker raises in
    here where the run takes too long.

    Errors of the database come through and leave the run to `pick_up_stale_runs`; every other error ends it as failed.
    """
    held = progress.claim(run_id)
    if held is None:
        logger.info("run %s: nothing to do, it is not queued", run_id)
        return
    with progress.heartbeat(held):
        try:
            _carry_out(held, limits)
        except Lost:
            logger.warning("run %s: attempt %s is no longer wanted", run_id, held.attempt)
        except CancelAsked:
            held.end(Run.State.CANCELLED, status=Status.INTERRUPTED, reason="Cancelled; the head stays where it was.")


def cancel(run_id: int) -> Run:
    """Ask a run to stop: one that is queued ends now, one that is running before its next phase; a draft that is held is discarded. Refused
    where it has ended, and where the head has moved already.
    """
    reason = "Cancelled before it started; the head stays where it was."
    discarded = Run.objects.filter(pk=run_id, state=Run.State.HELD).update(
        state=Run.State.CANCELLED,
        phase=Run.State.CANCELLED,
        status=Status.INTERRUPTED,
        reason="The draft was discarded; the head stays where it was.",
        cancel_asked=True,
    )
    gone = discarded or Run.objects.filter(pk=run_id, state=Run.State.QUEUED).update(
        state=Run.State.CANCELLED,
        phase=Run.State.CANCELLED,
        status=Status.INTERRUPTED,
        reason=reason,
        cancel_asked=True,
        ended_at=Now(),
    )
    running = Run.objects.filter(pk=run_id, state=Run.State.RUNNING, version=None)
    if not gone and not running.update(cancel_asked=True):
        run = Run.objects.get(pk=run_id)
        if run.state == Run.State.RUNNING:
            raise Refused(
                "run_has_ended", f"Run {run.pk} has moved the head already. Undo brings back what was before."
            )
        raise Refused("run_has_ended", f"Run {run.pk} has ended already: {run.state}.")
    progress.tell(run_id)
    return Run.objects.get(pk=run_id)


def fail(run_id: int, *, reason: str) -> bool:
    """End a run that nobody works on as failed; False where somebody does or it has ended. A draft that was to be applied is held again."""
    waiting = Run.objects.filter(pk=run_id, state=Run.State.QUEUED)
    held = waiting.filter(draft__isnull=False).update(
        state=Run.State.HELD, phase=Run.State.HELD, reason=reason, ended_at=Now()
    )
    ended = held or waiting.update(
        state=Run.State.FAILED, phase=Run.State.FAILED, status=Status.INTERRUPTED, reason=reason, ended_at=Now()
    )
    progress.tell(run_id)
    return ended == 1


def same_base(base: Base, expected_hash: str | None) -> None:
    """Refuse (stale) where the context is no longer the one that was looked at; None: nobody says which that was."""
    if expected_hash is not None and expected_hash != base.content_hash:
        raise Refused("stale", "The context has moved on since the preview; the head stays where it is. Preview again.")


def _check_pins(base: Base, choice: Choice) -> None:
    """Refuse a pin of an entry that is not there: it would protect nothing and say it does."""
    wrong = sorted(seq for seq in choice.pins if not 0 <= seq <= base.last_seq)
    if wrong:
        raise Refused("no_such_entry", f"This session has entries 0 to {base.last_seq}; {wrong[0]} is none of them.")


def _silent(phase: str, words: str) -> None:
    """A preview has nobody to tell its progress to."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A preview with what it was made from."""

    preview: Preview
    snapshot: Snapshot
    budget: Budget


def _previewed(
    session: Session,
    base: Base,
    choice: Choice,
    told: Callable[[str, str], None] = _silent,
    *,
    writer: Writer | None = None,
    remembered_by: datetime | None = None,
) -> _Seen:
    """The one function behind preview and run: the same values in, the same plan out. Without a writer no model is asked."""
    told("snapshot", f"reading the context of v{base.version.n} up to entry {base.last_seq}")
    pins = pins_of(session, choice.pins)
    snapshot, budget = snapshot_of(session, base, pins=pins, remembered_by=remembered_by), budget_of(session)
    if choice.model is not None and writer is None:
        writer = foretelling(choice.model, overrides_of(session.workspace_id), critique=choice.critique)
    made = preview(
        choice.strategy,
        snapshot,
        budget,
        choice.params,
        pins=pins,
        without=choice.without,
        edited_summary=choice.edited_summary,
        instructions=choice.instructions,
        told=told,
        summariser=choice.asked,
        writer=writer,
    )
    return _Seen(made, snapshot, budget)


def again(session: Session, base: Base, choice: Choice, draft: Mapping[str, Any]) -> Preview:
    """The preview of a draft: its texts in the places of the model's, its memory in the place of today's."""
    at = drafts.made_at(draft)
    return _previewed(session, base, choice, writer=drafts.replaying(draft), remembered_by=at).preview


@dataclass(slots=True)
class _Course:
    """A run as it is carried out. `result`: what is known of its outcome so far, for however it ends."""

    held: Claim
    session: Session
    base: Base
    choice: Choice
    asked: consulting.Consulting
    result: Preview | None = None
    seen: _Seen | None = None
    draft: dict[str, Any] | None = None

    def by_draft(self, draft: Mapping[str, Any]) -> None:
        """Hooks and model were asked when the draft was written; what a person saw of it is what is done."""
        writer, at = drafts.replaying(draft), drafts.made_at(draft)
        self.seen = _previewed(self.session, self.base, self.choice, self.held.note, writer=writer, remembered_by=at)
        self.result = self.seen.preview
        _check_digest(self.held.run, self.result)

    def anew(self) -> None:
        """Ask the hooks, then plan, and have the summary written. `seen` stays None where nothing would come of it. Raises Blocked."""
        held, run = self.held, self.held.run
        session_memory.before_run(
            self.session, run.last_seq, lambda words: held.note("memory", words), watch=held.wanted
        )
        # What was previewed was made with the memory of then; what is asked for without a preview takes the newest.
        then = run.asked_at if run.plan_digest is not None else timezone.now() if run.hold else None
        if self.choice.model is not None or self.asked.before:
            # Nobody is asked about a plan that is no longer the one previewed, or that would not land.
            held.note("compare", "making the plan again, to ask about the one that was previewed")
            self.result = _previewed(self.session, self.base, self.choice, remembered_by=then).preview
            _check_digest(run, self.result)
            if not self.result.lands:
                return
            self.choice = self.asked.ask_before(self.choice, self.result)
        written = _recorder(held, self.session, self.choice)
        writer = None if written is None else written.write
        self.seen = _previewed(self.session, self.base, self.choice, held.note, writer=writer, remembered_by=then)
        self.result = self.seen.preview
        if not self.asked.changed:
            _check_digest(run, self.result)
        if run.hold and written is not None and then is not None:
            self.draft = written.to_json(then)

    def finish(self) -> None:
        """Hold, land or refuse what came of it."""
        assert self.result is not None
        held, result, label = self.held, self.result, self.choice.strategy.label
        more: dict[str, Any] = {} if self.draft is None else {"draft": self.draft, "pins": sorted(self.choice.pins)}
        if self.seen is None or not result.lands:
            _end_without(held, result, **more)
            return
        if self.draft is not None:
            held.end(Run.State.HELD, status=None, **more, **_figures(result))
            return
        held.note("land", "writing the version and moving the head")
        waits = bool(self.asked.after)
        land(held, edits=result.edits, status=result.status, label=label, open_end=waits, **_figures(result))
        if waits:
            _announce(held, self.asked, self.seen, label)


def _carry_out(held: Claim, limits: tuple[type[Exception], ...]) -> None:
    run = held.run
    course: _Course | None = None
    try:
        choice = choice_of(run)
        with reading():
            session = Session.objects.select_related("head", "native_head").get(pk=run.session_id)
            check_base(run, session)
        base = Base(run.base, run.last_seq, run.base_hash)
        course = _Course(held, session, base, choice, consulting.Consulting(held, session, choice))
        if run.draft is not None:
            course.by_draft(run.draft)
        else:
            course.anew()
        course.finish()
    except Refused as refusal:
        held.end(Run.State.REFUSED, status=None, reason=str(refusal))
    except consulting.Blocked as blocked:
        held.end(Run.State.REFUSED, status=Status.BLOCKED_BY_HOOK, reason=str(blocked), **_known(course))
    except Stale as stale:
        held.end(Run.State.REFUSED, status=Status.STALE, reason=str(stale), **_known(course))
    except limits:
        limit = settings.RUN_SOFT_LIMIT
        reason = f"It took longer than the {limit:,} seconds a run may take; the head stays where it was."
        held.end(Run.State.FAILED, status=Status.INTERRUPTED, reason=reason)
    except (Lost, CancelAsked, Error):
        raise
    except Exception as error:
        logger.exception("run %s broke off", run.pk)
        held.end(
            Run.State.FAILED,
            status=None,
            reason=clean(f"The run broke off ({type(error).__name__}: {error}); the head stays where it was.") or "",
        )


def _announce(held: Claim, asked: consulting.Consulting, seen: _Seen, label: str) -> None:
    """Tell the hooks of a run that has landed, append what they say, and end it. Whatever goes wrong in here, it has landed."""
    result = seen.preview
    try:
        longer = asked.ask_after(result, seen.snapshot, seen.budget)
        if longer is not result and not append(held, edits=longer.edits, label=label, **_figures(longer)):
            asked.not_appended("the head has moved on since the run landed")
    except (Lost, Error):
        raise
    except Exception as error:
        logger.exception("run %s: its hooks could not be told", held.run.pk)
        held.end(
            Run.State.COMPLETED, status=result.status, reason=f"Its hooks were not all told ({type(error).__name__})."
        )
        return
    held.end(Run.State.COMPLETED, status=result.status)


def _check_digest(run: Run, result: Preview) -> None:
    if run.plan_digest is not None and run.plan_digest != result.digest:
        raise Stale("The plan is no longer the one previewed. The head stays; preview again.")


def _end_without(held: Claim, result: Preview, **more: Any) -> None:
    """End a run whose plan does not land. `more`: the draft of it, where there is one that a person may mend."""
    failed = result.status in REFUSED_AS_FAILED
    held.end(
        Run.State.FAILED if failed else Run.State.REFUSED,
        status=result.status,
        reason=result.reason,
        **_figures(result),
        **more,
    )


def _recorder(held: Claim, session: Session, choice: Choice) -> drafts.Recorder | None:
    if choice.model is None:
        return None
    second = fallback(choice.model)

    def watch() -> None:
        held.wanted()
        look_at_head(held.run)

    asker = Asker(
        run_id=held.run.pk,
        models=[choice.model] if second is None else [choice.model, second],
        overrides=overrides_of(session.workspace_id),
        watch=watch,
        told=lambda words: held.note("summary", words),
    )
    writer = by_model(asker, critique=choice.critique, extractive_allowed=choice.extractive_allowed)
    return drafts.Recorder(writer)


def choice_of(run: Run) -> Choice:
    """What was asked for. Refused where the strategy has changed since: its plan would be another."""
    name, _, version = run.strategy.partition(":")
    choice = choose(
        strategy=name,
        params=run.params,
        summariser=run.summariser,
        instructions=run.instructions,
        pins=run.pins,
        without=run.without,
        edited_summary=run.edited_summary,
        model=run.model,
        critique=run.critique,
        extractive_allowed=run.extractive_allowed,
    )
    if str(choice.strategy.version) != version:
        raise Refused(
            "strategy_changed", f"The run asked for {run.strategy}; this worker has {choice.name}. Ask for it again."
        )
    return choice


def _known(course: _Course | None) -> dict[str, Any]:
    return {} if course is None or course.result is None else _figures(course.result)


def _figures(result: Preview) -> dict[str, Any]:
    """What a run's row says of its preview, also where it was refused."""
    return {
        "plan_digest": result.digest,
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "report": result.to_json(),
    }
