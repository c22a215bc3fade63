"""A context read once: its events, what they establish and what of it will be needed. Summary, retention and preview share it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compaction.summary.events import Event, read
from compaction.summary.facts import Findings, find
from compaction.summary.need import Needs, needs
from compaction.tools import Call
from sessions.contexts import Item


@dataclass(slots=True)
class Survey:
    events: list[Event]
    findings: Findings
    needs: Needs

    def terms_of(self, positions: Iterable[int]) -> set[str]:
        """The terms of the items at these positions."""
        wanted = positions if isinstance(positions, set) else set(positions)
        return set().union(
            *[
                terms
                for event, terms in zip(self.events, self.needs.terms_at, strict=True)
                if terms and event.pos in wanted
            ]
        )


def survey(items: Sequence[Item], understood: Mapping[str, Call] | None = None) -> Survey:
    """The survey of a context. `understood`: its calls by id, where the caller knows them already."""
    events = read(items, understood)
    findings = find(events)
    return Survey(events, findings, needs(events, [todo.text for todo in findings.todos if todo.open]))
