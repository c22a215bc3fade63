"""`compact`: preview a compaction of a session, or run it and wait for what becomes of it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandError

from compaction import runs, tasks
from compaction.accounts import dollars
from compaction.awaiting import await_run
from compaction.choosing import figures_of
from compaction.plan import SummaryAnswer
from compaction.schemas import plan_json
from compaction.strategies import RECOMMENDED, strategies
from sessions.collecting import held_back
from sessions.management.base import SessionCommand, counted, figures
from sessions.models import Session
from sessions.versions import Refused

USAGE = frozenset({"no_such_strategy", "bad_param", "no_such_summariser", "bad_summary", "no_such_entry"})


class Command(SessionCommand):
    help = "Compact a session's context. Waits for the run and prints its outcome; the head moves only where it lands."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        add = parser.add_argument
        known = ", ".join(strategies())
        add("--strategy", default=RECOMMENDED, metavar="NAME", help=f"one of: {known} (default: {RECOMMENDED})")
        summarisers = ", ".join(runs.SUMMARISERS)
        add("--summariser", default="extractive", metavar="NAME", help=f"one of: {summarisers} (default: extractive)")
        add(
            "--model",
            metavar="PROVIDER:NAME",
            help="with --summariser llm: one of those configured (default: the first)",
        )
        add("--critique", action="store_true", help="the model looks over what it wrote")
        stands = "where the model writes none, take the extractive summary"
        add("--or-extractive", action="store_true", dest="extractive_allowed", help=stands)
        add(
            "--preset",
            default="",
            metavar="NAME",
            help="figures of one of the strategy's presets; --set goes over them",
        )
        add(
            "--set", action="append", default=[], metavar="KEY=VALUE", dest="params", help="set a parameter; repeatable"
        )
        add("--instructions", default="", metavar="TEXT", help="wishes for the summary")
        pins = "keep an entry word for word; repeatable"
        add("--pin", action="append", default=[], type=int, metavar="SEQ", dest="pins", help=pins)
        without = "a file not to bring back; repeatable"
        add("--without", action="append", default=[], metavar="PATH", help=without)
        add("--preview", action="store_true", help="print the plan and write nothing")
        add("--hold", action="store_true", help="let the model write the draft and hold it; `apply RUN` lands it")
        add("--no-wait", action="store_true", help="print the run's id and do not wait for it")

    def answer(self, options: dict[str, Any]) -> None:
        session = self.session(options)
        choice = {
            "strategy": options["strategy"],
            "summariser": options["summariser"],
            "instructions": options["instructions"],
            "pins": options["pins"],
            "without": options["without"],
            "model": options["model"],
            "critique": options["critique"],
            "extractive_allowed": options["extractive_allowed"],
        }
        as_json = options["as_json"]
        try:
            choice["params"] = figures_of(options["strategy"], options["preset"], parameters(options["params"]))
            if options["preview"]:
                self._preview(session, choice, as_json=as_json)
            else:
                run = tasks.submit(session.pk, **choice, hold=options["hold"])
                await_run(self, run, session.workspace_id, wait=not options["no_wait"], as_json=as_json)
        except Refused as refusal:
            raise CommandError(str(refusal), returncode=2 if refusal.code in USAGE else 1) from refusal

    @held_back()
    def _preview(self, session: Session, choice: Mapping[str, Any], *, as_json: bool) -> None:
        previewed = runs.preview_run(session, **choice)
        if as_json:
            self.print_json(plan_json(previewed))
            return
        preview, base = previewed.preview, previewed.base.version
        said = self.stdout.write
        said(f"Preview of {previewed.choice.strategy.label} on {base} of {previewed.session}. Nothing is written.")
        said(f"  outcome  {preview.status}" + (f": {preview.reason}" if preview.reason else ""))
        said(f"  tokens   {figures(preview.tokens_before)} → {figures(preview.tokens_after)}")
        for answer in preview.answers:
            if isinstance(answer, SummaryAnswer) and answer.stands_in:
                cost = answer.cost
                money = (
                    "price not known"
                    if cost["usd"] is None
                    else f"at most {dollars(Decimal(cost['usd']))} ({cost['price']})"
                )
                said(
                    f"  model    {cost['model']}: {counted(cost['calls'], 'call')}, {figures(cost['prompt'])} tokens in, {money}"
                )
        for warning in preview.warnings:
            said(f"  note     {warning}")
        said(f"  plan     {preview.digest}")


def parameters(pairs: Sequence[str]) -> dict[str, str]:
    """`KEY=VALUE` pairs as a mapping; which keys and values there are is the strategy's to say."""
    out: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise CommandError(f"--set takes KEY=VALUE, not {pair!r}.", returncode=2)
        out[key.strip()] = value.strip()
    return out
