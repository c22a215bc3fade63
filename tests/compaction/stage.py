"""Plain functions that set a stage: a workspace, its people, sessions taken in for real."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models.functions import Now

from compaction import queries
from compaction.models import Run
from sessions.contexts import content_hash
from sessions.ingest import take_file
from sessions.models import Session, Version
from sessions.projection import context_items
from tests.make_session import write_session
from webapp.models import Membership, Role, User, Workspace


def a_workspace(slug: str = "one") -> Workspace:
    return Workspace.objects.create(name=slug.title(), slug=slug)


def member_of(workspace: Workspace, name: str, role: Role) -> User:
    user = User.objects.create_user(name, password="a long pass phrase")
    Membership.objects.create(user=user, workspace=workspace, role=role)
    return user


def taken_in(workspace: Workspace, folder: Path, **size: Any) -> Session:
    """Write a session file of any size and take it in; the file stays, so that it can grow."""
    native = write_session(folder, **size)
    taken = take_file(workspace, folder / f"{native}.jsonl")
    assert taken.outcome in ("added", "grown"), taken
    return Session.objects.get(pk=taken.session)


def grow(session: Session, line: str) -> None:
    """Append a line to the session's file and take it in again."""
    path = Path(session.source.path)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    taken = take_file(session.workspace, path)
    assert taken.outcome == "grown", taken


def everything() -> dict[str, str]:
    """Of every table of the database: how many rows it has and a hash over all of them."""
    with connection.cursor() as cursor:
        out = {}
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(
                f"SELECT count(*) || ' ' || md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {table} t"
            )
            out[table] = cursor.fetchone()[0]
    return out


def context_hash(session: Session) -> str:
    """Of what the model would be sent, item by item, as the agent sends it."""
    return content_hash(context_items(Session.objects.get(pk=session.pk)))


def head_of(session: Session) -> Version | None:
    return Session.objects.get(pk=session.pk).current


def age(run: Run, seconds: int) -> None:
    """Let so much time pass since the run was last heard of."""
    Run.objects.filter(pk=run.pk).update(heartbeat_at=Now() - timedelta(seconds=seconds))


def ended(run_id: int) -> Run:
    """Wait until a run has ended: by its notices, not by the clock."""
    return until(run_id, lambda run: run.state not in Run.LIVE)


def until(run_id: int, holds: Callable[[Run], bool]) -> Run:
    """Wait until something holds of a run. Looks that often are far beyond what any of this takes: only a fault reaches them."""
    for looks, run in enumerate(queries.follow(run_id)):
        if holds(run):
            return run
        assert looks < 300, f"run {run_id} is still {run.state}: {run.log}"
    raise AssertionError(f"run {run_id} ended as {run.state} ({run.status}): {run.reason}")
