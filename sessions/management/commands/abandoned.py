"""`abandoned`: goals that were given up, over all sessions, narrowed as on the page."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import CommandError

from sessions.abandoned import MOST, PAGE, SORTS, BadCursor, Wanted
from sessions.abandoning import settle
from sessions.audittally import FACETS
from sessions.goal_answers import abandoned_of
from sessions.management.base import SessionsCommand, counted, first_line
from sessions.naming import find_session


class Command(SessionsCommand):
    help = "Goals that were given up, with the reason and what they took. Sessions that have ended since are looked at first."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        for name in FACETS:
            parser.add_argument(
                f"--{name}",
                action="append",
                default=[],
                metavar="VALUE",
                help=f"only of this {name} (may be repeated; - is none)",
            )
        parser.add_argument("--session", metavar="SESSION", help="only of this session")
        parser.add_argument("--q", default="", metavar="WORDS", help="only with these words in goal or reason")
        parser.add_argument("--since", default="", metavar="DAY", help="only from this day on")
        parser.add_argument("--until", default="", metavar="DAY", help="only before this day")
        parser.add_argument("--confidence", default="", metavar="0…1", help="only as sure as this")
        parser.add_argument("--sort", choices=sorted(SORTS), default="recent")
        parser.add_argument("--limit", type=int, default=PAGE, metavar="N", help=f"at most {MOST} (default: {PAGE})")
        parser.add_argument("--after", metavar="CURSOR", help="go on where the last page ended: its `next`")

    def act(self, options: dict[str, Any]) -> Any:
        workspace = self.workspace(options)
        settle(workspace)
        given = {name: options[name] for name in FACETS}
        given |= {name: [options[name]] for name in ("q", "since", "until", "confidence", "sort")}
        if options["session"]:
            given["session"] = [str(find_session(options["session"], workspace=workspace).pk)]
        try:
            return abandoned_of(workspace, Wanted.of(given), after=options["after"], count=options["limit"])
        except BadCursor as error:
            raise CommandError(str(error), returncode=2) from error

    def tell(self, value: Any) -> None:
        said = value["sums"]
        self.stdout.write(
            f"{counted(said['goals'], 'goal')} given up in {counted(said['sessions'], 'session')}, "
            f"{counted(said['tokens'], 'token')}, {said['unreviewed']} unreviewed."
        )
        for row in value["items"]:
            where = f"{row['session'][:8]} {row['path']:<5}"
            cost = "" if row["cost"] is None else f" · ${row['cost']:.2f}"
            review = "" if row["review"] == "unreviewed" else f" · {row['review']}"
            self.stdout.write(f"{where} {row['status']:<9} {row['cause']:<18} {first_line(row['text'], 70)}")
            self.stdout.write(
                f"               number {row['id']}{review} · {row['how']}, {row['confidence']:.0%} · {counted(row['tokens'], 'token')}{cost} · "
                f"{first_line(row['reason'] or 'no reason given', 100)}"
            )
        if value["next"]:
            self.stdout.write(f"More: --after {value['next']}")
