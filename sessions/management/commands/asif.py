"""`asif`: the same session under another agent's rule or another model's window: when it would have compacted, and how often."""

from __future__ import annotations

import argparse
from typing import Any

from sessions.answers import as_if_of
from sessions.management.base import SessionCommand, figures
from sessions.windows import presets, rules

SHOWN = 40


class Command(SessionCommand):
    help = "Say when a session would have compacted under another rule, model or window."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        names = ", ".join([*rules(), *presets()])
        parser.add_argument("--rule", metavar="NAME", help=f"one of: {names} (default: the session's own)")
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--model", metavar="NAME", help="with the window of this model")
        which.add_argument("--window", type=int, metavar="N", help="with a window of N tokens")

    def act(self, options: dict[str, Any]) -> Any:
        return as_if_of(self.session(options), rule=options["rule"], model=options["model"], tokens=options["window"])

    def tell(self, value: Any) -> None:
        window = value["window"]
        self.stdout.write(value["sentence"])
        self.stdout.write(
            f"Window: {figures(window['context'])} ({window['limits_source'] or 'not known'}); rule: {value['label']}, "
            f"{window['source']} ({window['date']})"
        )
        for line in value["thresholds"]:
            self.stdout.write(f"{line['name']:<12} {line['tokens']:>11,}  {line['formula']}")
        for mark in value["marks"][:SHOWN]:
            self.stdout.write(
                f"before step {mark['step']:,} (entry {mark['seq']:,}): {mark['name']}, {mark['before']:,} → {mark['after']:,}"
            )
        left = len(value["marks"]) + value["marks_left_out"] - SHOWN
        if left > 0:
            self.stdout.write(f"… and {left:,} more")
        for line in (*value["notes"], *value["assumes"]):
            self.stdout.write(f"- {line}")
