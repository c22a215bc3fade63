"""`cost`: what a session's requests cost, by model; and what a change of version costs at the cache."""

from __future__ import annotations

import argparse
from typing import Any

from sessions.answers import broken_of, steps_of
from sessions.costs import cost_of
from sessions.management.base import SessionCommand, counted
from sessions.reckonings import cost_row

STEPS = 10_000


class Command(SessionCommand):
    help = "Say what a session cost, by the prices of the day of each request."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--steps", action="store_true", help=f"each request too, the first {STEPS:,}")
        parser.add_argument("--to", type=int, metavar="V", help="what moving to version V costs at the cache")
        parser.add_argument("--since", type=int, metavar="V", help="with --to: from version V instead of its parent")

    def act(self, options: dict[str, Any]) -> Any:
        session = self.session(options)
        found: dict[str, Any] = {"session": str(session.pk), **cost_row(cost_of(session))}
        if options["steps"]:
            found["steps"] = steps_of(session, after=0, count=STEPS)["items"]
        if options["to"] is not None:
            found["cache_break"] = broken_of(session, to=options["to"], since=options["since"])
        return found

    def tell(self, value: Any) -> None:
        self.stdout.write(f"{money(value['usd'])}{'' if value['complete'] else ' for what has a price'}")
        for one in value["models"]:
            when = one["since"] if one["since"] == one["until"] else f"{one['since']} to {one['until']}"
            self.stdout.write(
                f"{one['model'] or 'no model recorded'}: {money(one['usd'])}, {counted(one['requests'], 'request')}, {when}"
                f" ({one['source'] or 'no price known'})"
            )
        if value["saved_by_cache_usd"] is not None:
            self.stdout.write(f"Without a cache: {money(value['uncached_usd'])}")
        for step in value.get("steps", ()):
            self.stdout.write(f"step {step['n']:>6,}  {money(step['usd'])}")
        if "cache_break" in value:
            found = value["cache_break"]
            self.stdout.write(f"v{found['from']} → v{found['to']}: {found['sentence']}")
        for note in value["notes"]:
            self.stdout.write(f"- {note}")


def money(usd: float | None) -> str:
    """An amount for a person: small ones to a hundredth of a cent."""
    return "not known" if usd is None else f"${usd:,.2f}" if abs(usd) >= 1 else f"${usd:.4f}"
