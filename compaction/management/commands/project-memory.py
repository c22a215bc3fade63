# ruff: noqa: N999 -- the name of the command, as it is typed
"""`project-memory`: what sessions taught, proposed, accepted or rejected."""

from __future__ import annotations

import argparse
from typing import Any

from compaction import project_memory
from compaction.models_memory import ProjectNote
from compaction.plan import Learned
from compaction.reinject.learned import index
from sessions.management.base import SessionsCommand
from sessions.naming import find_session


class Command(SessionsCommand):
    help = "List what sessions taught, propose what one did, accept or reject a note. Nothing that nobody accepted reaches a context."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--propose", metavar="SESSION", help="propose what this session taught")
        what.add_argument(
            "--accept", type=int, metavar="ID", help="accept a note, in the words of --wording where given"
        )
        what.add_argument("--reject", type=int, metavar="ID", help="reject a note; it is not proposed again")
        what.add_argument("--reopen", type=int, metavar="ID", help="leave a note to be decided again")
        what.add_argument("--add", metavar="TEXT", help="a note of your own, with --kind")
        parser.add_argument("--wording", metavar="TEXT", help="with --accept: in these words")
        parser.add_argument("--kind", choices=ProjectNote.Kind.values, default="project", help="with --add")
        parser.add_argument("--project", metavar="NAME", help="of this project alone; with --add: for it")
        parser.add_argument("--state", choices=ProjectNote.State.values, help="only notes in this state")

    def act(self, options: dict[str, Any]) -> Any:
        workspace = self.workspace(options)
        if options["propose"] is not None:
            found = project_memory.propose_from(find_session(options["propose"], workspace=workspace))
            return {"notes": [project_memory.note_json(row) for row in found], "index": None}
        for what in ("accept", "reject", "reopen"):
            if options[what] is not None:
                row = project_memory.decide(workspace, options[what], what, wording=options["wording"])
                return {"notes": [project_memory.note_json(row)], "index": None}
        if options["add"] is not None:
            given = {"project": options["project"] or "", "kind": options["kind"], "text": options["add"]}
            return {"notes": [project_memory.note_json(project_memory.add(workspace, **given))], "index": None}
        notes = list(
            project_memory.notes_in(workspace, project=options["project"], state=options["state"])[
                : project_memory.MOST
            ]
        )
        holds = [Learned(row.kind, row.words) for row in notes if row.state == ProjectNote.State.ACCEPTED]
        return {"notes": [project_memory.note_json(row) for row in notes], "index": index(holds) or None}

    def tell(self, value: Any) -> None:
        for row in value["notes"]:
            self.stdout.write(
                f"{row['id']}  {row['state']}, {row['kind']}, {row['project'] or 'all projects'}: {row['text']}"
            )
        if not value["notes"]:
            self.stdout.write("No notes.")
