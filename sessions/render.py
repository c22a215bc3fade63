"""What a session contains, as safe HTML: words, markdown, code, differences, terminal output, raw records.

The only place that marks text as safe. All of it comes from an agent's session and is hostile until it has passed through here:
everything is escaped or goes through a parser without HTML and a sanitiser with a closed list; nothing refers to anything outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from functools import cache
from typing import Any

import nh3
import orjson
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name
from pygments.util import ClassNotFound

from sessions.ansi import plain, styled, visible

COLOURED = 40_000  # characters up to which code is highlighted: beyond, colours cost more than they tell
LONG_LINE = 2_000  # characters of a line beyond which code is not highlighted
HEAD, TAIL = 24, 36  # lines shown of a long output: its beginning and its end
WHOLE = 1_000_000  # characters shown of one text when all of it is asked for

_TAGS = {
    "p", "br", "em", "strong", "s", "del", "code", "pre", "blockquote", "ul", "ol", "li", "h3", "h4", "h5", "h6", "hr", "table", "thead", "tbody",
    "tr", "th", "td", "a", "span", "div",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"},
    "span": {"class"},
    "code": {"class"},
    "div": {"class"},
    "ol": {"start"},
    "th": {"class"},
    "td": {"class"},
}
_SCHEMES = {"http", "https", "mailto"}


def words(text: str) -> SafeString:
    """Plain words: escaped, with reordering and invisible characters written out."""
    return escape(visible(plain(text)))


# -- markdown ---------------------------------------------------------------------------------------------------------


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False, "highlight": _fence})
    parser.enable(["table", "strikethrough"])
    parser.disable(["image"])  # nothing is fetched: an image stays the text of its link
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    return parser


def _heading(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Headings of a message stand below those of the page."""
    level = min(6, int(tokens[at].tag[1]) + 2)
    return f"</h{level}>\n" if tokens[at].nesting < 0 else f"<h{level}>"


def _fence(text: str, name: str, attributes: str) -> str:
    return str(code(text, name=name))


def markdown(text: str) -> SafeString:
    """An assistant's words: CommonMark with tables, no HTML, no images, links to the web only."""
    if len(text) > WHOLE:
        text = text[:WHOLE]
    dirty = _parser().render(visible(plain(text)))
    clean = nh3.clean(
        dirty, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_SCHEMES, link_rel="noopener noreferrer nofollow"
    )
    return mark_safe(clean)  # noqa: S308 -- it has passed through the sanitiser


# -- code and differences ---------------------------------------------------------------------------------------------


@cache
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True, classprefix="c-")


def code(text: str, *, name: str = "", path: str = "") -> SafeString:
    """Code with classes for its tokens; by the language's name or by the file's. Plain where it is unknown or too long."""
    text = visible(plain(text))
    lexer = _lexer(name.strip().casefold(), path)
    if lexer is None or len(text) > COLOURED or any(len(line) > LONG_LINE for line in text.split("\n")):
        return escape(text)
    # The formatter escapes every token and writes nothing but spans with classes of its own.
    coloured: str = highlight(text, lexer, _formatter())
    return mark_safe(coloured)  # noqa: S308 -- as said


def _lexer(name: str, path: str) -> Any:
    try:
        if name:
            return get_lexer_by_name(re.split(r"[\s,{]", name)[0], stripnl=False)
        if path:
            found = find_lexer_class_for_filename(re.split(r"[/\\]", path)[-1])
            return found(stripnl=False) if found is not None else None
    except ClassNotFound:
        return None
    return None


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines with sign " ", "+" or "−" and their numbers before and after. `title`: where it stands."""

    title: str
    lines: tuple[tuple[str, int | None, int | None, str], ...]


def hunks_of_facts(raw: Any) -> list[Hunk]:
    """Hunks as a result records them: oldStart, newStart, lines with their signs."""
    out: list[Hunk] = []
    for hunk in raw if isinstance(raw, list) else []:
        if not isinstance(hunk, Mapping):
            continue
        old, new = hunk.get("oldStart"), hunk.get("newStart")
        title = (
            f"@@ −{old},{hunk.get('oldLines', '')} +{new},{hunk.get('newLines', '')} @@"
            if isinstance(old, int)
            else "@@"
        )
        out.append(_hunk(title, [line for line in hunk.get("lines") or [] if isinstance(line, str)], old, new))
    return out


def hunks_of_texts(old: str, new: str, *, title: str = "", context: int = 3) -> list[Hunk]:
    """The difference of two texts. Their place in the file is not known, so their lines carry no numbers."""
    before, after = old[:COLOURED].splitlines(), new[:COLOURED].splitlines()
    lines = list(unified_diff(before, after, n=context, lineterm=""))[2:]
    out: list[Hunk] = []
    part: list[str] = []
    for line in lines:
        if line.startswith("@@"):
            if part:
                out.append(_hunk(title, part, None, None))
            part = []
        else:
            part.append(line)
    if part:
        out.append(_hunk(title, part, None, None))
    return out


def hunks_of_patch(patch: str) -> list[Hunk]:
    """Hunks of a patch in the `*** Begin Patch` form, each file's under its name."""
    out: list[Hunk] = []
    title = ""
    part: list[str] = []

    def close() -> None:
        if part:
            out.append(_hunk(title, list(part), None, None))
            part.clear()

    for line in patch[:WHOLE].splitlines():
        if line.startswith("*** "):
            close()
            if line.startswith(("*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:")):
                title = line.removeprefix("*** ")
        elif line.startswith("@@"):
            close()
            title = f"{title.partition(' @@')[0]} {line}".strip() if line.strip() != "@@" else title
        else:
            part.append(line)
    close()
    return out


def _hunk(title: str, lines: Iterable[str], old: int | None, new: int | None) -> Hunk:
    out: list[tuple[str, int | None, int | None, str]] = []
    for line in lines:
        sign, text = line[:1], line[1:]
        if sign == "+":
            out.append(("+", None, new, text))
            new = None if new is None else new + 1
        elif sign == "-":
            out.append(("−", old, None, text))
            old = None if old is None else old + 1
        else:
            out.append((" ", old, new, text if sign == " " else line))
            old = None if old is None else old + 1
            new = None if new is None else new + 1
    return Hunk(title, tuple(out))


_SIGN_CLASS = {"+": "added", "−": "removed", " ": "same"}


def diff(hunks: Sequence[Hunk], *, limit: int = 120) -> SafeString:
    """Hunks as a table: numbers, sign, line. At most `limit` lines, and it says how many there are."""
    left = limit
    shown: list[SafeString] = []
    total = sum(len(hunk.lines) for hunk in hunks)
    for hunk in hunks:
        if left <= 0:
            break
        rows = format_html_join(
            "\n",
            '<tr class="{}"><td class="no">{}</td><td class="no">{}</td><td class="sign">{}</td><td class="line">{}</td></tr>',
            (
                (
                    _SIGN_CLASS[sign],
                    "" if old is None else old,
                    "" if new is None else new,
                    sign.strip(),
                    words(text[:LONG_LINE]),
                )
                for sign, old, new, text in hunk.lines[:left]
            ),
        )
        left -= len(hunk.lines)
        head = format_html("<caption>{}</caption>", words(hunk.title)) if hunk.title else ""
        shown.append(format_html('<table class="diff">{}<tbody>{}</tbody></table>', head, rows))
    if total > limit:
        shown.append(format_html('<p class="cut">{} of {} lines shown</p>', f"{limit:,}", f"{total:,}"))
    return format_html_join("\n", "{}", ((table,) for table in shown))


def counts(hunks: Sequence[Hunk]) -> tuple[int, int]:
    """Lines added and removed."""
    signs = [line[0] for hunk in hunks for line in hunk.lines]
    return signs.count("+"), signs.count("−")


# -- output -----------------------------------------------------------------------------------------------------------


def shell(text: str) -> SafeString:
    """Terminal output with its colours as classes."""
    return format_html_join(
        "",
        "{}",
        (
            (format_html('<span class="{}">{}</span>', classes, visible(piece)) if classes else escape(visible(piece)),)
            for piece, classes in styled(text)
            if piece
        ),
    )


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A long text, its middle left out: `head` and `tail` around `missing` lines of `total`. All of it where `missing` is 0."""

    head: str
    tail: str
    missing: int
    total: int


def excerpt(text: str, *, whole: bool = False, head: int = HEAD, tail: int = TAIL) -> Excerpt:
    """The text, or its beginning and end. Lines that are very long are cut, and say so."""
    if whole:
        rest = len(text) - WHOLE
        return Excerpt(
            text[:WHOLE] + (f"\n… {rest:,} characters more stand in the raw record" if rest > 0 else ""),
            "",
            0,
            text.count("\n") + 1,
        )
    lines = text.rstrip("\n").split("\n")
    total = len(lines)
    if total <= head + tail:
        return Excerpt("\n".join(_cut(line) for line in lines), "", 0, total)
    return Excerpt(
        "\n".join(_cut(line) for line in lines[:head]),
        "\n".join(_cut(line) for line in lines[-tail:]),
        total - head - tail,
        total,
    )


def _cut(line: str) -> str:
    return line if len(line) <= LONG_LINE else f"{line[:LONG_LINE]} … {len(line) - LONG_LINE:,} characters more"


# -- raw records ------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?', re.DOTALL)


def record(raw: bytes, *, limit: int = 4_000, string: int = 160) -> SafeString:
    """A record for reading: as JSON with its strings shortened, else as the text it is. The exact bytes have an address of their own."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return words(raw[:limit].decode("utf-8", "replace") + (" …" if len(raw) > limit else ""))
    text = orjson.dumps(_shortened(value, string), option=orjson.OPT_INDENT_2).decode()
    cut = len(text) > limit
    text = visible(text[:limit])
    pieces: list[SafeString] = []
    at = 0
    for match in _TOKEN.finditer(text):
        pieces.append(escape(text[at : match.start()]))
        pieces.append(
            format_html('<span class="{}">{}</span>{}', "key-name" if match[2] else "string", match[1], match[2] or "")
        )
        at = match.end()
    pieces.append(escape(text[at:] + (" …" if cut else "")))
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def _shortened(value: Any, string: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= string else f"{value[:string]}… ({len(value):,} characters)"
    if isinstance(value, list):
        return [_shortened(item, string) for item in value[:40]] + (
            [f"… {len(value) - 40:,} more"] if len(value) > 40 else []
        )
    if isinstance(value, dict):
        return {str(key)[:string]: _shortened(item, string) for key, item in list(value.items())[:80]}
    return value
