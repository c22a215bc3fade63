"""What the pure core says, in the page's language.

The core knows no framework: it says English, as gettext's own keys are English. Words are translated as they stand (`corewords`); of a
sentence with figures its form is what is translated: the form it has is found, and what it is filled with put into the translation.
"""

from __future__ import annotations

import re
from functools import lru_cache

from django.utils.translation import get_language, gettext, gettext_noop

FORMS = (
    # forecasts
    gettext_noop("Sent as is: {n} tokens until {what}, by {rule}."),
    gettext_noop("Sent as is: {rule} has no threshold here."),
    gettext_noop("Sent as is: {rule} compacts only when it is told to."),
    gettext_noop("Compacts first: {rule} compacts at {limit} tokens and counts {n}."),
    gettext_noop("Masks first: {rule} masks old tool results from {limit} tokens on and counts {n}."),
    gettext_noop("Blocked: {rule} refuses from {limit} tokens on and counts {n}; automatic compaction is off."),
    gettext_noop("{n} tokens are more than 1.5 times the window of {window}: the window is probably not this one."),
    gettext_noop("{n} tokens are more than the window of {window}."),
    gettext_noop("Only {n} of {window} tokens are usable before compaction."),
    gettext_noop("Compaction at {n} tokens lies beyond the window of {window}: it comes too late."),
    # whose figures they are
    gettext_noop("recorded at step {n}"),
    gettext_noop("the agent's own estimate, recorded at step {n}"),
    gettext_noop("what came later by {meter}"),
    gettext_noop("its output and what came later by {meter}"),
    gettext_noop("estimated: {meter}, without system prompt and tool schemas"),
    gettext_noop("window: {source}"),
    gettext_noop("limit: {rule}"),
    # the chart
    gettext_noop("turn {n}"),
    gettext_noop("turns {n}"),
    gettext_noop("Compaction {n}: {label}"),
    gettext_noop("Rolled back: {label}"),
    gettext_noop("Fork: {title}"),
    # versions
    gettext_noop("Compacted ({how})"),
    gettext_noop("Old tool results cleared ({n} tokens saved)"),
    # checks
    gettext_noop("The context is {n} tokens, at most the {limit} aimed for."),
    gettext_noop("does not hold: {what} ({how})"),
    gettext_noop("does not hold: {what}"),
    gettext_noop("planning over {items} items, {n} tokens"),
    gettext_noop("reading the context of {version} up to entry {n}"),
    gettext_noop("brought the session's memory up to entry {n}"),
)
_NAME = re.compile(r"\\\{(\w+)\\\}")  # a place to be filled in; what fills it never goes beyond a semicolon


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((form, re.compile(_NAME.sub(r"(?P<\1>(?:(?!; ).)+?)", re.escape(form)), re.DOTALL)) for form in FORMS)


def said(text: str) -> str:
    """`text` in the page's language; what nobody translated (the label of a strategy from elsewhere) stays as it is.

    What a form is filled with is translated too, where it is known as words; parts between semicolons each by itself.
    """
    if not text or (get_language() or "en").startswith("en"):
        return text
    exact = gettext(text)
    if exact != text:
        return exact
    for form, pattern in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            return gettext(form).format(**{name: said(value) for name, value in found.groupdict().items()})
    parts = text.split("; ")
    return text if len(parts) == 1 else "; ".join(said(part) for part in parts)
