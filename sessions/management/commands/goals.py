"""`goals`: a session's goal tree with the work on each goal."""

from __future__ import annotations

import argparse
from typing import Any

from sessions.carrying import carried_of
from sessions.goal_answers import tree_of
from sessions.management.base import SessionCommand, counted, first_line

SIGNS = {"pending": "○", "in_progress": "◐", "completed": "●", "abandoned": "✗", "dropped": "✗"}


class Command(SessionCommand):
    help = "The goal tree of a session, with the work on each goal; with --carried what became of open goals in each compaction."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--carried", action="store_true", help="which open goals each compaction carried, reworded or lost"
        )

    def act(self, options: dict[str, Any]) -> Any:
        session = self.session(options)
        return (
            {"session": str(session.pk), "compactions": carried_of(session)} if options["carried"] else tree_of(session)
        )

    def tell(self, value: Any) -> None:
        if "compactions" in value:
            self._tell_carried(value["compactions"])
            return
        if not value["goals"]:
            self.stdout.write("No goals in this session.")
            return
        if value["inferred"]:
            self.stdout.write("This agent kept no plan: each request is taken as a goal.")
        for row in value["goals"]:
            indent = "  " * row["path"].count(".")
            mark = " <- now" if row["current"] else ""
            head = f"{indent}{SIGNS.get(row['status'], '?')} {row['path']:<5} {first_line(row['text'], 70)}{mark}"
            self.stdout.write(head)
            said = [counted(row["entries"], "entry", "entries"), counted(row["tokens"], "token")]
            said += [counted(row[name], one) for name, one in (("steps", "step"), ("errors", "error")) if row[name]]
            if row["tests"]:
                said.append(f"{counted(row['tests'], 'test run')}, {row['tests_failed']} failed")
            if row["cost"] is not None:
                said.append(f"${row['cost']:.2f}")
            self.stdout.write(f"{indent}        {' · '.join(said)}")
            found = row["abandonment"]
            if found is not None:
                why = found["reason"] or found["why_found"]
                self.stdout.write(f"{indent}        {row['status']} ({found['cause']}): {first_line(why, 120)}")
            elif row["note"]:
                self.stdout.write(f"{indent}        {first_line(row['note'], 120)}")

    def _tell_carried(self, compactions: list[dict[str, Any]]) -> None:
        if not compactions:
            self.stdout.write("Nothing was compacted in this session.")
        for over in compactions:
            said = " · ".join(f"{over[fate]} {fate}" for fate in ("carried", "reworded", "lost"))
            self.stdout.write(f"v{over['version']} {over['kind']}: {said if over['goals'] else 'no goal was open'}")
            for row in over["goals"]:
                again = f" (stated again at {row['stated_again']})" if row["stated_again"] is not None else ""
                self.stdout.write(f"  {row['fate']:<8} {row['path']:<5} {first_line(row['text'], 90)}{again}")
