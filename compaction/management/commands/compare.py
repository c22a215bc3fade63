"""`compare`: strategies dry-run side by side on the context a session has now."""

from __future__ import annotations

import argparse
from decimal import Decimal
from typing import Any

from compaction.accounts import dollars
from compaction.comparing import MOST, compare
from sessions.management.base import SessionCommand, figures


class Command(SessionCommand):
    help = "Try strategies on a session's context, side by side. Writes nothing."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        words = (
            f"a strategy, or one with a preset of its own; repeatable, at most {MOST} (default: all that need no wish)"
        )
        parser.add_argument("--with", action="append", default=[], metavar="NAME[:PRESET]", dest="names", help=words)
        pins = "keep an entry word for word; repeatable"
        parser.add_argument("--pin", action="append", default=[], type=int, metavar="SEQ", dest="pins", help=pins)
        parser.add_argument(
            "--summariser", default="extractive", metavar="NAME", help="extractive, or llm: its cost is foretold"
        )
        parser.add_argument("--model", metavar="PROVIDER:NAME", help="with --summariser llm (default: the first)")
        parser.add_argument("--goal", default="", metavar="TEXT", help="what a handover is to go on with")

    def act(self, options: dict[str, Any]) -> dict[str, Any]:
        return compare(
            self.session(options),
            options["names"],
            pins=options["pins"],
            summariser=options["summariser"],
            model=options["model"],
            goal=options["goal"],
        ).to_json()

    def tell(self, value: Any) -> None:
        tokens = value["tokens"]
        said = self.stdout.write
        at = f", compaction at {figures(tokens['threshold'])}" if tokens["threshold"] is not None else ""
        said(f"v{value['base']}: {figures(tokens['before'])} tokens ({tokens['meter']}){at}. Nothing is written.")
        said(
            f"{'strategy':<34}{'after':>10}{'smaller':>9}{'needed later':>14}{'lost':>7}"
            + (f"{'model':>24}" if value["model"] else "")
        )
        for row in value["strategies"]:
            name = row["strategy"] + (f":{row['preset']}" if row["preset"] else "")
            if not row["lands"]:
                said(f"{name:<34}{row['reason']}")
                continue
            smaller = 1 - row["after"] / tokens["before"] if tokens["before"] else 0.0
            later = "–" if row["future_use"] is None else f"{row['future_use'] * 100:.0f} %"
            lost = "–" if row["losses"] is None else figures(row["losses"])
            said(
                f"{name:<34}{figures(row['after']):>10}{smaller * 100:>7.1f} %{later:>14}{lost:>7}"
                + (f"{_cost(row['model']):>24}" if value["model"] else "")
            )


def _cost(found: dict[str, Any] | None) -> str:
    if found is None:
        return "–"
    tokens = f"{figures(found['prompt'] + found['output'])} tokens"
    return tokens if found["usd"] is None else f"{tokens}, {dollars(Decimal(found['usd']))}"
