"""Differences as tables: one under the other with signs, or side by side. Safe HTML; what is left out is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from sessions.ansi import plain
from sessions.hunks import Hunk, Row, beside, changed
from sessions.render import LONG_LINE, cut_line, words

LINES = 120  # lines of a difference shown before all of it is asked for

_CLASS = {"+": "added", "−": "removed", " ": "same"}


def diff(hunks: Sequence[Hunk], *, limit: int = LINES, split: bool = False) -> SafeString:
    """Hunks as tables. At most `limit` lines, and it says how many there are. `split`: before at the left, after at the right."""
    left = limit
    shown: list[SafeString] = []
    total = sum(len(hunk.lines) for hunk in hunks)
    for hunk in hunks:
        if left <= 0:
            break
        rows = hunk.lines[:left]
        left -= len(hunk.lines)
        head = format_html("<caption>{}</caption>", words(hunk.title)) if hunk.title else ""
        if rows or hunk.title:
            body = format_html_join("\n", "{}", ((row,) for row in (_beside(rows) if split else _under(rows))))
            shown.append(
                format_html('<table class="diff{}">{}<tbody>{}</tbody></table>', " split" if split else "", head, body)
            )
        if hunk.note:
            shown.append(format_html('<p class="cut">{}</p>', hunk.note))
    if total > limit:
        said = _("%(shown)s of %(total)s lines shown") % {"shown": f"{limit:,}", "total": f"{total:,}"}
        shown.append(format_html('<p class="cut">{}</p>', said))
    return format_html_join("\n", "{}", ((table,) for table in shown))


def _under(rows: Sequence[Row]) -> Iterator[SafeString]:
    marked = _marked(rows)
    for at, (sign, old, new, text) in enumerate(rows):
        yield format_html(
            '<tr class="{}"><td class="no">{}</td><td class="no">{}</td><td class="sign">{}</td><td class="line">{}</td></tr>',
            _CLASS[sign],
            "" if old is None else old,
            "" if new is None else new,
            sign.strip(),
            marked.get(at) or _line(text),
        )


def _beside(rows: Sequence[Row]) -> Iterator[SafeString]:
    place = {id(row): at for at, row in enumerate(rows)}
    marked = _marked(rows)
    for before, after in beside(rows):
        yield format_html(
            "<tr>{}{}</tr>",
            _half(before, 1, marked.get(place[id(before)]) if before is not None else None),
            _half(after, 2, marked.get(place[id(after)]) if after is not None else None),
        )


def _half(row: Row | None, number: int, marked: SafeString | None) -> SafeString:
    if row is None:
        return format_html('<td class="no"></td><td class="line none-here"></td>')
    n = row[number]
    return format_html(
        '<td class="no">{}</td><td class="line {}"><i>{}</i>{}</td>',
        "" if n is None else n,
        _CLASS[row[0]],
        row[0].strip(),
        marked or _line(row[3]),
    )


def _marked(rows: Sequence[Row]) -> dict[int, SafeString]:
    """By place, lines whose changed words are marked: where as many lines came as went."""
    out: dict[int, SafeString] = {}
    at = 0
    while at < len(rows):
        start = at
        while at < len(rows) and rows[at][0] == "−":
            at += 1
        middle = at
        while at < len(rows) and rows[at][0] == "+":
            at += 1
        if at == start:
            at += 1
        elif middle - start == at - middle:
            for n in range(middle - start):
                pair = changed(plain(rows[start + n][3]), plain(rows[middle + n][3]))
                if pair is not None:
                    out[start + n], out[middle + n] = _pieces(pair[0]), _pieces(pair[1])
    return out


def _pieces(pieces: Sequence[tuple[str, bool]]) -> SafeString:
    return format_html_join(
        "", "{}", ((format_html("<em>{}</em>", words(text)) if differs else words(text),) for text, differs in pieces)
    )


def _line(text: str) -> SafeString:
    return words(cut_line(text) if len(text) > LONG_LINE else text)
