"""`undo`: the head moves back to the version before."""

from __future__ import annotations

from typing import Any

from sessions import versions
from sessions.answers import moved_row
from sessions.management.base import SessionCommand
from sessions.management.moves import told


class Command(SessionCommand):
    help = "Take the last version back: the head moves to its parent. Nothing is deleted; `redo` brings it back."

    def act(self, options: dict[str, Any]) -> Any:
        return moved_row(versions.undo(self.session(options).pk))

    def tell(self, value: Any) -> None:
        self.stdout.write(told("Undone", value))
