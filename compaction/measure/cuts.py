"""Where recorded sessions are cut to ask what of them was needed afterwards.

A session is split where its agent compacted or lost its history. Inside each stretch it is cut at SHARES of its tokens, moved on to the next words of the
assistant that follow a person's message or a tool's result, never between a call and its result. The agent really saw the whole prefix,
so what it went on to use is honest demand. What the harness put in, and reasoning, are no one's words and left out on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

from compaction.plan import Snapshot
from sessions.assembly import Reading
from sessions.contexts import Hide, Insert, Item, hidden_by, project
from sessions.entries import Kind, PartKind
from sessions.meters.tokens import sizes

SHARES = (0.5, 0.7, 0.88)
LEAST_PREFIX = 25_000  # tokens
LEAST_STEPS = 25  # answers of the model after the cut, in the same stretch
HORIZON = 40  # answers of the model that are looked at

_BOUNDS = ("compaction", "cut")  # a cut: the agent itself lost what was before
_UNSAID = (Kind.CONTEXT, Kind.REASONING)


@dataclass(frozen=True, slots=True)
class Case:
    """One cut. `snapshot`: what the agent held, counted in o200k tokens; `future`: what followed, up to HORIZON answers."""

    session: str
    at: int  # the last entry before the cut
    share: float
    snapshot: Snapshot
    future: tuple[Item, ...]


def cases(
    name: str, reading: Reading, *, least_prefix: int = LEAST_PREFIX, least_steps: int = LEAST_STEPS
) -> Iterator[Case]:
    """Every case of a session, oldest first."""
    sent = [item for item in reading.items() if item.kind not in _UNSAID]
    log = tuple(replace(item, sizes=size) for item, size in zip(sent, sizes([i.parts for i in sent]), strict=True))
    end = reading.placed[-1].seq + 1 if reading.placed else 0
    bounds = sorted({v.at_seq for v in reading.versions if v.kind in _BOUNDS} | {end})
    for stop in bounds:
        before = [v for v in reading.versions if v.at_seq < stop]
        edits = tuple(edit for edit in (before[-1].edits if before else ()) if isinstance(edit, Hide | Insert))
        items = project([item for item in log if item.seq is not None and item.seq < stop], edits)
        vectors = iter(sizes([item.parts for item in items if item.inserted]))
        items = [replace(item, sizes=next(vectors)) if item.inserted else item for item in items]
        yield from _of_stretch(name, reading, log, edits, items, least_prefix, least_steps)


def _of_stretch(
    name: str,
    reading: Reading,
    log: Sequence[Item],
    edits: tuple[Hide | Insert, ...],
    items: Sequence[Item],
    least_prefix: int,
    least_steps: int,
) -> Iterator[Case]:
    tokens = [item.sizes.tokens for item in items]
    so_far = list(accumulate(tokens))
    if not so_far or so_far[-1] < least_prefix:
        return
    starts = _starts(items)
    done: set[int] = set()
    for share in SHARES:
        cut = next((n for n in starts if so_far[n - 1] >= share * so_far[-1]), None)
        if cut is None or cut in done or so_far[cut - 1] < least_prefix:
            continue
        done.add(cut)
        answers = [n for n in starts if n >= cut]
        if len(answers) < least_steps:
            continue
        stop = answers[HORIZON] if len(answers) > HORIZON else len(items)
        last = max((item.seq for item in items[:cut] if item.seq is not None), default=-1)
        held = tuple(items[:cut])
        yield Case(
            name,
            last,
            share,
            Snapshot(
                items=held,
                tokens=tuple(tokens[:cut]),
                last_seq=last,
                edits=edits,
                ghosts=hidden_by(edits),
                log=partial(_until, log, last),
                agent="claude-code",
                cwd=reading.facts.cwd,
            ),
            tuple(items[cut:stop]),
        )


def _until(log: Sequence[Item], last: int) -> tuple[Item, ...]:
    return tuple(item for item in log if item.seq is not None and item.seq <= last)


def _starts(items: Sequence[Item]) -> list[int]:
    """Positions at which the assistant begins to answer, with no call open."""
    out: list[int] = []
    open_calls: set[str] = set()
    answered = {call for item in items for call in item.results}  # an interrupted call never is
    answering = True  # the first item is nobody's answer
    for n, item in enumerate(items):
        speaks = item.kind is Kind.MESSAGE or any(part.kind is PartKind.TOOL_CALL for part in item.parts)
        if speaks and not answering and not open_calls and n:
            out.append(n)
        answering = speaks
        open_calls.update(call for call in item.calls if call in answered)
        open_calls.difference_update(item.results)
    return out
