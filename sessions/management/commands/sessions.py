"""`sessions`: the list of sessions, newest activity first."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import CommandError

from sessions.answers import session_row
from sessions.keyset import MOST, PAGE, BadCursor, sessions_page
from sessions.management.base import SessionsCommand, counted, first_line


class Command(SessionsCommand):
    help = "List sessions, newest activity first."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--agent", metavar="NAME", help="only those of this agent")
        parser.add_argument("--project", metavar="NAME", help="only those of this project")
        parser.add_argument("--limit", type=int, default=PAGE, metavar="N", help=f"at most {MOST} (default: {PAGE})")
        parser.add_argument("--after", metavar="CURSOR", help="go on where the last page ended: its `next`")

    def act(self, options: dict[str, Any]) -> Any:
        if options["limit"] < 1:
            raise CommandError("--limit takes a number from 1 on.", returncode=2)
        try:
            page = sessions_page(
                self.workspace(options),
                agent=options["agent"],
                project=options["project"],
                after=options["after"],
                limit=options["limit"],
            )
        except BadCursor as error:
            raise CommandError(str(error), returncode=2) from error
        return {"items": [session_row(session) for session in page.sessions], "next": page.next}

    def tell(self, value: Any) -> None:
        if not value["items"]:
            self.stdout.write("No sessions. `ingest PATH` takes some in; `ingest --sample` takes a small one.")
        for row in value["items"]:
            when = (row["last_at"] or "")[:16].replace("T", " ")
            self.stdout.write(
                f"{row['id'][:8]}  {when:<16}  {row['agent']:<12}  {counted(row['entries'], 'entry', 'entries'):>16}  "
                f"{counted(row['turns'], 'turn'):>10}  v{row['head']}  {first_line(row['title'], 60)}"
            )
        if value["next"]:
            self.stdout.write(f"More: --after {value['next']}")
