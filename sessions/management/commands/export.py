"""`export`: a session, or a part of it, as Markdown, HTML or JSON, without secrets."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from sessions.export.choosing import FORMS, Wanted
from sessions.export.making import export
from sessions.filters import ONLY, ROLES, Narrowed
from sessions.management.base import SessionCommand


class Command(SessionCommand):
    help = "Write a session as one file to read elsewhere. Secrets are redacted unless --no-redact."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django gives every command a `--version` that prints Django's own; here the word means a version of the session.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--format", choices=FORMS, default="md", dest="form", help="default: md")
        parser.add_argument(
            "--entries", default="", metavar="SPANS", help="these alone: 12, 10-200, 300- (several with commas)"
        )
        parser.add_argument(
            "--context", action="store_true", help="the context as the model sees it, instead of the log"
        )
        parser.add_argument(
            "--version",
            type=int,
            default=None,
            dest="at_version",
            metavar="V",
            help="ghosts and context as of this version",
        )
        parser.add_argument("--role", choices=sorted(ROLES), default="")
        parser.add_argument("--tool", default="", metavar="NAME")
        parser.add_argument("--file", default="", metavar="PATH")
        parser.add_argument("--goal", default="", metavar="PATH")
        parser.add_argument("--only", choices=sorted(ONLY), default="")
        parser.add_argument("--no-redact", action="store_false", dest="redact", help="leave secrets in")
        parser.add_argument("--out", type=Path, metavar="FILE", help="write to a new file instead of stdout")

    def answer(self, options: dict[str, Any]) -> None:
        session = self.session(options)
        narrowed = Narrowed.of({name: options[name] for name in ("role", "tool", "file", "goal", "only")})
        wanted = Wanted(
            options["form"],
            options["entries"],
            narrowed,
            options["context"],
            options["at_version"],
            redact=options["redact"],
        )
        blocks = export(session, wanted)
        out: Path | None = options["out"]
        if out is None:
            binary = getattr(self.stdout, "buffer", sys.stdout.buffer)
            for block in blocks:
                binary.write(block)
            binary.flush()
            return
        size = 0
        try:
            with out.open("xb") as file:
                for block in blocks:
                    size += file.write(block)
        except FileExistsError as error:
            raise CommandError(f"{out} exists already; it was left as it is.") from error
        if options["as_json"]:
            self.print_json({"session": str(session.pk), "out": str(out), "bytes": size, "redacted": wanted.redact})
        else:
            self.stdout.write(f"{size:,} bytes written to {out}")
