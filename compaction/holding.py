"""The verbs on a draft that a run holds: look at it with a person's words and pins, apply it. `runs.cancel` discards it.

Nobody is asked again: the model's texts are those of the draft, and hooks before the compaction were asked when it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from compaction import drafts, runs
from compaction.landing import Stale, check_base
from compaction.models import Run
from compaction.runs import Previewed
from compaction.snapshots import Base, reading
from sessions.collecting import held_back
from sessions.models import Session
from sessions.store import clean
from sessions.versions import Refused, locked


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a person may still change of a draft. None: as it was when it was written."""

    edited_summary: str | None = None
    pins: frozenset[int] | None = None
    without: frozenset[str] | None = None

    @classmethod
    def of(
        cls,
        *,
        edited_summary: str | None = None,
        pins: Iterable[int] | None = None,
        without: Iterable[str] | None = None,
    ) -> Wishes:
        return cls(
            clean(edited_summary),
            None if pins is None else frozenset(pins),
            None if without is None else frozenset(clean(path) or "" for path in without),
        )


def preview_draft(run: Run, wishes: Wishes | None = None) -> Previewed:
    """What applying the draft of `run` would do now. Writes nothing, asks nobody.

    Refused (not_held) where there is no draft to apply, (stale) where the context is no longer the one it was written for; a draft that does
    not cover what would be folded with other pins is no error but says so in its status.
    """
    check_held(run)
    choice = runs.choice_of(run)
    wishes = wishes or Wishes()
    draft: Mapping[str, Any] = run.draft or {}
    if wishes.edited_summary is not None and not wishes.edited_summary.strip():
        raise Refused("bad_summary", "The edited summary is empty. Write something, or leave it as the model wrote it.")
    choice = replace(
        choice,
        edited_summary=drafts.with_list(draft, wishes.edited_summary),
        pins=choice.pins if wishes.pins is None else wishes.pins,
        without=choice.without if wishes.without is None else wishes.without,
    )
    with reading(), held_back():
        session = Session.objects.select_related("head", "native_head").get(pk=run.session_id)
        try:
            check_base(run, session)
        except Stale as stale:
            raise Refused("stale", str(stale)) from stale
        base = Base(run.base, run.last_seq, run.base_hash)
        return Previewed(session, base, choice, runs.again(session, base, choice, draft))


@transaction.atomic
def apply(run_id: int, wishes: Wishes | None = None, *, plan_digest: str | None = None) -> Run:
    """Queue a held run again, to land its draft with what a person changed. Send it with `tasks.start(run)`.

    `plan_digest`: of the preview that was looked at. Refused as `preview_draft`, (run_is_live) while another run of the session is live,
    (would_not_land) where the new context would not hold. Takes the session's lock.
    """
    found = Run.objects.filter(pk=run_id).values_list("session_id", flat=True).first()
    if found is None:
        raise Refused("no_such_run", f"There is no run {run_id}.")
    session = locked(found)
    run = Run.objects.select_for_update(of=("self",)).select_related("session", "base").get(pk=run_id)
    live = Run.objects.filter(session=session, state__in=Run.LIVE).exclude(pk=run.pk).first()
    if live is not None:
        raise Refused("run_is_live", f"Run {live.pk} of this session is still {live.state}. Wait for it, or cancel it.")
    seen = preview_draft(run, wishes)
    if plan_digest is not None and plan_digest != seen.preview.digest:
        raise Refused("stale", "The plan is no longer the one previewed. The head stays; look at the draft again.")
    if not seen.preview.lands:
        raise Refused("would_not_land", seen.preview.reason or f"It would not land: {seen.preview.status}.")
    Run.objects.filter(pk=run.pk).update(
        state=Run.State.QUEUED,
        phase=Run.State.QUEUED,
        status=None,
        reason="",
        edited_summary=seen.choice.edited_summary,
        pins=sorted(seen.choice.pins),
        without=sorted(seen.choice.without),
        plan_digest=seen.preview.digest,
        draft={**(run.draft or {}), "log": [*(run.draft or {}).get("log", []), *run.log]},
        log=[],
        started_at=None,
        ended_at=None,
        heartbeat_at=Now(),
    )
    run.refresh_from_db()
    return run


def check_held(run: Run) -> None:
    """Refuse (not_held) a run whose draft cannot be applied, with the reason."""
    if run.state in Run.LIVE:
        raise Refused("not_held", f"Run {run.pk} is still {run.state}: its draft is not there yet.")
    if run.draft is None:
        raise Refused("not_held", f"Run {run.pk} holds no draft: it is {run.state}. {run.reason}".strip())
    if run.state not in Run.DRAFTED:
        raise Refused("not_held", f"The draft of run {run.pk} cannot be applied any more: it is {run.state}.")
