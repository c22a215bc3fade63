"""`mcp`: serve goals to an agent over stdin and stdout, by the Model Context Protocol."""

from __future__ import annotations

import argparse
from typing import Any

from sessions.management.base import SessionsCommand
from sessions.naming import find_session


class Command(SessionsCommand):
    help = "Serve the tools `goal` and `explore` to an agent that starts this command as its MCP server."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--session", metavar="SESSION", help="whose goals are meant (default: the newest session of the folder)"
        )

    def answer(self, options: dict[str, Any]) -> None:
        # Read in only here: the protocol's library takes its time, and no other command needs it.
        from sessions.toolserver import server  # noqa: PLC0415

        workspace = self.workspace(options)
        name = options["session"]
        session = None if name is None else str(find_session(name, workspace=workspace).pk)
        server(workspace, session=session).run("stdio")
