"""A session as Markdown. Its own markup is ours; HTML in what was said is written so that no viewer takes it for markup."""

from __future__ import annotations

import re

from sessions.entries import PartKind
from sessions.export.choosing import Piece
from sessions.export.forms import About, Taken, call_said, marks, media_said, redaction_said, said, speaker

_CODE = re.compile(r"(?ms)^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]*\s*$|(`+)(?!`).+?(?<!`)\2(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_TICKS = re.compile(r"`{3,}")


class Markdown:
    """One heading an entry; calls and outputs as fenced code, whole."""

    def head(self, about: About) -> str:
        facts = "".join(f"- {name}: {_inert(value)}\n" for name, value in about.facts)
        secrets = (
            "- secrets: redacted; the end of this file says which kinds\n"
            if about.redacted
            else "- secrets: **not redacted**\n"
        )
        return f"# {_inert(about.title)}\n\n{facts}- entries: {about.selection}\n{secrets}\n"

    def piece(self, piece: Piece) -> str:
        number = "" if piece.seq is None else f"{piece.seq} · "
        beside = "".join(f" · {one}" for one in marks(piece))
        out = [f"## {number}{speaker(piece)}{_line(beside)}\n"]
        for part in piece.parts:
            match part.kind:
                case PartKind.TOOL_CALL:
                    name, text, language = call_said(part)
                    out.append(f"**{_inert(name)}**\n\n{_fenced(text, language)}")
                case PartKind.TOOL_RESULT | PartKind.OTHER | PartKind.MARKER:
                    out.append(_fenced(said(part), ""))
                case PartKind.MEDIA:
                    out.append(f"*{_inert(media_said(part))}*\n")
                case _:
                    text = _inert(said(part))
                    quoted = piece.kind in ("prompt", "command", "context", "reasoning")
                    out.append(
                        "\n".join(f"> {line}".rstrip() for line in text.split("\n")) + "\n" if quoted else f"{text}\n"
                    )
        return "\n".join(out) + "\n"

    def foot(self, about: About, taken: Taken) -> str:
        return f"---\n\n{taken.entries:,} entries. {redaction_said(about, taken)}\n"


def _inert(text: str) -> str:
    """The text with its tags as text; in code they are text already."""
    out: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        out += [_TAG.sub("&lt;", text[at : code.start()]), code[0]]
        at = code.end()
    return "".join((*out, _TAG.sub("&lt;", text[at:])))


def _line(text: str) -> str:
    return _inert(text.replace("\n", " "))


def _fenced(text: str, language: str) -> str:
    """A fence longer than any in the text, so that none of it gets out."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}\n"
