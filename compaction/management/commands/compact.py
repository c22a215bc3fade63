"""`compact`: preview a compaction of a session, or run it and wait for what becomes of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError

from compaction import queries, runs, tasks
from compaction.models import Run
from compaction.runs import Previewed
from compaction.schemas import RunOut, RunWhole, plan_json
from compaction.strategies import RECOMMENDED, strategies
from sessions.models import Session
from sessions.naming import find_session
from sessions.versions import Refused

USAGE = frozenset({"no_such_strategy", "bad_param", "no_such_summariser", "bad_summary"})
NOBODY = 60.0  # seconds after which a run that no worker takes is given up, by the one who waits for it


class Command(BaseCommand):
    help = "Compact a session's context. Waits for the run and prints its outcome; the head moves only where it lands."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        known = ", ".join(strategies())
        parser.add_argument("session", metavar="SESSION", help="the beginning of its id, or the agent's own id")
        parser.add_argument(
            "--strategy", default=RECOMMENDED, metavar="NAME", help=f"one of: {known} (default: {RECOMMENDED})"
        )
        parser.add_argument(
            "--summariser", default="extractive", metavar="NAME", help=f"one of: {', '.join(runs.SUMMARISERS)}"
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            dest="params",
            help="set a parameter; may be repeated",
        )
        parser.add_argument("--instructions", default="", metavar="TEXT", help="wishes for the summary")
        parser.add_argument(
            "--pin",
            action="append",
            default=[],
            type=int,
            metavar="SEQ",
            dest="pins",
            help="keep an entry word for word",
        )
        parser.add_argument("--preview", action="store_true", help="print the plan and write nothing")
        parser.add_argument("--no-wait", action="store_true", help="print the run's id and do not wait for it")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            session = find_session(options["session"])
        except LookupError as error:
            raise CommandError(str(error)) from error
        choice = {
            "strategy": options["strategy"],
            "params": parameters(options["params"]),
            "summariser": options["summariser"],
            "instructions": options["instructions"],
            "pins": options["pins"],
        }
        try:
            if options["preview"]:
                self._preview(runs.preview_run(session, **choice), as_json=options["json"])
            else:
                run = tasks.submit(session.pk, **choice)
                self._run(session, run, wait=not options["no_wait"], as_json=options["json"])
        except Refused as refusal:
            raise CommandError(str(refusal), returncode=2 if refusal.code in USAGE else 1) from refusal

    def _preview(self, previewed: Previewed, *, as_json: bool) -> None:
        if as_json:
            self._json(plan_json(previewed))
            return
        preview = previewed.preview
        self.stdout.write(
            f"{previewed.choice.strategy.label} on v{previewed.base.version.n} of {previewed.session}: a preview, nothing is written"
        )
        self.stdout.write(f"status   {preview.status}" + (f": {preview.reason}" if preview.reason else ""))
        self.stdout.write(f"tokens   {in_figures(preview.tokens_before)} → {in_figures(preview.tokens_after)} (o200k)")
        for warning in preview.warnings:
            self.stdout.write(f"note     {warning}")
        self.stdout.write(f"plan     {preview.digest}")

    def _run(self, session: Session, run: Run, *, wait: bool, as_json: bool) -> None:
        if not wait:
            run = queries.run_in(session.workspace_id, run.pk)
            self._json(RunOut.of(run).model_dump(mode="json")) if as_json else self.stdout.write(str(run.pk))
            return
        run = self._wait(run.pk, quiet=as_json)
        if as_json:
            self._json(RunWhole.of(run).model_dump(mode="json"))
        if run.state != Run.State.COMPLETED:
            raise CommandError(
                f"Run {run.pk} {run.state}" + (f" ({run.status})" if run.status else "") + f": {run.reason}"
            )
        if not as_json:
            assert run.version is not None
            self.stdout.write(
                f"Run {run.pk} completed: v{run.base.n} → v{run.version.n}, "
                f"{in_figures(run.tokens_before)} → {in_figures(run.tokens_after)} tokens ({run.meter}). `undo` takes it back."
            )

    def _wait(self, run_id: int, *, quiet: bool) -> Run:
        """Wait for the end of a run, telling its log. Looks after it as a worker would, since ours may be the one that died."""
        told = 0
        before: tuple[str, int] | None = None
        since = time.monotonic()
        for run in queries.follow(run_id):
            for seconds, phase, words in run.log[told:] if not quiet else ():
                self.stderr.write(f"{seconds:7.2f} s  {phase}: {words}")
            told = len(run.log)
            if (run.state, told) != before:
                before, since = (run.state, told), time.monotonic()
                continue
            tasks.sweep()
            if run.state == Run.State.QUEUED and time.monotonic() - since > NOBODY and not queries.someone_works():
                runs.fail(run_id, reason=f"No worker took the run within {NOBODY:.0f} s; the head stays where it was.")
        return run

    def _json(self, value: Any) -> None:
        self.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode())


def parameters(pairs: Sequence[str]) -> dict[str, str]:
    """`KEY=VALUE` pairs as a mapping; what they may be is the strategy's to say."""
    out: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise CommandError(f"--set takes KEY=VALUE, not {pair!r}.", returncode=2)
        out[key.strip()] = value.strip()
    return out


def in_figures(tokens: int | None) -> str:
    return "not known" if tokens is None else f"{tokens:,}"
