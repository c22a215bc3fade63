"""`search`: words over all sessions, as on the page."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import CommandError

from sessions.management.base import SessionsCommand, counted, first_line
from sessions.naming import find_session
from sessions.search.answers import search_of
from sessions.search.find import PAGE, BadCursor
from sessions.search.hits import SORTS


class Command(SessionsCommand):
    help = (
        'Search the entries of all sessions, ghosts among them. Words, "exact phrases", begin*, *middle*, OR, -not; fields: agent: project: owner: '
        "tool: file: role: in:ghosts is:error exit:1 goal: after:2026-09-01 before:2026-09-30. A query that begins with - goes behind --."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("words", nargs="+", metavar="WORDS")
        parser.add_argument("--sort", choices=SORTS, default="best", help="default: best")
        parser.add_argument("--session", metavar="SESSION", help="this session alone, entry by entry")
        parser.add_argument(
            "--limit", type=int, default=PAGE, metavar="N", help=f"sessions (default: {PAGE}, at most 100)"
        )
        parser.add_argument("--after", metavar="CURSOR", help="go on where the last page ended: its `next`")

    def act(self, options: dict[str, Any]) -> Any:
        workspace = self.workspace(options)
        session = None if options["session"] is None else find_session(options["session"], workspace=workspace).pk
        # A shell takes the quotes of a phrase away: what it gave as one word was one.
        words = " ".join(
            f'"{word}"' if " " in word and '"' not in word and len(options["words"]) > 1 else word
            for word in options["words"]
        )
        count = max(1, min(options["limit"], 100))
        try:
            return search_of(
                workspace, words, sort=options["sort"], count=count, session=session, after=options["after"]
            )
        except BadCursor as error:
            raise CommandError(str(error), returncode=2) from error

    def tell(self, value: Any) -> None:
        if value["waiting"]["sessions"]:
            waits = value["waiting"]
            self.stderr.write(
                f"{counted(waits['sessions'], 'session')} still being indexed: "
                f"{counted(waits['entries'], 'entry', 'entries')} not found yet (`reindex` sees to it at once)."
            )
        most = "at most " if value["at_most"] else ""
        self.stdout.write(
            f"{most}{counted(value['hits'], 'hit')} in {counted(value['sessions'], 'session')}, {value['in_ghosts']:,} in ghosts, "
            f"{value['milliseconds']:,.0f} ms"
        )
        for item in value["items"]:
            self.stdout.write(
                f"\n{item['session'][:8]} {first_line(item['title'] or 'untitled', 90)} ({item['agent']}, {counted(item['hits'], 'hit')})"
            )
            for row in item["entries"]:
                mark = {"ghosts": "~", "masked": "#", "context": " ", "versions": "+"}[row["where"]]
                number = row["seq"] if row["version"] is None else f"v{row['version']}"
                self.stdout.write(f"  {mark}{number:>7} {row['role']:<10} {first_line(row['text'], 110)}")
        if value["next"]:
            self.stdout.write(f"\nMore: --after {value['next']}")
