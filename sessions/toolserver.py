"""A server of tools for agents, by the Model Context Protocol: any agent keeps its goals here, in the tree that people see.

It speaks on stdin and stdout, one agent to one process, as agents start such servers; nothing else is written there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any

from django.db import connection
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from sessions import goaltool
from sessions.models import Session
from sessions.naming import Ambiguous, NoSuchSession
from sessions.versions import Refused

INSTRUCTIONS = (
    "Keep the goals of your session here, so that they outlive a compaction and people can follow them. Add a goal before you work on it, "
    "turn to it with focus, close it with what came of it, or give it up with the reason: a reason that names the cause spares the next "
    "attempt. Call `goal` without arguments to read the tree, above all after your context was compacted."
)
_SESSION = "Id of the session, ours or your own. Left out: the newest session of the folder this server runs in."


def server(workspace: Any, *, session: str | None = None) -> MCPServer:
    """The server for a workspace. `session`: the one it is for, where an agent names none."""
    tools = MCPServer("palimpsest", title="Palimpsest", instructions=INSTRUCTIONS)

    def asked(name: str | None, verb: Callable[[Session], str]) -> str:
        """Carry out a verb in this thread, with a connection of its own that goes back to the pool."""
        try:
            return verb(goaltool.chosen(workspace, name=name, default=session, folder=os.getcwd()))  # noqa: PTH109 -- as text
        except (Refused, NoSuchSession, Ambiguous) as refusal:
            raise ToolError(str(refusal)) from refusal
        finally:
            connection.close()

    @tools.tool(
        description="Read or change the tree of goals. Without arguments: the tree. One call may close a goal, add the next and turn to it."
    )
    def goal(
        add: Annotated[str | None, Field(description="Words of a goal to add.")] = None,
        under: Annotated[str | None, Field(description="Path of the goal it stands under.")] = None,
        focus: Annotated[str | None, Field(description="Path of the goal you work on from here.")] = None,
        done: Annotated[str | None, Field(description="Close a goal: what came of it.")] = None,
        abandon: Annotated[str | None, Field(description="Give a goal up: why, with the cause.")] = None,
        reopen: Annotated[str | None, Field(description="Path of a closed goal to open again.")] = None,
        path: Annotated[
            str | None, Field(description="Which goal is done or abandoned; left out: the one in progress.")
        ] = None,
        session: Annotated[str | None, Field(description=_SESSION)] = None,
    ) -> str:
        return asked(
            session,
            lambda found: goaltool.work(
                found, add=add, under=under, focus=focus, done=done, abandon=abandon, reopen=reopen, path=path
            ),
        )

    @tools.tool(
        description="Open a question with two to eight branches that may answer it. Each branch is a goal: close it with what it came to."
    )
    def explore(
        question: Annotated[str, Field(description="What is to be found out.")],
        branches: Annotated[list[str], Field(description="The ways to look, one line each.")],
        under: Annotated[str | None, Field(description="Path of the goal it serves.")] = None,
        session: Annotated[str | None, Field(description=_SESSION)] = None,
    ) -> str:
        return asked(session, lambda found: goaltool.explore(found, question=question, branches=branches, under=under))

    return tools
