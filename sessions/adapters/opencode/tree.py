"""A session of the storage tree: its info, its messages and their parts, each a file of its own.

Ids are those of the paths: projects were named anew without rewriting what lies in them. In the first releases parts lay a folder
deeper, beside `info`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from sessions.adapters.expanding import Folders, Found, Member
from sessions.adapters.opencode import rows


def members(path: PurePath, folders: Folders) -> Iterator[Member]:
    """The session whose info is at `path`."""
    session = path.stem
    if path.parent.name == "info":
        messages, parts = path.parent.parent / "message" / session, path.parent.parent / "part" / session
    else:
        storage = path.parent.parent.parent
        messages, parts = storage / "message" / session, storage / "part"
    said = _records(folders.files(messages))
    inside = {found.name: _records(folders.files(parts / PurePath(found.name).stem)) for found in said}
    own = next((found.stamp for found in folders.files(path.parent) if found.name == path.name), "")
    stamp = [own, *(f.stamp for f in said), *(f.stamp for found in said for f in inside[found.name])]

    def document() -> bytes:
        told: list[tuple[bytes, list[bytes]]] = []
        for found in said:
            name = PurePath(found.name).stem
            body = folders.bytes_of(messages / found.name)
            if body is None:
                continue
            owned = [
                rows.record(part, id=PurePath(f.name).stem, sessionID=session, messageID=name)
                for f in inside[found.name]
                if (part := folders.bytes_of(parts / name / f.name)) is not None
            ]
            told.append((rows.record(body, id=name, sessionID=session), owned))
        head = folders.bytes_of(path)
        return rows.document(rows.record(head or b"{}", id=session), told)

    yield Member("", session, _short(stamp), document)


def _records(found: list[Found]) -> list[Found]:
    return [file for file in found if file.name.endswith(".json") and not file.name.startswith(".")]


def _short(stamps: list[str]) -> str:
    return f"{len(stamps)}.{max(stamps, default='')}.{sum(map(int, stamps)) % (1 << 61)}"
