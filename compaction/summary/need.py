"""Which terms a session will probably need again: p(term), by a logistic rule over how it was used so far.

The weights are fitted by logistic regression on the names that recorded sessions used from memory within 40 answers of a cut; on sessions
they were not fitted on they rank a needed name before another in 82 % of pairs (docs/retention.md). A name that only tool output ever
mentioned is seldom needed, one in a person's words often.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import exp, fsum, log

from compaction.summary.events import Event, Voice, is_edit
from compaction.summary.items import LITERAL, URL, terms, weight

INTERCEPT = -1.18
EDITED = -0.50  # beside its uses by the assistant, which count already
USER_LATELY = 0.61  # within LATELY steps
USER = 1.44
LOG_FREQUENCY = 0.23
IN_TODO = 0.37
IN_SUMMARY = -0.35
LOG_ASSISTANT = 0.62
LOG_AGE = -0.47
IS_URL = -0.38
ONLY_OUTPUT = -0.96
IS_LITERAL = -0.67

LATELY = 10

TYPICAL_ERROR = 0.15
"""Mean absolute error of the predicted share kept against the share really needed, over contexts of 2,000 to 16,000 tokens that strategies and
baselines made of recorded sessions; see docs/retention.md."""

READ_CHARACTERS = 4_000_000
"""Text read for terms, newest first; beyond it only the words of people and the assistant count. More than the largest window
of today holds, so that it bounds the cost of a session that outgrew every window and no other's."""

HEAD, TAIL = 3_000, 1_000
"""Of one tool output, the characters read for terms: what a longer one holds in its middle is hardly ever named again."""


@dataclass(slots=True)
class Use:
    """How a term was used. `seen`: events; `spoken`: of them the assistant's words and calls; steps are the model's answers, from 1."""

    seen: int = 0
    spoken: int = 0
    last_step: int = 0
    user_step: int = -1
    edited: bool = False
    in_summary: bool = False
    only_output: bool = True
    first_seq: int = -1
    last_seq: int = -1


@dataclass(slots=True)
class Needs:
    """Terms of a context with their uses and p. `terms_at`: of each event, by its number; `unread`: tool outputs too old to be read."""

    uses: dict[str, Use]
    p: dict[str, float]
    terms_at: list[AbstractSet[str]]
    unread: int = 0

    def value(self, term: str) -> float:
        """P × weight: what covering this term is worth."""
        return self.p.get(term, 0.0) * weight(term)

    @property
    def expected(self) -> float:
        """About how many of the terms will be needed again."""
        return fsum(self.p.values())


def needs(events: Sequence[Event], todo: Iterable[str] = ()) -> Needs:
    """The needs after these events. `todo`: texts of the plan's open items."""
    terms_at, unread = _read(events)
    uses: dict[str, Use] = {}
    for event, found in zip(events, terms_at, strict=True):
        voice = event.voice
        spoken = voice is Voice.ASSISTANT or voice is Voice.CALL
        output = voice is Voice.RESULT or voice is Voice.FILE
        edited = voice is Voice.CALL and is_edit(event)
        for term in found:
            use = uses.get(term)
            if use is None:
                use = uses[term] = Use(first_seq=event.seqs[0] if event.seqs else -1)
            use.seen += 1
            use.last_step = event.step
            if event.seqs:
                use.last_seq = event.seqs[-1]
            if output:
                continue
            use.only_output = False
            if spoken:
                use.spoken += 1
                if edited:
                    use.edited = True
            elif voice is Voice.USER:
                use.user_step = event.step
            elif voice is Voice.SUMMARY:
                use.in_summary = True
    planned = set().union(*(terms(text) for text in todo))
    now = events[-1].step if events else 0
    return Needs(
        uses,
        {term: chance(term, use, now, planned=term in planned) for term, use in uses.items()},
        terms_at,
        unread,
    )


def chance(term: str, use: Use, now: int, *, planned: bool) -> float:
    """P that the term is needed again soon, `now` being the number of the last step."""
    score = INTERCEPT + LOG_FREQUENCY * log(1 + use.seen) + LOG_ASSISTANT * log(1 + use.spoken)
    score += LOG_AGE * log(1 + max(0, now - use.last_step))
    if use.edited:
        score += EDITED
    if use.user_step >= 0:
        score += USER
        if now - use.user_step <= LATELY:
            score += USER_LATELY
    if planned:
        score += IN_TODO
    if use.in_summary:
        score += IN_SUMMARY
    if use.only_output:
        score += ONLY_OUTPUT
    kind = term[0]
    if kind == URL:
        score += IS_URL
    elif kind == LITERAL:
        score += IS_LITERAL
    return 1 / (1 + exp(-score))


def predicted_recall(needed: Needs, present: set[str] | Mapping[str, object]) -> float | None:
    """The share of expected future use whose terms are `present`: pFUR, between 0 and 1; None where nothing can be expected."""
    # Exact sums: the order of the terms is another in every process.
    total = fsum([p * weight(term) for term, p in needed.p.items()])
    return fsum([p * weight(term) for term, p in needed.p.items() if term in present]) / total if total else None


_NONE: frozenset[str] = frozenset()
_SHORT = 200  # characters


def _read(events: Sequence[Event]) -> tuple[list[AbstractSet[str]], int]:
    left = READ_CHARACTERS
    out: list[AbstractSet[str]] = [_NONE] * len(events)
    unread = 0
    outputs = (Voice.RESULT, Voice.FILE)
    again: dict[str, AbstractSet[str]] = {}  # the same few paths and commands stand in very many calls
    for event in reversed(events):
        if event.voice not in outputs:
            text = event.text if len(event.text) <= 40_000 else event.text[:30_000] + "\n" + event.text[-10_000:]
            if left > -READ_CHARACTERS:
                found = again.get(text) if len(text) <= _SHORT else None
                if found is None:
                    found = terms(text)
                    if len(text) <= _SHORT:
                        again[text] = found
                out[event.n] = found
                left -= len(text)
            else:
                unread += 1
    for event in reversed(events):
        if event.voice in outputs:
            if left <= 0:
                unread += 1
                continue
            text = event.text if len(event.text) <= HEAD + TAIL else event.text[:HEAD] + "\n" + event.text[-TAIL:]
            out[event.n] = terms(text)
            left -= len(text)
    return out, unread
