"""The folder a session is about, from a small file that its agent keeps near the source. Only of files on this machine."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Protocol

from sessions.adapters import by_agent
from sessions.adapters.base import Beside
from sessions.models import Session
from sessions.store import clean

_MOST = 4096  # bytes of such a file: the longest path of a folder


class _Taken(Protocol):
    agent: str | None
    session: str | None


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


def _first_line(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _MOST:
            return None
        words = path.read_text("utf-8", "replace").strip().split("\n")[0].strip()
    except OSError:
        return None
    return clean(words) or None
