"""`context`: what the model would be sent, item by item; at the head, at a version, or as it was sent at a step."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import CommandParser

from sessions.answers import context_of
from sessions.findings import fills_of
from sessions.management.base import SessionCommand, counted, figures, first_line
from sessions.moments import at_step, at_version, moment_of


class Command(SessionCommand):
    help = "Show what the model would see, item by item, with the five numbers and the forecast."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django gives every command a `--version` that prints Django's own; here the word means a version of the session.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--version", type=int, metavar="V", dest="at_version", help="at this version instead of the head"
        )
        which.add_argument("--step", type=int, metavar="N", help="as it was sent at this step")
        parser.add_argument(
            "--by-kind", action="store_true", help="what fills it, by kind and tool, and its biggest entries"
        )

    def act(self, options: dict[str, Any]) -> Any:
        session, version, step = self.session(options), options["at_version"], options["step"]
        if not options["by_kind"]:
            return context_of(session, version=version, step=step)
        if step is not None:
            return fills_of(session, at_step(session, step))
        return fills_of(session, moment_of(session) if version is None else at_version(session, version))

    def tell(self, value: Any) -> None:
        if "by_kind" in value:
            self.tell_kinds(value)
            return
        where = f"step {value['step']}, v{value['version']}" if value["step"] is not None else f"v{value['version']}"
        gauge = value["gauge"]
        self.stdout.write(
            f"Context of {value['session'][:8]} ({value['agent']}) at {where}: {counted(len(value['items']), 'item')}, "
            f"{counted(value['tokens'], 'token')} ({value['meter']}), {value['content_hash']}"
        )
        for item in value["items"]:
            text = " ".join(part.get("text") or part.get("tool") or part["kind"] for part in item["parts"])
            mark = "masked " if item["masked"] else ""
            spans = ", ".join(f"{first}–{last}" for first, last in item["stands_for"])
            stands = f"stands for {spans}: " if spans else ""
            self.stdout.write(
                f"{item['key']:>8}  {item['role'] or '':<9}  {item['kind']:<11}  {item['tokens']:>8,}  {mark}{stands}{first_line(text, 90)}"
            )
        self.stdout.write("")
        for number in gauge["numbers"]:
            of = "" if number["of"] is None else f" of {number['of']:,}"
            self.stdout.write(f"{number['label']:<34} {figures(number['tokens'])}{of}  ({number['whose']})")
        shown = gauge["screen"]
        if shown is not None:
            self.stdout.write(
                f"{'its own screen':<34} {shown['text']}: {shown['numerator']:,} of {shown['denominator']:,}  ({shown['counts']})"
            )
        self.stdout.write(f"{gauge['forecast']['sentence']} {gauge['forecast']['reason']}")
        for note in gauge["forecast"]["notes"]:
            self.stdout.write(f"- {note}")

    def tell_kinds(self, value: Any) -> None:
        where = f"step {value['step']}, v{value['version']}" if value["step"] is not None else f"v{value['version']}"
        self.stdout.write(
            f"{counted(value['tokens'], 'token')} ({value['meter']}) in {counted(value['items'], 'item')} at {where}."
        )
        if value["recorded"] is not None:
            self.stdout.write(f"The agent's own count: {value['recorded']['tokens']:,} ({value['recorded']['whose']}).")
        for row in value["by_kind"]:
            self.stdout.write(
                f"{row['label']:<20} {row['tokens']:>10,}  {row['share']:>6.1%}  {counted(row['entries'], 'item')}"
            )
        if value["tool_results"]:
            self.stdout.write("\nTool results")
        for row in value["tool_results"]:
            self.stdout.write(
                f"{row['label']:<20} {row['tokens']:>10,}  {row['share']:>6.1%}  {counted(row['entries'], 'item')}"
            )
        if value["biggest"]:
            self.stdout.write("\nBiggest entries")
        for row in value["biggest"]:
            name = row["tool"] or row["kind"].replace("_", " ")
            self.stdout.write(
                f"{row['key']:>8} {row['tokens']:>10,}  {row['share']:>6.1%}  {name}: {first_line(row['words'], 70)}"
            )
