"""`logs.json`: what people typed in all sessions of a project. Releases before 0.44 leave no other trace of a compaction."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

import orjson

from sessions.adapters.records import utc

FILE = "logs.json"
_MAKES = {"/compress": "compaction", "/rewind": "rewind"}


def commands(data: bytes) -> dict[str, list[tuple[str, datetime]]]:
    """By session: the kind of version that a command makes, and when it was typed. Nothing of a file in another form."""
    out: dict[str, list[tuple[str, datetime]]] = defaultdict(list)
    try:
        rows = orjson.loads(data)
    except orjson.JSONDecodeError:
        return out
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or not isinstance(row.get("message"), str):
            continue
        session, at = row.get("sessionId"), utc(row.get("timestamp"))
        kind = _MAKES.get(row["message"].strip().split(" ", 1)[0])
        if isinstance(session, str) and at is not None and kind is not None:
            out[session].append((kind, at))
    return out
