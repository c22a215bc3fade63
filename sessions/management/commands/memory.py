"""`memory`: the CLAUDE.md, AGENTS.md and GEMINI.md texts that a session carries, and whether the model has them now."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import CommandParser

from sessions.findings import memory_of
from sessions.management.base import SessionCommand
from sessions.moments import at_step, at_version, moment_of


class Command(SessionCommand):
    help = "List the memory files a session carried: when each came in, what it weighs, whether it is in the context."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # As in `context`: here the word means a version of the session.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--version", type=int, metavar="V", dest="at_version", help="at this version instead of the head"
        )
        which.add_argument("--step", type=int, metavar="N", help="as it was at this step")

    def act(self, options: dict[str, Any]) -> Any:
        session = self.session(options)
        if options["step"] is not None:
            return memory_of(session, at_step(session, options["step"]))
        version = options["at_version"]
        return memory_of(session, moment_of(session) if version is None else at_version(session, version))

    def tell(self, value: Any) -> None:
        for layer in value["layers"]:
            state = f"in the context, {layer['tokens']:,} tokens" if layer["in_context"] else "not in the context"
            self.stdout.write(f"{layer['path'] or layer['scope_words']}  ({layer['scope_words']}): {state}")
            for load in layer["loads"]:
                place = f"entry {load['seq']}" if load["seq"] is not None else f"put in after entry {load['after']}"
                step = "" if load["step"] is None else f", step {load['step']}"
                turn = "" if load["turn"] is None else f", turn {load['turn']}"
                why = f"; {load['why_not']}" if load["why_not"] else ""
                changed = "; its text changed" if load["changed"] else ""
                self.stdout.write(f"    {place}{turn}{step}: {load['tokens']:,} tokens, {load['how']}{changed}{why}")
        if not value["layers"]:
            self.stdout.write("No memory file in the records of this session.")
        if value["note"]:
            self.stdout.write(value["note"])
