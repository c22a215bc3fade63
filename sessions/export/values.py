"""A session as JSON: what the API says of it and of each entry, one entry a line within the list."""

from __future__ import annotations

from typing import Any

import orjson

from sessions.export.choosing import Piece
from sessions.export.forms import About, Taken


class Values:
    """`entries` is written as they come; `redaction` stands at the end, when it is known."""

    def __init__(self) -> None:
        self._first = True

    def head(self, about: About) -> str:
        row = _text({"form": "palimpsest session 1", "session": about.row, "selection": about.selection})
        return f'{row[:-1]},"entries":[\n'

    def piece(self, piece: Piece) -> str:
        comma = "" if self._first else ",\n"
        self._first = False
        return comma + _text(
            {
                "seq": piece.seq,
                "kind": piece.kind,
                "turn": piece.turn,
                "at": None if piece.at is None else piece.at.isoformat(),
                "tokens": piece.tokens,
                "ghost": piece.ghost,
                "masked": piece.masked,
                "sent": piece.sent,
                "problem": piece.problem,
                "parts": [part.to_json() for part in piece.parts],
            }
        )

    def foot(self, about: About, taken: Taken) -> str:
        return f'\n],"redaction":{_text({"on": about.redacted, "total": taken.total, "kinds": dict(taken.kinds)})},"count":{taken.entries}}}\n'


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()
