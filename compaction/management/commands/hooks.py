"""`hooks`: who is asked before and after a compaction."""

from __future__ import annotations

import argparse
from typing import Any

from compaction.hooks import keeping
from compaction.models import Hook
from compaction.standing import hook_json
from sessions.management.base import SessionsCommand


class Command(SessionsCommand):
    help = "List, add, switch or drop hooks. An HTTP hook's signing secret is printed once, when it is added."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--add", metavar="NAME", help="add a hook, or put it in the place of one of this name")
        what.add_argument("--drop", metavar="NAME", help="take a hook back")
        what.add_argument("--on", metavar="NAME", help="switch a hook on")
        what.add_argument("--off", metavar="NAME", help="switch a hook off")
        add = parser.add_argument
        add("--event", choices=Hook.Event.values, default="pre_compact", help="with --add (default: pre_compact)")
        add("--http", metavar="ADDRESS", help="with --add: a signed POST to this address")
        add("--prompt", metavar="QUESTION", help="with --add: a question to the configured model")
        add("--python", metavar="NAME", help="with --add: a function of an installed package (group palimpsest.hooks)")
        add("--command", metavar="JSON", help='with --add: a command as a JSON list of words ["…"]')
        add("--only", choices=("manual", "automatic"), help="with --add: only for such runs")
        add("--timeout", type=int, default=10, metavar="SECONDS", help="with --add (default: 10)")
        add("--private", action="store_true", help="with --add --http: addresses that are not public may be asked")

    def act(self, options: dict[str, Any]) -> Any:
        workspace = self.workspace(options)
        if options["add"] is not None:
            given = [(kind, options[kind]) for kind in Hook.Kind.values if options[kind] is not None]
            kind, target = given[0] if len(given) == 1 else ("", "")
            hook, secret = keeping.put(
                workspace,
                options["add"],
                event=options["event"],
                kind=kind,
                target=target,
                only=options["only"],
                timeout=options["timeout"],
                private=options["private"],
            )
            return {"added": hook_json(hook) | {"secret": secret}}
        if options["drop"] is not None:
            return {"dropped": keeping.drop(workspace, options["drop"])}
        if options["on"] or options["off"]:
            hook = keeping.switch(workspace, options["on"] or options["off"], on=options["on"] is not None)
            return {"switched": hook_json(hook)}
        return {"hooks": [hook_json(hook) for hook in keeping.hooks_in(workspace)]}

    def tell(self, value: Any) -> None:
        if "dropped" in value:
            self.stdout.write(f"dropped: {value['dropped']}")
            return
        word = next(iter(value))
        rows = value[word] if isinstance(value[word], list) else [value[word]]
        if not rows:
            self.stdout.write("No hooks: nobody is asked.")
        for row in rows:
            start = "" if word == "hooks" else f"{word}: "
            off = "" if row["on"] else ", off"
            self.stdout.write(f"{start}{row['name']}: {row['event']}, {row['kind']} {row['target']}{off}")
            if row.get("secret"):
                self.stdout.write(f"secret (shown once): {row['secret']}")
