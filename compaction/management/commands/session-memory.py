# ruff: noqa: N999 -- the name of the command, as it is typed
"""`session-memory`: what is remembered of a session, in ten sections; brought up to date, edited, compared."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from compaction import remembered, session_memory
from compaction.memory_answers import difference_json, memory_json
from compaction.plan import NotWritten
from sessions.management.base import SessionCommand, counted
from sessions.versions import Refused


class Command(SessionCommand):
    help = "Show a session's memory: ten sections, kept up to date while the session goes on. A person's lines are never overwritten."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--update", action="store_true", help="bring it up to date now")
        what.add_argument(
            "--edit", metavar="FILE", help="write the ten sections of a file as a version of their own; - reads stdin"
        )
        what.add_argument("--diff", nargs=2, type=int, metavar=("A", "B"), help="what differs between two versions")
        what.add_argument("--version-number", type=int, metavar="N", dest="number", help="an earlier version")
        what.add_argument("--keep", choices=("on", "off"), help="whether it is kept up to date")
        parser.add_argument("--base", type=int, metavar="N", help="with --edit: the version the file was made from")

    def act(self, options: dict[str, Any]) -> Any:
        session = self.session(options)
        row = remembered.newest(session)
        if options["diff"] is not None:
            return difference_json(session, *options["diff"])
        if options["update"]:
            try:
                row = session_memory.bring_up_to_date(session, reason="asked for").row
            except NotWritten as failure:
                raise Refused("no_model", f"It was not brought up to date: {failure}") from failure
        elif options["edit"] is not None:
            name = options["edit"]
            try:
                text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise Refused("usage", f"{name} cannot be read: {error}") from error
            row = session_memory.edit(session, text, base=options["base"])
        elif options["number"] is not None:
            row = remembered.version_of(session, options["number"])
        elif options["keep"] is not None:
            session_memory.keep_with(session, on=options["keep"] == "on")
        return memory_json(session, row)

    def tell(self, value: Any) -> None:
        if "a" in value:
            changed = [one for one in value["sections"] if one["gone"] or one["new"]]
            for one in changed:
                self.stdout.write(f"# {one['title']}")
                for mark, lines in (("-", one["gone"]), ("+", one["new"])):
                    for line in lines:
                        self.stdout.write(f"{mark} {line}")
            if not changed:
                self.stdout.write("Nothing differs.")
            return
        memory = value["memory"]
        if memory is None:
            self.stdout.write("No memory is kept of this session yet; --update begins one.")
            return
        kept = len(value["versions"])
        reach = "no entry yet" if memory["until"] < 0 else f"up to entry {memory['until']}"
        self.stdout.write(
            f"version {memory['n']} of {counted(kept, 'version')}, {reach}, {memory['tokens']:,} tokens, {memory['writer']}\n"
        )
        self.stdout.write(memory["text"])
