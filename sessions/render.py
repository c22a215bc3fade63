"""What a session contains, as safe HTML: words, markdown, code, terminal output, raw records.

The only place that marks text as safe. All of it comes from an agent's session and is hostile until it has passed through here:
everything is escaped or goes through a parser without HTML and a sanitiser with a closed list; nothing refers to anything outside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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
    rest = len(text) - WHOLE
    if rest > 0:
        text = f"{text[:WHOLE]}\n\n… {rest:,} characters more stand in the raw record"
    dirty = _parser().render(visible(plain(text)))
    clean = nh3.clean(
        dirty, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_SCHEMES, link_rel="noopener noreferrer nofollow"
    )
    return mark_safe(clean)  # noqa: S308 -- it has passed through the sanitiser


# -- code --------------------------------------------------------------------------------------------------------------


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
        return Excerpt("\n".join(cut_line(line) for line in lines), "", 0, total)
    return Excerpt(
        "\n".join(cut_line(line) for line in lines[:head]),
        "\n".join(cut_line(line) for line in lines[-tail:]),
        total - head - tail,
        total,
    )


def cut_line(line: str) -> str:
    return line if len(line) <= LONG_LINE else f"{line[:LONG_LINE]} … {len(line) - LONG_LINE:,} characters more"


# -- raw records ------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?', re.DOTALL)


def record(raw: bytes, *, limit: int = 4_000, string: int = 160) -> SafeString:
    """A record for reading: as JSON with its strings shortened, else as the text it is. The exact bytes have an address of their own."""
    return laid_out(raw, limit=limit, string=string)[0]


def laid_out(raw: bytes, *, limit: int, string: int) -> tuple[SafeString, bool]:
    """JSON laid out, and whether anything of it was left out; each place where it was says so. What is no JSON stays the text it is."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return words(raw[:limit].decode("utf-8", "replace") + (" …" if len(raw) > limit else "")), len(raw) > limit
    short = _shortened(value, string)
    text = orjson.dumps(short, option=orjson.OPT_INDENT_2).decode()
    cut = len(text) > limit
    rest = f" … {len(text) - limit:,} characters more" if cut else ""
    left_out = cut or short != value
    text = visible(text[:limit])
    pieces: list[SafeString] = []
    at = 0
    for match in _TOKEN.finditer(text):
        pieces.append(escape(text[at : match.start()]))
        pieces.append(
            format_html('<span class="{}">{}</span>{}', "key-name" if match[2] else "string", match[1], match[2] or "")
        )
        at = match.end()
    pieces.append(escape(text[at:] + rest))
    return format_html_join("", "{}", ((piece,) for piece in pieces)), left_out


def compact(value: Any) -> str:
    """A value of a call's arguments as JSON; as Python has it where JSON cannot."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return str(value)


def _shortened(value: Any, string: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= string else f"{value[:string]}… ({len(value):,} characters)"
    if isinstance(value, list):
        return [_shortened(item, string) for item in value[:40]] + (
            [f"… {len(value) - 40:,} more"] if len(value) > 40 else []
        )
    if isinstance(value, dict):
        kept = {str(key)[:string]: _shortened(item, string) for key, item in list(value.items())[:80]}
        return kept | ({"…": f"{len(value) - 80:,} more"} if len(value) > 80 else {})
    return value
