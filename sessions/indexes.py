"""Databases in which an agent keeps facts of its sessions beside them: what stands only there is laid over the sessions that are here.

Such a file is no source and nothing of it is kept. It is read as it is at one moment, without a lock that the agent would feel
(`expansion.snapshot`), and of its tables only those that the adapter names.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from django.db import transaction

from sessions import goalmarks
from sessions.adapters import adapters
from sessions.adapters.indexed import Indexed, Known
from sessions.entries import GoalItem, GoalStatus
from sessions.expansion import Unreadable, snapshot
from sessions.kinship import link_parents
from sessions.matching import folded
from sessions.models import Session
from sessions.models_goals import GoalMark
from sessions.store import clean, clean_json

FACT = "beside"  # of a session: under which name its facts hold what was told
_LONGEST = 300  # letters of a title
_LAID = ("native_id", "title", "branch", "parent_native_id", "facts")
_DATABASE = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class Index:
    """Such a database, and whose it is."""

    path: Path
    agent: str
    label: str
    adapter: Indexed


def index_at(path: Path) -> Index | None:
    """The database at a path; None for every other file."""
    for adapter in adapters().values():
        if isinstance(adapter, Indexed) and adapter.indexes(PurePath(path)):
            try:
                with path.open("rb") as file:
                    return Index(path, adapter.agent, adapter.label, adapter) if file.read(16) == _DATABASE else None
            except OSError:
                return None
    return None


def tell(workspace: Any, index: Index) -> int:
    """Lay what the database says over the sessions that are here; to how many it was news. Unreadable where it cannot be had now."""
    try:
        with snapshot(index.path, index.adapter.index_tables) as connection:
            known = {clean(name) or "": said for name, said in index.adapter.indexed(connection).items()}
    except sqlite3.Error as error:
        raise Unreadable(f"the database cannot be read: {error}") from error
    here = Session.objects.filter(workspace=workspace, agent=index.agent, superseded_by=None, native_id__in=list(known))
    told: list[Any] = []
    # A database of a thousand threads changes with every turn of one: the others are not locked, nor asked one by one.
    for session in here.only("pk", *_LAID).iterator():
        said = known[session.native_id or ""]
        if said.goal is not None or _changes(session, said):
            told += [session.pk] if _lay(session.pk, index.label, said) else []
    link_parents(workspace, {str(pk) for pk in told})
    return len(told)


@transaction.atomic
def _lay(pk: Any, label: str, known: Known) -> bool:
    """Lay it over one session; whether that changed anything. What the session itself says stays."""
    session = Session.objects.select_for_update(no_key=True).get(pk=pk)
    changed = _changes(session, known)
    if changed:
        Session.objects.filter(pk=pk).update(**changed)
    of_goal = known.goal is not None and _goal(session, label, known.goal)
    return bool(changed) or of_goal


def _changes(session: Session, known: Known) -> dict[str, Any]:
    """What becomes of the session's own row."""
    before = session.facts.get(FACT, {})
    said = {**before, **clean_json(dict(known.facts))}
    changed: dict[str, Any] = {}
    if said != before:
        changed["facts"] = {**session.facts, FACT: said}
    title = clean(known.name[:_LONGEST]) if known.name else None
    if title and title != session.title:
        changed["title"] = title
    if known.branch and session.branch is None:
        changed["branch"] = clean(known.branch)
    if known.parent and session.parent_native_id is None:
        changed |= {"parent_native_id": clean(known.parent), "parent_kind": "subagent"}
    return changed


def _goal(session: Session, label: str, item: GoalItem) -> bool:
    """The goal of the whole session: one that its own records do not state is added, one that is complete there is completed."""
    through = GoalMark.Through.TOOL
    text = goalmarks.worded(item.text)
    known = next((goal for goal in session.goals.all() if folded(goal.text) == folded(text)), None)
    added = known is None and bool(text)
    if added:
        known = goalmarks.add(session.pk, text=text, through=through).goal
    if known is None or item.status is not GoalStatus.COMPLETED or goalmarks.standing(known) in goalmarks.CLOSED:
        return added
    note = f"complete, says {label}" + (f": {item.note}" if item.note else "")
    goalmarks.complete(session.pk, path=known.path, summary=note, through=through)
    return True
