"""`bench`, with what the rooms above ingest and pages add to it: `bench retention FOLDER`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from compaction.measure import folder
from compaction.measure.tables import told
from sessions.management.commands.bench import Command as Bench


class Command(Bench):
    def more(self, which: Any) -> tuple[argparse.ArgumentParser, ...]:
        retention: argparse.ArgumentParser = which.add_parser(
            "retention",
            help="what each strategy keeps of what recorded sessions went on to need",
            description="Cuts the recorded sessions of a folder, compacts what came before by every strategy to the same budgets, and "
            "says how much of what followed can still be done from it. Reads files; asks no database and no model.",
        )
        retention.add_argument("folder", type=Path, metavar="FOLDER", help="recorded sessions, in any folder below it")
        retention.add_argument("--budgets", type=int, nargs="+", default=list(folder.BUDGETS), metavar="TOKENS")
        retention.add_argument("--strategies", nargs="+", metavar="NAME", help="these alone, beside the baselines")
        retention.add_argument("--processes", type=int, default=2, metavar="N")
        retention.add_argument("--limit", type=int, metavar="N", help="of so many sessions, spread over the folder")
        retention.add_argument(
            "--folds", type=int, metavar="K", help="fit the weights of need K times on other sessions: held-out figures"
        )
        return (retention,)

    def act(self, options: dict[str, Any]) -> Any:
        if options["which"] != "retention":
            return super().act(options)
        try:
            found = folder.bench(
                options["folder"],
                budgets=options["budgets"],
                names=options["strategies"],
                processes=options["processes"],
                limit=options["limit"],
                folds=options["folds"],
            )
        except folder.NoSessions as problem:
            raise CommandError(str(problem)) from problem
        return {"bench": "retention", **found}

    def tell(self, value: Any) -> None:
        if value["bench"] != "retention":
            super().tell(value)
            return
        for line in told(value):
            self.stdout.write(line)
