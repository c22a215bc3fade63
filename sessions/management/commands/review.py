"""`review`: say of goals that were given up where their review stands; without a state, what was said so far."""

from __future__ import annotations

import argparse
from typing import Any

from django.db import transaction

from sessions import reviewing
from sessions.goal_answers import abandonment_row, review_row
from sessions.management.base import SessionsCommand, counted, first_line
from sessions.models_goals import Abandonment
from sessions.versions import Refused


class Command(SessionsCommand):
    help = "Say of goals that were given up where their review stands, or of which class their reason is. Nothing said is lost."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("numbers", type=int, nargs="+", metavar="NUMBER", help="of a goal, as `abandoned` has it")
        parser.add_argument("--state", choices=Abandonment.Review.values, help="where its review stands from now on")
        parser.add_argument("--comment", default="", metavar="WORDS", help="kept with the change")
        parser.add_argument("--assignee", default="", metavar="NAME", help="a member who sees to it; - for nobody")
        parser.add_argument("--cause", choices=Abandonment.Cause.values, help="of which class the reason really is")

    def act(self, options: dict[str, Any]) -> Any:
        workspace, numbers = self.workspace(options), options["numbers"]
        rows = Abandonment.objects.filter(workspace=workspace).in_bulk(numbers)
        missing = [number for number in numbers if number not in rows]
        if missing:
            raise Refused("none", f"No goal that was given up has the number {missing[0]}; `abandoned` lists them.")
        state = options["state"]
        if state is None and (options["comment"] or options["assignee"]):
            raise Refused("usage", "A comment or an assignee goes with a state: --state follow_up.")
        changed = 0
        with transaction.atomic():
            for number in numbers if options["cause"] else ():
                reviewing.correct(number, cause=options["cause"])
            if state is not None:
                said = {"comment": options["comment"], "assignee": options["assignee"]}
                changed = len(reviewing.review(workspace, numbers, state=state, **said))
        rows = Abandonment.objects.select_related("assignee").in_bulk(numbers)
        items = [
            abandonment_row(rows[number]) | {"history": [review_row(one) for one in reviewing.history_of(rows[number])]}
            for number in dict.fromkeys(numbers)
        ]
        return {"changed": changed, "items": items}

    def tell(self, value: Any) -> None:
        if value["changed"]:
            self.stdout.write(f"{counted(value['changed'], 'goal')} changed.")
        for row in value["items"]:
            whose = f", for {row['assignee']}" if row["assignee"] else ""
            self.stdout.write(f"{row['id']:<6} {row['review']}{whose} · {row['cause']} · {first_line(row['text'], 80)}")
            for one in row["history"]:
                words = f": {first_line(one['comment'], 100)}" if one["comment"] else ""
                self.stdout.write(
                    f"       {one['at'][:16]} {one['by'] or 'a program'}, {one['before']} -> {one['after']}{words}"
                )
