"""The nine sections of a structured summary: rendered, parsed, validated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from compaction.plan import Section

TITLES = (
    "Primary Request and Intent",
    "Key Technical Concepts",
    "Files and Code Sections",
    "Errors and Fixes",
    "Problem Solving",
    "All User Messages",
    "Pending Tasks",
    "Current Work",
    "Optional Next Step",
)

PREFACE = (
    "This is a summary of the earlier part of this session, which is no longer in the context. "
    "Lines marked (earlier) come from the summary before it. Go on from here."
)

NOTHING = "- (nothing recorded)"

LISTED = "## Files, commands and exit codes"
"""The heading of what is listed below the nine sections; it belongs to none of them."""

EARLIER = "(earlier)"

_HEADING = re.compile(
    r"^ ?(?:#{1,4}\s*)?(?:\*\*)?(?:(\d)[.)]\s*)?(?:\*\*)?\s*([A-Za-z][A-Za-z ,&/()-]{3,60}?)\s*(?:\*\*)?\s*:?\s*(?:\*\*)?\s*$"
)
_INLINE = re.compile(
    r"^ ?(?:#{1,4}\s*)?(?:\*\*)?(?:\d[.)]\s*)(?:\*\*)?([A-Za-z][A-Za-z ,&/()-]{3,60}?)(?:\*\*)?:(?:\*\*)?\s+(\S.*)$"
)
_BULLET = re.compile(r"^(\s*)(?:[-*•]|\d+[.)])\s+(.*)$")
_ANALYSIS = re.compile(r"<analysis>.*?(?:</analysis>|\Z)", re.DOTALL)

_KNOWN = {title.lower(): title for title in TITLES} | {
    "errors and fixes": TITLES[3],
    "errors & fixes": TITLES[3],
    "key concepts": TITLES[1],
    "files and code": TITLES[2],
    "user messages": TITLES[5],
    "next step": TITLES[8],
    "next steps": TITLES[8],
    "primary request": TITLES[0],
}


def render(sections: Sequence[Section]) -> str:
    """The text that is sent: all nine headings in order, each line a bullet; further lines of one bullet are indented."""
    by_title = {section.title: section for section in sections}
    blocks = [PREFACE]
    for number, title in enumerate(TITLES, 1):
        section = by_title.get(title)
        lines = [bullet(text) for text, _ in section.lines] if section is not None else []
        blocks.append("\n".join([heading(number, title), *(lines or [NOTHING])]))
    return "\n\n".join(blocks)


def heading(number: int, title: str) -> str:
    return f"## {number}. {title}"


def bullet(text: str) -> str:
    return "- " + text.replace("\n", "\n  ")


def frame() -> str:
    """What a summary costs before its first line."""
    return render([])


def parse(text: str) -> list[Section]:
    """The sections of a summary in the nine-section shape, ours or an agent's own, each line without sources; [] where there is none.

    A section that occurs twice is joined. Lines before the first known heading are not part of any.
    """
    found: dict[str, list[str]] = {}
    here: list[str] | None = None
    fenced = False
    for line in _ANALYSIS.sub("", text).split("\n"):
        if line == LISTED:
            here, fenced = None, False
            continue
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced or line.startswith("## "):  # an unclosed fence in someone's words must not swallow our headings
            title, rest = _title(line)
            if title is not None:
                here = found.setdefault(title, [])
                if rest:
                    here.append(rest)
                continue
        if here is None or not line.strip() or line.strip() == NOTHING:
            continue
        match = None if fenced else _BULLET.match(line)
        if match is not None and (not match[1] or not here):
            here.append(match[2].strip())
        elif line.startswith("  ") and here:
            here[-1] += "\n" + line[2:]
        else:
            here.append(line.strip())
    return [Section(title, tuple((one, ()) for one in found[title])) for title in TITLES if title in found]


def _title(line: str) -> tuple[str | None, str]:
    if len(line) > 400 and not line.lstrip()[:1].isdigit():
        return None, ""
    match = _HEADING.match(line)
    if match is not None:
        return _KNOWN.get(match[2].strip().lower()), ""
    match = _INLINE.match(line)
    if match is not None:
        return _KNOWN.get(match[1].strip().lower()), match[2].strip()
    return None, ""


def faults(text: str) -> list[str]:
    """What is wrong with a summary, in words; [] where it is not empty and has all nine sections in order."""
    if not text.strip():
        return ["the summary is empty"]
    order = [title for line in text.split("\n") if (title := _title(line)[0]) is not None]
    missing = [title for title in TITLES if title not in order]
    out = []
    if missing:
        out.append(f"the summary lacks the section{'s' if len(missing) > 1 else ''} {joined(missing)}")
    elif list(dict.fromkeys(order)) != list(TITLES):
        out.append("the summary's sections are not in order")
    if not missing and not any(section.lines for section in parse(text)):
        out.append("the summary has headings and nothing under them")
    return out


def joined(words: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)
