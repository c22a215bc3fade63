"""The draft of a model on the compact page: being written, held, or not to be had; and what it cost."""

from __future__ import annotations

import json

from django.utils import timezone
from django.utils.translation import gettext as _

from compaction import accounts, telling
from compaction.forms import Choosing
from compaction.holding import Wishes
from compaction.models import Run
from compaction.queries import run_in
from compaction.shown import Cost, Draft, Page, Refusal
from compaction.telling import sentence
from sessions.models import Session


def run_of(session: Session, choosing: Choosing) -> Run | None:
    """The run whose draft a form or an address names; None where it is no such run of this session."""
    if choosing.held is None:
        return None
    try:
        run = run_in(session.workspace_id, choosing.held)
    except Run.DoesNotExist:
        return None
    return run if run.hold and run.session_id == session.pk else None


def applies(run: Run) -> bool:
    """Whether it holds a text that can be applied."""
    return run.draft is not None and run.state in Run.DRAFTED


def fits(run: Run, choosing: Choosing) -> bool:
    """Whether a draft was written for what is chosen: pins, files and words may be others, nothing else."""
    name = run.strategy.partition(":")[0]
    same = json.dumps(run.params, sort_keys=True) == json.dumps(choosing.params, sort_keys=True)
    by = (run.summariser, run.model) == (choosing.summariser, choosing.model)
    asked = (run.critique, run.instructions) == (choosing.critique, choosing.instructions)
    return name == choosing.strategy.id and same and by and asked


def wishes(choosing: Choosing) -> Wishes:
    """What the page lets a person change of a draft."""
    return Wishes.of(edited_summary=choosing.edited_summary, pins=choosing.pins, without=choosing.without)


def draft_of(run: Run, *, held: bool = False) -> Draft:
    account = accounts.of(run)
    return Draft(run, telling.tell(run, timezone.now()), account, run.model or "", run.state in Run.LIVE, held)


def put_in(page: Page, run: Run) -> None:
    """Say on the page of a preview that its summary is the draft of `run`, and what that took instead of what it would take."""
    draft = draft_of(run, held=True)
    page.draft = draft
    calls, tokens, money = (*draft.account.parts, "", "", "")[:3]
    page.price = money or _("price not known")
    if page.cost and calls:
        words = _("Written by {model}, {calls}").format(model=draft.model, calls=calls)
        page.cost[:1] = [Cost(words, tokens), Cost(_("What that cost"), page.price)]


def not_written(run: Run) -> Refusal:
    """Why there is no draft, where the person stands who asked for it."""
    if run.state == Run.State.CANCELLED:
        title = _("The draft was given up")
    else:
        title = _("There is no draft: {status}").format(status=(run.status or run.state).replace("_", " "))
    unchanged = _("Nothing was written; the head is {head}, as it was. The extractive text stands below.")
    return Refusal(title, sentence(run.reason), unchanged.format(head=run.session.current))
