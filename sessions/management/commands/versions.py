"""`versions`: the line of a session's versions, with its heads."""

from __future__ import annotations

import argparse
from typing import Any

from sessions.answers import versions_of
from sessions.management.base import SessionCommand, counted
from sessions.versions import name_version


class Command(SessionCommand):
    help = "List a session's versions: what each hides, and where the head, undo and redo stand."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        words = "give a version a name of yours first; an empty one takes it away"
        parser.add_argument("--name", nargs=2, metavar=("N", "NAME"), help=words)

    def act(self, options: dict[str, Any]) -> Any:
        session = self.session(options)
        if options["name"]:
            n, name = options["name"]
            number = n.removeprefix("v")
            name_version(session.pk, int(number) if number.isdigit() else -1, name)
        return versions_of(session)

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
            name = f"  “{row['name']}”" if row["name"] else ""
            # What the page says of it: by o200k, when the next one was made from it or, of the head, now.
            end = row["tokens_at_end"]
            weighs = "" if end is None else f"{counted(end, 'token')} at its end, "
            self.stdout.write(
                f"v{row['n']}{parent}{name}  {row['origin']}: {row['label']}  {weighs}"
                f"{counted(gone, 'entry', 'entries')} hidden" + (f"  [{', '.join(marks)}]" if marks else "")
            )
