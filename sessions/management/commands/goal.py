"""`goal`: add, focus, complete, abandon or reopen a goal of a session; explore a question. An overlay: the source is never rewritten."""

from __future__ import annotations

import argparse
from typing import Any

from sessions import goalmarks
from sessions.goal_answers import marked_row
from sessions.management.base import SessionCommand
from sessions.models_goals import GoalMark

DONE = {
    "added": "Added",
    "focused": "Now worked on",
    "completed": "Completed",
    "abandoned": "Abandoned",
    "reopened": "Reopened",
    "explored": "Added the question",
}


class Command(SessionCommand):
    help = "Keep a session's goals: add, focus, done, abandon, reopen, explore. What the agent wrote stays as it is."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        # What all commands take may stand behind the verb too.
        shared = argparse.ArgumentParser(add_help=False)
        shared.add_argument("--json", action="store_true", dest="as_json", default=argparse.SUPPRESS, help="print JSON")
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=argparse.ArgumentParser)
        add = verbs.add_parser("add", parents=[shared], help="add a goal")
        add.add_argument("text", metavar="TEXT")
        add.add_argument("--under", metavar="PATH", help="the goal it stands under")
        add.add_argument("--focus", action="store_true", help="it is what is worked on from here")
        verbs.add_parser("focus", parents=[shared], help="what is worked on from here").add_argument(
            "path", metavar="PATH"
        )
        done = verbs.add_parser("done", parents=[shared], help="close a goal with what came of it")
        done.add_argument("path", metavar="PATH")
        done.add_argument("words", metavar="SUMMARY")
        abandon = verbs.add_parser("abandon", parents=[shared], help="give a goal up")
        abandon.add_argument("path", metavar="PATH")
        abandon.add_argument("words", metavar="REASON")
        verbs.add_parser("reopen", parents=[shared], help="take back that it was closed").add_argument(
            "path", metavar="PATH"
        )
        explore = verbs.add_parser("explore", parents=[shared], help="add a question and its branches")
        explore.add_argument("text", metavar="QUESTION")
        explore.add_argument("branches", metavar="BRANCH", nargs="+")
        explore.add_argument("--under", metavar="PATH", help="the goal it stands under")

    def act(self, options: dict[str, Any]) -> Any:
        pk = self.session(options).pk
        through = GoalMark.Through.COMMAND
        path = options.get("path") or ""
        match options["verb"]:
            case "add":
                done = goalmarks.add(
                    pk, text=options["text"], under=options["under"], focus=options["focus"], through=through
                )
            case "focus":
                done = goalmarks.focus(pk, path=path, through=through)
            case "done":
                done = goalmarks.complete(pk, path=path, summary=options["words"], through=through)
            case "abandon":
                done = goalmarks.abandon(pk, path=path, reason=options["words"], through=through)
            case "reopen":
                done = goalmarks.reopen(pk, path=path, through=through)
            case _:
                done = goalmarks.explore(
                    pk, question=options["text"], branches=options["branches"], under=options["under"], through=through
                )
        return marked_row(done)

    def tell(self, value: Any) -> None:
        goals = value["goals"]
        self.stdout.write(f"{DONE[value['verb']]}: {goals[0]['path']} {goals[0]['text']}")
        for branch in goals[1:]:
            self.stdout.write(f"  {branch['path']} {branch['text']}")
