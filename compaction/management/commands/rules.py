"""`rules`: when sessions are compacted without being asked for one by one. None by default."""

from __future__ import annotations

import argparse
from typing import Any

from compaction import rules
from compaction.management.commands.compact import parameters
from compaction.models import Rule
from compaction.standing import looks_json, rule_json
from compaction.strategies import RECOMMENDED
from sessions.management.base import SessionsCommand
from sessions.naming import find_session


class Command(SessionsCommand):
    help = "List, add or drop rules for automatic compactions. Without a rule nothing is compacted by itself."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--add", choices=Rule.When.values, metavar="WHEN", help=f"one of: {', '.join(Rule.When.values)}"
        )
        what.add_argument("--drop", type=int, metavar="ID", help="take a rule back")
        what.add_argument("--looks", action="store_true", help="what the rules saw last, and what they did")
        scope = parser.add_mutually_exclusive_group()
        scope.add_argument("--session", metavar="SESSION", help="with --add: for this session alone")
        scope.add_argument("--project", metavar="NAME", help="with --add: for the sessions of a project")
        add = parser.add_argument
        add(
            "--window-rule",
            metavar="NAME",
            help="with --add threshold: whose threshold (default: the session's own agent's)",
        )
        add("--strategy", metavar="NAME", help=f"default: {RECOMMENDED}; for goals goal-tree")
        add(
            "--set", action="append", default=[], metavar="KEY=VALUE", dest="params", help="set a parameter; repeatable"
        )
        add("--summariser", default="extractive", metavar="NAME", help="extractive or llm")
        add("--model", metavar="PROVIDER:NAME", help="with --summariser llm: one of those configured")
        stands = "where the model writes none, take the extractive summary"
        add("--or-extractive", action="store_true", dest="extractive_allowed", help=stands)
        add("--off", action="store_true", help="with --add: a rule that keeps a wider one out")

    def act(self, options: dict[str, Any]) -> Any:
        workspace = self.workspace(options)
        if options["add"] is not None:
            session = None if options["session"] is None else find_session(options["session"], workspace=workspace)
            goals = options["add"] != Rule.When.THRESHOLD
            rule = rules.put(
                workspace,
                options["add"],
                session=session,
                project=options["project"],
                window_rule=options["window_rule"],
                strategy=options["strategy"] or ("goal-tree" if goals else RECOMMENDED),
                params=parameters(options["params"]),
                summariser=options["summariser"],
                model=options["model"],
                extractive_allowed=options["extractive_allowed"],
                on=not options["off"],
            )
            return {"added": rule_json(rule)}
        if options["drop"] is not None:
            return {"dropped": rule_json(rules.drop(workspace, options["drop"]))}
        found = rules.rules_of(workspace)
        if options["looks"]:
            return {"looks": looks_json(found)}
        return {"rules": [rule_json(rule) for rule in found]}

    def tell(self, value: Any) -> None:
        if "looks" in value:
            for look in value["looks"] or []:
                run = f", run {look['run']}" if look["run"] else ""
                self.stdout.write(
                    f"rule {look['rule']} on {look['session'][:8]}: {look['outcome']}{run}; {look['words']}"
                )
            if not value["looks"]:
                self.stdout.write("No rule has looked at anything yet.")
            return
        word = next(iter(value))
        rows = value[word] if isinstance(value[word], list) else [value[word]]
        if not rows:
            self.stdout.write("No rules: nothing is compacted by itself.")
        for row in rows:
            start = "" if word == "rules" else f"{word}: "
            where = f"session {row['session'][:8]}" if row["session"] else row["project"] or "all sessions"
            whose = f" of {row['window_rule']}" if row["window_rule"] else ""
            writer = row["model"] or row["summariser"]
            off = "" if row["on"] else ", off"
            self.stdout.write(f"{start}{row['id']}: {row['when']}{whose} in {where}: {row['strategy']}, {writer}{off}")
