"""`apply`: land the draft that a run holds, with a person's own words if they wish, or discard it. No model is asked again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from compaction import runs, tasks
from compaction.awaiting import await_run
from compaction.holding import Wishes
from compaction.models import Run
from compaction.schemas import RunOut
from sessions.management.base import SessionsCommand
from sessions.versions import Refused


class Command(SessionsCommand):
    help = "Apply the draft that a run holds (`compact --hold`). Waits for the run and prints its outcome."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        add = parser.add_argument
        add("run", type=int, metavar="RUN", help="the run that holds the draft")
        add("--summary", metavar="FILE", help="words in the place of the model's; - reads them from standard input")
        add(
            "--pin",
            action="append",
            type=int,
            metavar="SEQ",
            dest="pins",
            help="keep an entry word for word; repeatable",
        )
        add("--discard", action="store_true", help="drop the draft; the head stays where it is")
        add("--no-wait", action="store_true", help="print the run's id and do not wait for it")

    def answer(self, options: dict[str, Any]) -> None:
        found = Run.objects.filter(pk=options["run"])
        if options.get("workspace") is not None:
            found = found.filter(workspace=self.workspace(options))
        run = found.first()
        if run is None:
            raise CommandError(f"There is no run {options['run']}.")
        if options["discard"]:
            if run.state != Run.State.HELD:
                raise Refused("not_held", f"Run {run.pk} holds no draft: it is {run.state}.")
            run = runs.cancel(run.pk)
            if options["as_json"]:
                self.print_json(RunOut.of(run).model_dump(mode="json"))
            else:
                self.stdout.write(f"The draft of run {run.pk} was discarded; the head stays where it was.")
            return
        pins = None if options["pins"] is None else {*run.pins, *options["pins"]}
        wishes = Wishes.of(edited_summary=_words(options["summary"]), pins=pins)
        run = tasks.apply(run.pk, wishes)
        await_run(self, run, run.workspace_id, wait=not options["no_wait"], as_json=options["as_json"])


def _words(source: str | None) -> str | None:
    if source is None:
        return None
    try:
        return sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{source} cannot be read: {error}", returncode=2) from error
