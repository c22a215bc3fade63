"""`edit`: change a session's context by hand, as a new version."""

from __future__ import annotations

import argparse
from typing import Any

from compaction.editing import edit, foresee
from compaction.handforms import TAKES, VERBS, change_of
from compaction.handwork import Impossible
from sessions.management.base import SessionCommand, figures
from sessions.versions import Refused


class Command(SessionCommand):
    help = "Change the context by hand: a new version becomes the head. `undo` takes it back; --preview only weighs it."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        fields = "; ".join(f"{verb}: --{' --'.join(TAKES[verb])}" for verb in VERBS)
        parser.add_argument("do", metavar="WHAT", choices=VERBS, help=f"one of {', '.join(VERBS)} ({fields})")
        parser.add_argument("--entries", default="", metavar="12-40,55", help="entries to fold, both ends included")
        parser.add_argument("--entry", default="", metavar="SEQ", help="the entry with the result")
        parser.add_argument(
            "--after", default="", metavar="SEQ", help="the entry after which a note is put in; -1: before all"
        )
        parser.add_argument(
            "--insertion", default="", metavar="N", help="what was put in, by its number in the version"
        )
        parser.add_argument("--text", default="", help="the words that stand there")
        parser.add_argument("--preview", action="store_true", help="say what it would weigh and write nothing")

    def act(self, options: dict[str, Any]) -> dict[str, Any]:
        session = self.session(options)
        try:
            change = change_of(options["do"], options)
        except Impossible as error:
            raise Refused("impossible", f"{error}.") from error
        seen = foresee(session, change)
        if options["preview"]:
            return {**seen.to_json(), "version": None}
        moved = edit(session.pk, change)
        return {**seen.to_json(), "version": moved.now.n}

    def tell(self, value: Any) -> None:
        tokens = value["tokens"]
        made = (
            "Nothing is written."
            if value["version"] is None
            else f"v{value['version']} is the head; `undo` takes it back."
        )
        self.stdout.write(
            f"{value['does']}: {figures(tokens['before'])} → {figures(tokens['after'])} tokens ({tokens['meter']}). {made}"
        )
        for note in value["notes"]:
            self.stdout.write(f"  note     {note}")
