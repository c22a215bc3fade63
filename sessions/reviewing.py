"""What people say of goals that were given up, kept beside what was found. One set of verbs for pages and the API; every word is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from sessions.models import Event
from sessions.models_goals import Abandonment, Review
from sessions.store import clean
from sessions.versions import Refused

LONGEST = 4_000  # characters of a comment
MOST = 500  # goals reviewed at once
NOBODY = "-"  # as assignee: nobody any more


@transaction.atomic
def correct(pk: int, *, cause: str, by: Any = None) -> Abandonment:
    """Say of which class a reason really is. What was found stays beside it."""
    if cause not in Abandonment.Cause.values:
        known = ", ".join(Abandonment.Cause.values)
        raise Refused(
            "no_such_cause", _("There is no class %(cause)s; there are: %(known)s.") % {"cause": cause, "known": known}
        )
    row = Abandonment.objects.select_for_update().get(pk=pk)
    was = row.cause
    row.cause, row.cause_by_id, row.cause_set_at = cause, getattr(by, "pk", None), timezone.now()
    row.save(update_fields=["cause", "cause_by", "cause_set_at"])
    _event(row, by, "cause_corrected", {"path": row.path, "from": was, "to": cause})
    return row


@transaction.atomic
def review(
    workspace: Any, pks: Sequence[int], *, state: str, comment: str = "", assignee: str = "", by: Any = None
) -> list[Abandonment]:
    """Say of these goals where their review stands; those of which that says something, in their order.

    `comment` goes to the history of each. `assignee`: the name of a member who sees to it; "" leaves it, "-" takes it away. Refused:
    no_such_state, no_such_member, none (no such goal in the workspace), too_many.
    """
    if state not in Abandonment.Review.values:
        known = ", ".join(Abandonment.Review.values)
        raise Refused(
            "no_such_state", _("There is no state %(state)s; there are: %(known)s.") % {"state": state, "known": known}
        )
    if len(pks) > MOST:
        raise Refused("too_many", _("At most %(most)s goals are reviewed at once.") % {"most": MOST})
    words = (clean(comment.strip()) or "")[:LONGEST]
    person = _member(workspace, assignee)
    # In the order of their keys, so that two people who review at once do not wait for each other in a ring.
    rows = list(Abandonment.objects.select_for_update().filter(workspace=workspace, pk__in=pks).order_by("pk"))
    if not rows:
        raise Refused("none", _("None of these goals is in this workspace: choose some."))
    changed: list[Abandonment] = []
    history: list[Review] = []
    for row in rows:
        new = row.assignee_id if not assignee else person
        if row.review == state and row.assignee_id == new and not words:
            continue
        history.append(
            Review(
                abandonment=row,
                before=row.review,
                after=state,
                comment=words,
                assignee_id=new,
                by_id=getattr(by, "pk", None),
            )
        )
        row.review, row.assignee_id = state, new
        changed.append(row)
    Review.objects.bulk_create(history)
    Abandonment.objects.bulk_update(changed, ["review", "assignee"], batch_size=500)
    for row, said in zip(changed, history, strict=True):
        _event(row, by, "goal_reviewed", {"path": row.path, "from": said.before, "to": said.after})
    return changed


def history_of(row: Abandonment) -> list[Review]:
    """All that was said of it, the newest first."""
    return list(row.reviews.select_related("by", "assignee").order_by("-id"))


def members_of(workspace: Any) -> list[str]:
    """The names of those to whom a goal may be given."""
    people = get_user_model().objects.filter(memberships__workspace=workspace, is_active=True)
    return list(people.order_by("username").values_list("username", flat=True))


def _member(workspace: Any, name: str) -> int | None:
    if not name or name == NOBODY:
        return None
    people = get_user_model().objects.filter(memberships__workspace=workspace, is_active=True, username=name)
    found = people.values_list("pk", flat=True).first()
    if found is None:
        raise Refused("no_such_member", _("%(name)s is no member of this workspace.") % {"name": name})
    return int(found)


def _event(row: Abandonment, by: Any, what: str, facts: dict[str, Any]) -> None:
    Event.objects.create(
        workspace_id=row.workspace_id,
        session_id=row.session_id,
        who_id=getattr(by, "pk", None),
        what=what,
        facts=facts,
    )
