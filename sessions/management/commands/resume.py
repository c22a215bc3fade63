"""`resume`: a version of a session as a new session of its agent, or of another, and the line that goes on from it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from sessions import writing
from sessions.answers_writing import put_row
from sessions.management.base import SessionCommand, counted
from sessions.writers import writers


class Command(SessionCommand):
    help = (
        "Write a version as a new session that an agent goes on from. The original stays as it is. "
        "What was written is read back first: it is refused where it would not send what the version sends."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django gives every command a `--version` that prints Django's own; here the word means a version of the session.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--as",
            dest="agent",
            metavar="AGENT",
            help=f"whose session it becomes (default: its own): {', '.join(writers())}",
        )
        parser.add_argument(
            "--version", dest="number", type=int, metavar="V", help="the version (default: the one in force)"
        )
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--out", type=Path, metavar="DIR", help="write it below this folder")
        where.add_argument(
            "--install",
            action="store_true",
            help="put it where the agent lists its sessions (needs PALIMPSEST_INSTALL=1)",
        )
        parser.add_argument(
            "--even-if-live",
            action="store_true",
            help="with --install: although the original looks as if its agent had it open",
        )

    def act(self, options: dict[str, Any]) -> Any:
        made = writing.make(self.session(options), agent=options["agent"], version=options["number"])
        if options["install"]:
            put = writing.install(made, even_if_live=options["even_if_live"])
        else:
            put = writing.put_out(made, options["out"])
        return put_row(put)

    def tell(self, value: Any) -> None:
        where = "Installed" if value["installed"] else "Written"
        self.stdout.write(f"{where}: v{value['version']} as a session of {value['label']}, {value['native_id']}.")
        for path in value["paths"]:
            self.stdout.write(f"  {path}")
        self.stdout.write(f"Read back: {counted(value['blocks'], 'block')} would be sent, as the version has them.")
        for note in value["notes"]:
            self.stdout.write(f"Note: {note}.")
        if value["command"]:
            self.stdout.write(f"To go on from it:\n  {value['command']}")
