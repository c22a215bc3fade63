"""The verbs on a project's memory: proposed from a session, taken over, worded anew or turned down by a person.

What was turned down stays as a row, so that it is not proposed again. Nothing that nobody accepted reaches a context.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now

from compaction.models_memory import ProjectNote
from compaction.notes.proposals import digest_of, propose
from compaction.plan import Learned
from compaction.summary.events import read
from sessions.contexts import Item
from sessions.models import Entry, Session
from sessions.store import ITEM_COLUMNS, clean, item_of
from sessions.versions import Refused

MOST = 500  # notes of a list
LONGEST = 1_000  # characters of a person's wording
EVIDENCE = 12  # sessions that a note names


@transaction.atomic
def propose_from(session: Session) -> list[ProjectNote]:
    """Propose what a session taught, for its project; the new rows. What is known already, in whatever state, gains evidence and no more.

    Twice from the same session is the same as once.
    """
    new: list[ProjectNote] = []
    for one in propose(read(_spoken(session))):
        text = clean(one.text) or ""
        row, made = ProjectNote.objects.get_or_create(
            workspace_id=session.workspace_id,
            project=session.project or "",
            kind=one.kind,
            digest=one.digest,
            defaults={"text": text, "evidence": [[str(session.pk), list(one.seqs)]]},
        )
        if made:
            new.append(row)
        elif all(known[0] != str(session.pk) for known in row.evidence):
            row.evidence = [*row.evidence, [str(session.pk), list(one.seqs)]][-EVIDENCE:]
            row.times += 1
            row.save(update_fields=["evidence", "times"])
    return new


def _spoken(session: Session) -> Iterator[Item]:
    """What people and the assistant said; no tool's output is read for what it might teach."""
    rows = Entry.objects.filter(session=session, sent=True, lane="", kind__in=("prompt", "message")).order_by("seq")
    return (item_of(row) for row in rows.values_list(*ITEM_COLUMNS, named=True).iterator(chunk_size=2000))


def notes_in(workspace: Any, *, project: str | None = None, state: str | None = None) -> QuerySet[ProjectNote]:
    """Notes of a workspace, those still to be decided first; of one project and in one state where that is said."""
    found = ProjectNote.objects.filter(workspace=workspace).select_related("by")
    if project is not None:
        found = found.filter(project=project)
    if state is not None:
        found = found.filter(state=state)
    return found.order_by("-state", "kind", "-times", "-pk")


def projects_in(workspace: Any) -> list[tuple[str, int]]:
    """Projects with notes, each with how many are still to be decided."""
    rows = (
        ProjectNote.objects.filter(workspace=workspace)
        .values_list("project")
        .annotate(n=Count("pk"))
        .order_by("project")
    )
    waiting = dict(
        ProjectNote.objects.filter(workspace=workspace, state=ProjectNote.State.PROPOSED)
        .values_list("project")
        .annotate(n=Count("pk"))
        .order_by()
    )
    return [(project, waiting.get(project, 0)) for project, _ in rows]


def decide(workspace: Any, note_id: int, what: str, *, wording: str | None = None, by: Any = None) -> ProjectNote:
    """Accept or reject a note, or (`reopen`) leave it open again. `wording`: a person's words in the place of those proposed, with accept.

    Refused (no_such_note, usage).
    """
    states = {
        "accept": ProjectNote.State.ACCEPTED,
        "reject": ProjectNote.State.REJECTED,
        "reopen": ProjectNote.State.PROPOSED,
    }
    if what not in states:
        raise Refused("usage", f"A note can be accepted, rejected or reopened, not {what!r}.")
    words = None if wording is None else " ".join((clean(wording) or "").split())
    if words == "" or (words is not None and len(words) > LONGEST):
        raise Refused("usage", f"The wording has between 1 and {LONGEST:,} characters.")
    with transaction.atomic():
        row = ProjectNote.objects.select_for_update().filter(workspace=workspace, pk=note_id).first()
        if row is None:
            raise Refused("no_such_note", f"There is no note {note_id} in this workspace.")
        row.state = states[what]
        if words is not None and what == "accept":
            row.wording = "" if words == row.text else words
        row.by = by if getattr(by, "pk", None) is not None else None
        row.save(update_fields=["state", "wording", "by"])
        ProjectNote.objects.filter(pk=row.pk).update(decided_at=None if what == "reopen" else Now())
    return row


def add(workspace: Any, *, project: str, kind: str, text: str, by: Any = None) -> ProjectNote:
    """A person's own note, accepted with that. Refused (usage) for a kind that there is not, or without words."""
    words = " ".join((clean(text) or "").split())
    if kind not in ProjectNote.Kind.values or not 1 <= len(words) <= LONGEST:
        kinds = ", ".join(ProjectNote.Kind.values)
        raise Refused("usage", f"A note is of one of the kinds {kinds}, and has between 1 and {LONGEST:,} characters.")
    row, _ = ProjectNote.objects.update_or_create(
        workspace=workspace,
        project=clean(project) or "",
        kind=kind,
        digest=digest_of(words),
        defaults={"state": ProjectNote.State.ACCEPTED, "by": by if getattr(by, "pk", None) is not None else None},
        create_defaults={
            "state": ProjectNote.State.ACCEPTED,
            "text": words,
            "by": by if getattr(by, "pk", None) is not None else None,
        },
    )
    return row


def accepted(session: Session) -> list[Learned]:
    """What holds for a session: what a person accepted for its project, and for all of the workspace."""
    found = ProjectNote.objects.filter(
        workspace_id=session.workspace_id, project__in={session.project or "", ""}, state=ProjectNote.State.ACCEPTED
    ).order_by("-times", "pk")
    return [Learned(row.kind, row.words) for row in found[:MOST]]


def note_json(row: ProjectNote) -> dict[str, Any]:
    return {
        "id": row.pk,
        "project": row.project,
        "kind": row.kind,
        "state": row.state,
        "text": row.words,
        "proposed": row.text,
        "times": row.times,
        "evidence": [{"session": session, "seqs": seqs} for session, seqs in row.evidence],
        "by": None if row.by is None else row.by.get_username(),
        "proposed_at": None if row.proposed_at is None else row.proposed_at.isoformat(),
    }
