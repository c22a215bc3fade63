"""`reread`: reads sessions again from the bytes that are kept."""

from __future__ import annotations

import argparse
from typing import Any

from sessions.ingest import Taken
from sessions.management.base import SessionsCommand, counted
from sessions.rereading import read_again


class Command(SessionsCommand):
    help = "Read sessions again from the bytes that are kept, as if they came now: after an adapter or a mapping was changed."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "sessions", metavar="SESSION", nargs="+", help="the beginning of its id, or the agent's own id"
        )

    def act(self, options: dict[str, Any]) -> Any:
        found = [self.session({**options, "session": name}) for name in options["sessions"]]
        return [read_again(session.pk).to_json() for session in found]

    def tell(self, value: Any) -> None:
        for row in value:
            taken = Taken(**row)
            more = f", {counted(taken.malformed, 'malformed', 'malformed')}" if taken.malformed else ""
            self.stdout.write(
                f"{taken.session}  {taken.agent}  {counted(taken.entries, 'entry', 'entries')}, {counted(taken.turns, 'turn')}, "
                f"{counted(taken.steps, 'step')}, {counted(taken.versions, 'version')}{more}"
            )
