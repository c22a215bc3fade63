"""What sources of one agent share is settled by one at a time."""

from __future__ import annotations

from typing import Any

from django.db import connection


def in_turn(workspace_id: Any, agent: str) -> None:
    """Wait until nobody else of the workspace settles what this agent's sources share; held until the transaction ends.

    Sources are read at the same time, and see nothing of each other until they are committed. To be called when a source is read and
    before it is looked whether its bytes, its answers, its base or its sidecars are here: then of two the second finds the first.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 2))", [f"{workspace_id}|{agent}"])
