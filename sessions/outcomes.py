"""What came of things, in a few words: 80 lines, 9 files, 41 s, image/png. For the one row that an entry is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sessions.entries import Part, PartKind
from sessions.outputs import printed, seconds_of


def outcome(nature: str, part: Part) -> str:
    """What came back. `nature`: of the call; "" where it is not known."""
    meta = part.meta
    words: list[str] = []
    if nature in ("edit", "write", "plan") and not part.is_error:
        return took_words(meta)  # the call's own line says it already
    span = meta.get("lines")
    if isinstance(span, list) and len(span) == 2:
        words.append(_span(span, meta.get("total_lines")))
    elif isinstance(meta.get("files"), int) and meta["files"] > 0:
        words.append(ngettext("%(n)s file", "%(n)s files", meta["files"]) % {"n": f"{meta['files']:,}"})
    elif part.text:
        text = printed(part).text if nature == "shell" else part.text
        words.append(lines_words(text))
    if isinstance(meta.get("tool_uses"), int):
        words.append(ngettext("%(n)s call", "%(n)s calls", meta["tool_uses"]) % {"n": f"{meta['tool_uses']:,}"})
    if isinstance(meta.get("tokens"), int):
        words.append(_("%(n)s tokens in its own context") % {"n": f"{meta['tokens']:,}"})
    words.append(took_words(meta))
    if meta.get("interrupted"):
        words.append(_("interrupted"))
    if meta.get("background"):
        words.append(_("in the background"))
    return " · ".join(word for word in words if word)


def _span(span: Sequence[Any], total: Any) -> str:
    first, last = span
    if isinstance(total, int) and first <= 1 and last >= total:
        return ngettext("%(n)s line", "%(n)s lines", last - first + 1) % {"n": f"{last - first + 1:,}"}
    said = _("lines %(first)s–%(last)s") % {"first": f"{first:,}", "last": f"{last:,}"}
    return said + (" " + _("of %(total)s") % {"total": f"{total:,}"} if isinstance(total, int) else "")


def took_words(meta: Mapping[str, Any]) -> str:
    """How long it took, where that is worth a word: from one second on."""
    seconds = seconds_of(meta)
    if seconds is None or seconds < 1:
        return ""
    return f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def exit_code(nature: str, part: Part) -> int | None:
    """How a command ended; None for all that are no commands, whatever their record says."""
    return printed(part).exit_code if nature == "shell" else None


def lines_words(text: str) -> str:
    """How many lines, from two on."""
    count = text.rstrip("\n").count("\n") + 1 if text.strip() else 0
    return ngettext("%(n)s line", "%(n)s lines", count) % {"n": f"{count:,}"} if count > 1 else ""


def media_words(parts: Sequence[Part]) -> str:
    """The media of an entry by type and size; of more than four the number of the rest."""
    media = [part for part in parts if part.kind is PartKind.MEDIA]
    said = [
        f"{part.media_type or 'media'}" + (f", {part.media_bytes:,} bytes" if part.media_bytes else "")
        for part in media[:4]
    ]
    if len(media) > 4:
        said.append(_("and %(n)s more") % {"n": len(media) - 4})
    return ", ".join(said)
