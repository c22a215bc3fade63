"""`meters`: a context by every meter: at the head, at a version, or as it was sent at a step."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import CommandParser

from sessions.answers import meters_of
from sessions.management.base import SessionCommand


class Command(SessionCommand):
    help = "Count a session's context by every meter there is."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # As in `context`: the word means a version of the session, and not Django's own.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--version", type=int, metavar="V", dest="at_version", help="at this version instead of the head"
        )
        which.add_argument("--step", type=int, metavar="N", help="as it was sent at this step")

    def act(self, options: dict[str, Any]) -> Any:
        return meters_of(self.session(options), version=options["at_version"], step=options["step"])

    def tell(self, value: Any) -> None:
        for one in value["meters"]:
            own = "  (its own agent's)" if one["id"] == value["own"] else ""
            self.stdout.write(f"{one['tokens']:>12,}  {one['label']}{own}")
        adaptive = value["adaptive"]
        self.stdout.write(
            f"{adaptive['tokens']:>12,}  Gemini CLI's, times {adaptive['weight']:.3f} learned from {adaptive['requests']:,} requests"
        )
