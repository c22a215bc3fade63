"""`versions`: the line of a session's versions, with its heads."""

from __future__ import annotations

from typing import Any

from sessions.answers import versions_of
from sessions.management.base import SessionCommand, counted


class Command(SessionCommand):
    help = "List a session's versions: what each hides, and where the head, undo and redo stand."

    def act(self, options: dict[str, Any]) -> Any:
        return versions_of(self.session(options))

    def tell(self, value: Any) -> None:
        for row in value["versions"]:
            marks = [
                name
                for name, n in (
                    ("head", value["head"]),
                    ("native head", value["native_head"]),
                    ("undo", value["undo_to"]),
                    ("redo", value["redo_to"]),
                )
                if n == row["n"]
            ]
            parent = "" if row["parent"] is None else f" ← v{row['parent']}"
            gone = sum(last - first + 1 for first, last in row["hidden"])
            self.stdout.write(
                f"v{row['n']}{parent}  {row['origin']}: {row['label']}  {counted(row['tokens'], 'token')}, "
                f"{counted(gone, 'entry', 'entries')} hidden" + (f"  [{', '.join(marks)}]" if marks else "")
            )
