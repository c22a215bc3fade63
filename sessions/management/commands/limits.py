"""`limits`: what the workspace says of models itself, over the catalogue; and what is known of one model."""

from __future__ import annotations

import argparse
from datetime import date
from typing import Any

from sessions import limits
from sessions.answers import model_row
from sessions.management.base import SessionsCommand, figures
from sessions.reckonings import limit_row, limit_rows


class Command(SessionsCommand):
    help = "List, set or drop what the workspace says of models; or show what is known of one."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--set", metavar="PATTERN", dest="put", help="say something of these models: * and ? stand for others"
        )
        what.add_argument("--drop", metavar="PATTERN", help="take back what was said: the catalogue holds again")
        what.add_argument("--show", metavar="MODEL", help="what is known of this model, and by whose word")
        for name in limits.TOKENS:
            parser.add_argument(f"--{name}", type=int, metavar="N", help=f"with --set: its {name} limit in tokens")
        for name in limits.PRICES:
            flag = name.replace("_", "-")
            parser.add_argument(f"--{flag}", metavar="USD", dest=name, help="with --set: US dollars a million tokens")
        parser.add_argument("--source", default="", metavar="WORDS", help="with --set: whose word it is")
        parser.add_argument(
            "--date", type=date.fromisoformat, metavar="DAY", help="with --set: as of when (default: today)"
        )
        parser.add_argument("--agent", default="", metavar="NAME", help="with --show: as this agent takes it")

    def act(self, options: dict[str, Any]) -> Any:
        workspace = self.workspace(options)
        if options["put"] is not None:
            given = {name: options[name] for name in (*limits.TOKENS, *limits.PRICES)}
            row = limits.put(workspace, options["put"], given, source=options["source"], date=options["date"])
            return {"set": limit_row(row)}
        if options["drop"] is not None:
            return {"dropped": limit_row(limits.drop(workspace, options["drop"]))}
        if options["show"] is not None:
            return {"model": model_row(workspace, options["show"], options["agent"])}
        return {"limits": limit_rows(limits.rows_of(workspace.pk))}

    def tell(self, value: Any) -> None:
        if "model" in value:
            row = value["model"]
            self.stdout.write(f"{row['model']}: {_limits(row)} ({row['source']}, {row['date'] or 'no date'})")
            self.stdout.write(f"price: {_prices(row)} ({row['price_source'] or 'not in the package'})")
            for note in row["notes"]:
                self.stdout.write(f"- {note}")
            return
        word = next(iter(value))
        rows = value[word] if isinstance(value[word], list) else [value[word]]
        if not rows:
            self.stdout.write("This workspace says nothing of models itself: the catalogue holds.")
        for row in rows:
            start = "" if word == "limits" else f"{word}: "
            self.stdout.write(
                f"{start}{row['pattern']}: {_limits(row)}; {_prices(row)} ({row['source']}, {row['date']})"
            )


def _limits(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {figures(row[name])}" for name in limits.TOKENS)


def _prices(row: dict[str, Any]) -> str:
    if row["price_input"] is None:
        return "price not said"
    said = [
        f"{name.removeprefix('price_').replace('_', ' ')} ${row[name]:g}"
        for name in limits.PRICES
        if row[name] is not None
    ]
    return f"a million tokens {', '.join(said)}"
