"""`source`: the exact bytes of a session's file, as the agent wrote them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from sessions.answers import files_of, source_of, source_row, sources_of
from sessions.management.base import SessionCommand
from sessions.models import Session, Source
from sessions.sourcebytes import stored


class Command(SessionCommand):
    help = "Write a session's source to stdout, byte for byte; --list shows all its files."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--list", action="store_true", dest="only_list", help="list the files, write none")
        parser.add_argument("--file", type=int, metavar="N", help="another file of the list than the session's own")
        parser.add_argument("--out", type=Path, metavar="FILE", help="write to a new file instead of stdout")

    def answer(self, options: dict[str, Any]) -> None:
        session = self.session(options)
        if options["only_list"]:
            self._list(session, as_json=options["as_json"])
            return
        source = source_of(session, options["file"])
        if options["out"] is not None:
            self._write(source, options["out"])
            self._tell_written(session, source, options)
            return
        binary = getattr(self.stdout, "buffer", sys.stdout.buffer)
        for block in stored(source):
            binary.write(block)
        binary.flush()

    def _list(self, session: Session, *, as_json: bool) -> None:
        rows = sources_of(session)
        if as_json:
            self.print_json({"session": str(session.pk), "files": rows})
            return
        for row in rows:
            own = "*" if row["own"] else " "
            digest = (row["sha256"] or "")[:12]
            self.stdout.write(
                f"{own}{row['file']:>3}  {row['role']:<8} {row['size']:>13,}  {digest:<12}  {row['path']}"
            )

    def _tell_written(self, session: Session, source: Source, options: dict[str, Any]) -> None:
        if options["as_json"]:
            number = [one.pk for one in files_of(session)].index(source.pk)
            self.print_json({**source_row(number, source, session), "out": str(options["out"])})
        else:
            self.stdout.write(f"{source.size:,} bytes written to {options['out']}")

    def _write(self, source: Source, out: Path) -> None:
        try:
            with out.open("xb") as file:
                for block in stored(source):
                    file.write(block)
        except FileExistsError as error:
            raise CommandError(f"{out} exists already; it was left as it is.") from error
