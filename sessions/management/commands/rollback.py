"""`rollback`: a new version that hides everything after a turn or an entry."""

from __future__ import annotations

import argparse
from typing import Any

from sessions import versions
from sessions.answers import moved_row
from sessions.management.base import SessionCommand
from sessions.management.moves import told


class Command(SessionCommand):
    help = "Roll back: a new version hides everything after the point and becomes the head. `undo` takes it back."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        point = parser.add_mutually_exclusive_group(required=True)
        point.add_argument("--to-turn", type=int, metavar="N", help="keep up to the end of this turn")
        point.add_argument("--to-entry", type=int, metavar="SEQ", help="keep up to this entry")
        parser.add_argument("--reason", default="", help="why, for the record")

    def act(self, options: dict[str, Any]) -> Any:
        moved = versions.roll_back(
            self.session(options).pk,
            to_turn=options["to_turn"],
            to_entry=options["to_entry"],
            reason=options["reason"],
        )
        return moved_row(moved)

    def tell(self, value: Any) -> None:
        self.stdout.write(told("Rolled back", value))
