"""A list of messages that an agent goes on from, told as edits of the log: what of it is kept, shortened, new, and what is gone."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sessions.adapters.base import Link
from sessions.contexts import Edit, Hide, Insert, InsertKind, Replace
from sessions.entries import Kind, Part, Role, digest_of
from sessions.ranges import Ranges


@dataclass(frozen=True, slots=True)
class Wanted:
    """One message of the list. `summary`: it stands for what is not in the list any more."""

    role: Role
    parts: tuple[Part, ...]
    summary: bool = False

    @property
    def calls(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.call_id for part in self.parts if part.call_id))


def edits_to(wanted: Sequence[Wanted], log: Sequence[Link], at: int) -> list[Edit]:
    """The edits after which the sent entries of `log` up to and including `at` are `wanted`, in its order.

    Entries are found by their content, each once and in order; a result whose call is the same but whose words are not was shortened.
    What is in no entry is inserted where it stands.
    """
    sent = [link for link in log if link.sent and not link.lane and link.seq <= at]
    by_digest: dict[bytes, list[int]] = defaultdict(list)
    by_calls: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for link in sent:
        by_digest[link.digest].append(link.seq)
        if link.kind is Kind.TOOL_RESULT and link.call_ids:
            by_calls[link.call_ids].append(link.seq)
    last = -1
    kept: set[int] = set()
    edits: list[Edit] = []
    waiting: list[tuple[int, Wanted]] = []
    for message in wanted:
        found = _after(by_digest[digest_of(message.role, message.parts)], last)
        if found is None and message.role is Role.TOOL and message.calls:
            found = _after(by_calls[message.calls], last)
            if found is not None:
                edits.append(Replace(found, message.parts))
        if found is None:
            waiting.append((last, message))
            continue
        kept.add(found)
        last = found
    every = [link.seq for link in sent]
    hidden = Ranges.from_numbers(seq for seq in every if seq not in kept).closed_over(every)
    for after, message in waiting:
        kind = InsertKind.SUMMARY if message.summary else InsertKind.MESSAGE
        folded = hidden if message.summary else Ranges()
        edits.append(Insert(after, message.role, kind, message.parts, stands_for=folded))
    return [Hide(hidden), *edits] if hidden else edits


def _after(seqs: list[int], last: int) -> int | None:
    place = bisect_right(seqs, last)
    return seqs[place] if place < len(seqs) else None
