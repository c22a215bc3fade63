"""`goals`: a session's goal tree with the work on each goal."""

from __future__ import annotations

from typing import Any

from sessions.goal_answers import tree_of
from sessions.management.base import SessionCommand, counted, first_line

SIGNS = {"pending": "○", "in_progress": "◐", "completed": "●", "abandoned": "✗", "dropped": "✗"}


class Command(SessionCommand):
    help = "The goal tree of a session, with the work on each goal."

    def act(self, options: dict[str, Any]) -> Any:
        return tree_of(self.session(options))

    def tell(self, value: Any) -> None:
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
