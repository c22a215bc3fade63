"""What agents keep beside the sessions and not in them: the folder one is about, the names that people gave. Only of files on this machine."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any, Protocol

from sessions.adapters import adapters, by_agent
from sessions.adapters.base import Beside, Naming, Typed
from sessions.models import Session
from sessions.store import clean

_MOST = 4096  # bytes of a file that names a folder: the longest path
_NAMES = 64 << 20  # bytes of a file of names that are read
_LONGEST = 300  # letters of a title


class _Taken(Protocol):
    agent: str | None
    session: str | None
    reason: str


def name_place(taken: _Taken, path: Path) -> None:
    """Fill in the folder of a session whose own records do not name it."""
    if taken.agent is None or taken.session is None:
        return
    adapter = by_agent(taken.agent)
    near = adapter.place_file(PurePath(path.resolve())) if isinstance(adapter, Beside) else None
    folder = None if near is None else _first_line(Path(near))
    if folder is not None:
        nameless = Session.objects.filter(pk=taken.session, cwd=None)
        nameless.update(cwd=folder, project=clean(PurePath(folder).name) or None)


def of_many(path: Path) -> bool:
    """Whether the file says, by its name, something of many sessions: these are better here before it is read."""
    name = PurePath(path)
    return any(
        (isinstance(adapter, Naming) and adapter.names(name)) or (isinstance(adapter, Typed) and adapter.typed(name))
        for adapter in adapters().values()
    )


def name_sessions(workspace: Any, taken: _Taken, path: Path) -> None:
    """Where the file is one of names, give them to the sessions that are here; a name given last holds."""
    adapter: object = None if taken.agent is None else by_agent(taken.agent)
    if not isinstance(adapter, Naming) or not adapter.names(PurePath(path)):
        return
    with path.open("rb") as file:
        names = adapter.named(file.read(_NAMES))
    here = Session.objects.filter(workspace=workspace, agent=taken.agent, superseded_by=None, native_id__in=list(names))
    told = 0
    for session in here.only("pk", "native_id", "title"):
        title = clean(names[session.native_id or ""][:_LONGEST])
        if title and title != session.title:
            told += Session.objects.filter(pk=session.pk).update(title=title)
    if told:
        taken.reason = f"{taken.reason}: {told} of the sessions here got theirs"


def tell_commands(workspace: Any, taken: _Taken, path: Path) -> None:
    """Where the file has what people typed, say of sessions here which commands left no version in them."""
    adapter: object = None if taken.agent is None else by_agent(taken.agent)
    if not isinstance(adapter, Typed) or not adapter.typed(PurePath(path)):
        return
    with path.open("rb") as file:
        commands = adapter.commands(file.read(_NAMES))
    here = Session.objects.filter(
        workspace=workspace, agent=taken.agent, superseded_by=None, native_id__in=list(commands)
    )
    for session in here:
        made = set(session.versions.filter(origin="native").values_list("kind", flat=True))
        told = [
            f"a {kind} was asked for at {at:%Y-%m-%d %H:%M} UTC; the file has no trace of one, and goes on as it was"
            for kind, at in commands[session.native_id or ""]
            if kind not in made and session.started_at is not None and session.started_at <= at
        ]
        problems = list(dict.fromkeys([*session.problems, *told]))
        if problems != session.problems:
            Session.objects.filter(pk=session.pk).update(problems=problems)


def _first_line(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _MOST:
            return None
        words = path.read_text("utf-8", "replace").strip().split("\n")[0].strip()
    except OSError:
        return None
    return clean(words) or None
