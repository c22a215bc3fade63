"""What the work that followed really needed from before, and how much of it a compacted context still has.

Demand: the named things of the prefix that the assistant uses after the cut while no tool result and no message has brought them
since: used from memory. A thing that a context only lists, without any of the words that stood beside it, is not supported: a bag of bare
names would else score full marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log

from compaction.summary.events import Event, Voice, is_edit, read
from compaction.summary.facts import edits_of
from compaction.summary.items import PATH, URL, shown, terms, weight
from compaction.tools import ToolKind
from sessions.contexts import Item

LEAST_EDIT = 20  # characters of replaced text below which an edit says too little
AROUND = 10  # words on each side that may support a name
NEAR = 2  # of them that must be shared
_SPAN = 240  # characters on each side in which those words are sought

_NUMBER = re.compile(r"^[ \t]*\d+(?:→|\t)", re.MULTILINE)
_WORD = re.compile(r"[^\W_]{2,}")
_STOP = frozenset(
    [
        "the",
        "and",
        "for",
        "that",
        "this",
        "with",
        "from",
        "are",
        "was",
        "not",
        "but",
        "you",
        "your",
        "have",
        "has",
        "had",
        "will",
        "can",
        "could",
        "should",
        "would",
        "into",
        "its",
        "it's",
        "then",
        "than",
        "our",
        "we",
        "they",
        "them",
        "there",
        "here",
        "which",
        "what",
        "when",
        "where",
        "who",
        "how",
        "why",
        "all",
        "any",
        "each",
        "also",
        "been",
        "being",
        "use",
        "used",
        "using",
        "get",
        "set",
        "new",
        "old",
        "let",
        "me",
        "is",
        "it",
        "in",
        "on",
        "at",
        "of",
        "to",
        "as",
        "by",
        "or",
        "if",
        "an",
        "be",
        "do",
        "does",
        "did",
        "done",
        "no",
        "yes",
        "so",
        "up",
        "out",
        "one",
        "two",
    ]
)


def said(items: Iterable[Item]) -> list[Event]:
    """The events of a context; file reads without their line numbers, so that an edit's old text is found in them."""
    events = read(items)
    for event in events:
        if event.voice is Voice.RESULT and event.call is not None and event.call.kind is ToolKind.READ:
            event.text = _NUMBER.sub("", event.text)
    return events


def texts_of(items: Sequence[Item]) -> list[str]:
    """All that a context says, text by text: its events, and whatever else was put in."""
    events = said(items)
    told = {event.pos for event in events}
    return [e.text for e in events] + [i.text for n, i in enumerate(items) if i.inserted and n not in told]


@dataclass(slots=True)
class Demand:
    """What a continuation needed. `needed`: terms of the prefix with the number of events that used them; `calls`: the terms of each tool
    call that needed any; `edits`: replaced texts that stood in the prefix and were not shown again, white space folded; `named`: terms of
    later messages that the prefix knew. `near`: for each needed bare name, the words round its places in the prefix.
    """

    needed: Counter[str] = field(default_factory=Counter)
    calls: list[set[str]] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    near: dict[str, set[frozenset[str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares kept, 0…1; None where the continuation asked for none of it."""

    plain: float | None
    supported: float | None
    calls: float | None
    edits: float | None
    messages: float | None


def demand(before: Sequence[Event], after: Sequence[Event]) -> Demand:
    """The demand of the events `after` on those `before`. Reads nothing of `before` but which names and texts stood there."""
    known: set[str] = set()
    for event in before:
        known |= terms(event.text)
    old = [folded(event.text) for event in before]
    out = Demand()
    new: set[str] = set()
    shown_again: list[str] = []
    for event in after:
        if event.voice is Voice.ASSISTANT or event.voice is Voice.CALL:
            wanted = (terms(event.text) & known) - new
            out.needed.update(wanted)
            if event.voice is Voice.CALL and event.call is not None:
                if wanted:
                    out.calls.append(wanted)
                if is_edit(event):
                    for _, replaced, written, whole in edits_of(event.call):
                        text = folded(replaced)
                        seen = any(text in one for one in shown_again)
                        if not whole and len(text) >= LEAST_EDIT and not seen and any(text in one for one in old):
                            out.edits.append(text)
                        shown_again.append(folded(written))
            continue
        found = terms(event.text)
        if event.voice is Voice.USER:
            out.named |= (found & known) - new
        new |= found
        shown_again.append(folded(event.text))
    bare = [term for term in out.needed if term[0] not in (PATH, URL)]
    out.near = neighbours([event.text for event in before], bare)
    return out


def recall(wanted: Demand, context: Sequence[str]) -> Recall:
    """How much of the demand the texts of a context hold."""
    there: set[str] = set()
    for text in context:
        there |= terms(text)
    bare = [term for term in wanted.needed if term in there and term[0] not in (PATH, URL)]
    near = neighbours(context, bare)
    held = {t for t in wanted.needed if t in there and (t[0] in (PATH, URL) or _supported(wanted.near[t], near[t]))}
    worth = {term: weight(term) * (1 + log(n)) for term, n in wanted.needed.items()}
    whole = [folded(text) for text in context]
    return Recall(
        plain=_share(sum(w for term, w in worth.items() if term in there), sum(worth.values())),
        supported=_share(sum(w for term, w in worth.items() if term in held), sum(worth.values())),
        calls=_share(sum(call <= held for call in wanted.calls), len(wanted.calls)),
        edits=_share(sum(any(edit in text for text in whole) for edit in wanted.edits), len(wanted.edits)),
        messages=_share(len(wanted.named & there), len(wanted.named)),
    )


def folded(text: str) -> str:
    """The text with each run of white space as one blank."""
    return " ".join(text.split())


def neighbours(texts: Iterable[str], names: Iterable[str]) -> dict[str, set[frozenset[str]]]:
    """For each name the sets of plain words within AROUND words of it on its line, one for each place; names are no plain words."""
    wanted = {name: shown(name) for name in names}
    out: dict[str, set[frozenset[str]]] = {name: set() for name in wanted}
    for text in texts:
        for name, surface in wanted.items():
            out[name].update(_places(text, name, surface))
    return out


def _places(text: str, name: str, surface: str) -> Iterator[frozenset[str]]:
    at = text.find(surface)
    seen: set[str] = set()
    while at >= 0:
        end = at + len(surface)
        first = max(text.rfind("\n", 0, at) + 1, at - _SPAN)
        stop = text.find("\n", end)
        last = min(len(text) if stop < 0 else stop, end + _SPAN)
        line = text[first:last]
        if line not in seen:
            seen.add(line)
            if name in terms(line):  # and not a piece of a longer word
                words = [*_plain(text[first:at])[-AROUND:], *_plain(text[end:last])[:AROUND]]
                yield frozenset(words)
        at = text.find(surface, end)


def _plain(text: str) -> list[str]:
    out: list[str] = []
    for token in text.split():
        if terms(token):
            continue
        out.extend(word for word in _WORD.findall(token.lower()) if word not in _STOP)
    return out


def _supported(before: set[frozenset[str]], after: set[frozenset[str]]) -> bool:
    if before & after:
        return True
    return any(len(old & new) >= min(NEAR, len(old)) for new in after for old in before)


def _share(kept: float, of: float) -> float | None:
    return kept / of if of else None
