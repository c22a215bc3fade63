"""`redo`: the head moves to where the last undo left it."""

from __future__ import annotations

from typing import Any

from sessions import versions
from sessions.answers import moved_row
from sessions.management.base import SessionCommand
from sessions.management.moves import told


class Command(SessionCommand):
    help = "Bring back what the last undo took back."

    def act(self, options: dict[str, Any]) -> Any:
        return moved_row(versions.redo(self.session(options).pk))

    def tell(self, value: Any) -> None:
        self.stdout.write(told("Redone", value))
