"""Plain functions that set a stage: a workspace, its people, sessions taken in for real."""

from pathlib import Path
from typing import Any

from sessions.ingest import take_file
from sessions.models import Session
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
