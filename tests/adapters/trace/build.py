"""Builds a trace's log and the two files beside it."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any

from sessions.adapters.expanding import Found
from sessions.adapters.trace import ADAPTER
from sessions.assembly import Reading, read_whole

FOLDER = PurePath("/home/me/.trace/t-1")
LOG = FOLDER / "messages.jsonl"


class Log:
    """Messages one after another, numbered and timed."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def add(self, role: str, content: Any = None, goal: str | None = None, **more: Any) -> str:
        n = len(self.lines)
        line = {
            "id": f"m{n}",
            "seq": n,
            "ts": f"2026-02-01T10:{n // 60:02}:{n % 60:02}Z",
            "goal_id": goal,
            "role": role,
        }
        self.lines.append({**line, **({} if content is None else {"content": content}), **more})
        return str(self.lines[-1]["id"])

    def control(self, op: str, *ids: str) -> None:
        self.lines.append({"op": op, "ids": list(ids), "ts": "2026-02-01T11:00:00Z"})

    def data(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)

    def read(self, **beside: Any) -> Reading:
        """Alone, or as the document of its folder where `goals` or `meta` stand beside it."""
        files = {"goal.json": beside.get("goals"), "meta.json": beside.get("meta")}
        if not any(files.values()):
            return read_whole(ADAPTER, LOG, [(self.data(), False)])
        kept = {FOLDER / name: json.dumps(said).encode() for name, said in files.items() if said is not None}
        (member,) = ADAPTER.of_folder(LOG, Folder({LOG: self.data(), **kept}))
        return read_whole(ADAPTER, LOG, [(member.document(), False)])


class Folder:
    """The files of a folder, as an adapter may ask for them."""

    def __init__(self, files: dict[PurePath, bytes]) -> None:
        self.kept = files

    def files(self, folder: PurePath) -> list[Found]:
        return [Found(path.name, f"{len(body)}") for path, body in sorted(self.kept.items()) if path.parent == folder]

    def bytes_of(self, path: PurePath) -> bytes | None:
        return self.kept.get(path)


def goal(name: str, text: str, status: str, summary: str | None = None, *children: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "description": text, "status": status, "summary": summary, "children": list(children)}
