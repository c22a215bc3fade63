"""`undo`: the head moves back to the version before."""

from __future__ import annotations

import argparse
from typing import Any

from sessions import versions
from sessions.answers import moved_row
from sessions.management.base import SessionCommand
from sessions.management.moves import told


class Command(SessionCommand):
    help = "Take the last version back: the head moves to its parent. Nothing is deleted; `redo` brings it back."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--base", type=int, metavar="N", help="only where version N is the head")

    def act(self, options: dict[str, Any]) -> Any:
        return moved_row(versions.undo(self.session(options).pk, base=options["base"]))

    def tell(self, value: Any) -> None:
        self.stdout.write(told("Undone", value))
