"""`rollback`: a new version that hides everything after a turn, a step, an entry or the start of a goal."""

from __future__ import annotations

import argparse
from typing import Any

from compaction.rollingback import POINTS, foresee, go_back
from sessions.answers import moved_row
from sessions.management.base import SessionCommand, counted, figures, first_line
from sessions.management.moves import told
from sessions.models_goals import GoalMark


class Command(SessionCommand):
    help = "Roll back: a new version hides everything after the point and becomes the head. `undo` takes it back."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        point = parser.add_mutually_exclusive_group(required=True)
        point.add_argument("--to-turn", type=int, metavar="N", help="keep up to the end of this turn")
        point.add_argument("--to-step", type=int, metavar="N", help="keep up to the end of this step, results included")
        point.add_argument("--to-entry", type=int, metavar="SEQ", help="keep up to this entry")
        point.add_argument("--to-goal", metavar="PATH", help="keep up to the start of this goal")
        parser.add_argument("--reason", default="", help="why, for the record")
        abandon = "give up the goal that was worked on, for that reason"
        parser.add_argument("--abandon-goal", action="store_true", dest="abandon", help=abandon)
        notice = "tell the agent what was tried and why it was taken back"
        parser.add_argument("--notice", action="store_true", help=notice)
        parser.add_argument("--preview", action="store_true", help="say what goes and write nothing")

    def act(self, options: dict[str, Any]) -> Any:
        to = {name: options[name] for name in POINTS if options[name] is not None}
        session = self.session(options)
        if options["preview"]:
            return foresee(session, reason=options["reason"], **to).to_json()
        moved = go_back(
            session.pk,
            reason=options["reason"],
            abandon=options["abandon"],
            notice=options["notice"],
            through=GoalMark.Through.COMMAND,
            **to,
        )
        return moved_row(moved)

    def tell(self, value: Any) -> None:
        if "goes" not in value:
            self.stdout.write(told("Rolled back", value))
            return
        goes, tokens, said = value["goes"], value["tokens"], self.stdout.write
        said(f"Back to {value['to']}: {counted(goes['entries'], 'entry', 'entries')} would go. Nothing is written.")
        said(f"  tokens   {figures(tokens['before'])} → {figures(tokens['after'])} ({tokens['meter']})")
        for turn in goes["turns"]:
            said(f"  turn     {turn['turn']}  {first_line(turn['title'], 80)}")
        if goes["tools"]:
            said("  calls    " + ", ".join(f"{tool} {count}" for tool, count in goes["tools"].items()))
        for file in goes["files"]:
            said(f"  file     {file['path']} (what it was is known: {file['known']})")
        for error in goes["errors"][-5:]:
            said(f"  error    {error['entry']}  {first_line(error['words'], 100)}")
        for note in value["notes"]:
            said(f"  note     {note}")
