"""Makes a file of a session, piece by piece: memory does not grow with the session."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from sessions.answers import session_row
from sessions.entries import Part
from sessions.export.choosing import FORMS, Piece, Wanted, pieces
from sessions.export.forms import About, Form, Taken, legible, moment
from sessions.export.markdown import Markdown
from sessions.export.page import Page
from sessions.export.secrets import Redaction
from sessions.export.values import Values
from sessions.models import Session
from sessions.versions import Refused

TYPES: Mapping[str, str] = {"md": "text/markdown", "html": "text/html", "json": "application/json"}
_MADE: Mapping[str, Callable[[], Form]] = {"md": Markdown, "html": Page, "json": Values}
BLOCK = 64 << 10  # characters that are gathered before they are given on


def export(session: Session, wanted: Wanted) -> Iterator[bytes]:
    """The file, in blocks. Refused, before the first of them, for entries or a version that there are none of."""
    if wanted.form not in FORMS:
        raise Refused("usage", f"There is no form “{wanted.form[:20]}”; there are: {', '.join(FORMS)}.")
    return _written(session, wanted, pieces(session, wanted))


def _written(session: Session, wanted: Wanted, found: Iterator[Piece]) -> Iterator[bytes]:
    redaction = Redaction()
    clean: Callable[[str], str] = redaction.text if wanted.redact else lambda text: text
    form = _MADE[wanted.form]()
    about = _about(session, wanted, clean)
    held = [form.head(about)]
    size = count = 0
    for piece in found:
        count += 1
        text = form.piece(_without_secrets(piece, redaction) if wanted.redact else piece)
        held.append(text)
        size += len(text)
        if size >= BLOCK:
            yield "".join(held).encode("utf-8", "replace")
            held, size = [], 0
    held.append(form.foot(about, Taken(redaction.kinds, count)))
    yield "".join(held).encode("utf-8", "replace")


def _about(session: Session, wanted: Wanted, clean: Callable[[str], str]) -> About:
    facts = [
        ("agent", f"{session.agent} {session.agent_version or ''}".strip()),
        ("session", str(session.native_id or session.pk)),
        ("project", session.project),
        ("branch", session.branch),
        ("began", None if session.started_at is None else moment(session.started_at)),
        ("ended", None if session.last_at is None else moment(session.last_at)),
    ]
    row: dict[str, Any] = orjson.loads(clean(orjson.dumps(session_row(session), default=str).decode()))
    return About(
        legible(clean(session.title or "Untitled session")),
        tuple((name, legible(clean(value))) for name, value in facts if value),
        _selection(session, wanted),
        wanted.redact,
        row,
    )


def _selection(session: Session, wanted: Wanted) -> str:
    """What the file holds, in words."""
    if wanted.context:
        version = "" if wanted.v is None else f" at v{wanted.v}"
        words = f"the context as the model sees it{version}"
    else:
        words = f"all {session.entries_count:,}, records that are never sent left out" if not wanted.entries else ""
    if wanted.entries:
        words = (
            f"{words}, of entries {legible(wanted.entries)}"
            if words
            else f"{legible(wanted.entries)} of {session.entries_count:,}"
        )
    chips = [legible(str(said)) for said, _rest in wanted.narrowed.chips] if not wanted.context else []
    return f"{words}; narrowed to {', '.join(chips)}" if chips else words


def _without_secrets(piece: Piece, redaction: Redaction) -> Piece:
    return replace(
        piece,
        parts=[_part(part, redaction) for part in piece.parts],
        problem=None if piece.problem is None else redaction.text(piece.problem),
    )


def _part(part: Part, redaction: Redaction) -> Part:
    """A part without secrets: its words, and what its adapter keeps of it beside them."""
    meta = part.meta
    if meta:
        whole = orjson.dumps(meta, default=str).decode()
        bare = Redaction()
        kept = bare.text(whole)
        if bare.total:
            try:
                meta = orjson.loads(kept)
            except orjson.JSONDecodeError:
                meta = {"redacted": True}
            redaction.kinds.update(bare.kinds)
    return replace(part, text=redaction.text(part.text), meta=meta)


def name_of(session: Session, form: str) -> str:
    """What the file is called."""
    words = (
        re.sub(r"[^\w-]+", "-", (session.title or session.project or session.agent)[:50], flags=re.ASCII)
        .strip("-")
        .lower()
    )
    return f"{words or session.agent}-{str(session.pk)[:8]}.{form}"
