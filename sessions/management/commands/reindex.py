"""`reindex`: looks sessions through for search at once, instead of waiting for a worker to do it."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any
from uuid import UUID

from sessions.management.base import SessionsCommand, counted
from sessions.search.index import forget, index_waiting
from sessions.search.waiting import waiting

EVERY = 2.0  # seconds between two words on how far it is


class Command(SessionsCommand):
    help = (
        "Index what search does not know yet, and say how far it is. A worker does the same by itself, within seconds."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--fresh", action="store_true", help="forget what is indexed of the workspace, and do it anew"
        )

    def act(self, options: dict[str, Any]) -> Any:
        workspace = self.workspace(options)
        if options["fresh"]:
            forget(workspace.pk)
        whole = waiting(workspace.pk)
        started = said = time.monotonic()
        done = 0

        def told(_session: UUID, entries: int) -> None:
            nonlocal said, done
            done += entries
            if time.monotonic() - said >= EVERY:
                said = time.monotonic()
                rate = done / (said - started)
                print(f"{done:,} of {whole.entries:,} entries, {rate:,.0f} a second", file=sys.stderr)

        sessions, entries = index_waiting(workspace_id=workspace.pk, told=told)
        left = waiting(workspace.pk)
        return {
            "sessions": sessions,
            "entries": entries,
            "seconds": round(time.monotonic() - started, 2),
            "left": {"sessions": left.sessions, "entries": left.entries},
        }

    def tell(self, value: Any) -> None:
        self.stdout.write(
            f"{counted(value['sessions'], 'session')}, {counted(value['entries'], 'entry', 'entries')} in {value['seconds']:.1f} s"
        )
        if value["left"]["sessions"]:
            self.stdout.write(f"{counted(value['left']['sessions'], 'session')} left: being taken in at this moment.")
