"""What becomes of a context in figures: the tokens of each item after, the fate of each entry, the table of what changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from compaction.difference import Difference
from compaction.plan import Budget, Snapshot
from sessions.contexts import InsertKind
from sessions.meters.tokens import sent_texts

AGAIN = (
    *(InsertKind.FILE, InsertKind.SKILL, InsertKind.PLAN, InsertKind.GOALS),
    *(InsertKind.LAYER, InsertKind.LEARNED),
)


class Fate(StrEnum):
    KEPT = "kept"
    MASKED = "masked"
    FOLDED = "folded"
    PINNED = "pinned"
    GHOST = "ghost"  # hidden already before


@dataclass(frozen=True, slots=True)
class Change:
    """A row of the table of what changes: `n` things and the tokens they add (or take away, negative)."""

    what: str
    n: int
    tokens: int


def tokens_after(snapshot: Snapshot, changed: Difference, budget: Budget) -> tuple[int, ...]:
    """Tokens of each item after: as measured before where its body is the same, at another place even, else counted anew by the same meter."""
    counted: Mapping[str, int] = snapshot.memo.get("counted", {})  # the lines of masks
    before = snapshot.tokens
    out = [before[place] if place >= 0 else 0 for place in changed.origin]
    others = [*(n for _, n in changed.less), *changed.put]
    bodies = {id(changed.after[n].parts) for n in others}
    known = {
        id(item.parts): tokens
        for item, tokens in zip(snapshot.items, before, strict=True)
        if others and id(item.parts) in bodies
    }
    texts: list[str] = []
    owners: list[int] = []
    for n in others:
        moved = known.get(id(changed.after[n].parts))
        out[n] = moved or 0
        if moved is not None:
            continue
        for part in changed.after[n].parts:
            for text in sent_texts(part):
                cost = counted.get(text)
                if cost is not None:
                    out[n] += cost
                    continue
                texts.append(text)
                owners.append(n)
    for n, tokens in zip(owners, budget.count(texts), strict=True):
        out[n] += tokens
    return tuple(out)


def fates_of(snapshot: Snapshot, changed: Difference) -> tuple[tuple[tuple[int, int, Fate], ...], dict[str, int]]:
    before = snapshot.items
    fates = [Fate.FOLDED] * len(before)
    for place, item in zip(changed.origin, changed.after, strict=True):
        if place >= 0:
            fates[place] = Fate.PINNED if before[place].pinned else Fate.MASKED if item.masked else Fate.KEPT
    by_seq = {item.seq: fate for item, fate in zip(before, fates, strict=True) if item.seq is not None}
    if snapshot.ghosts:
        for item in snapshot.log():
            if item.seq is not None and item.seq not in by_seq and item.seq in snapshot.ghosts:
                by_seq[item.seq] = Fate.GHOST
    found = list(by_seq.values())
    counts = {fate.value: found.count(fate) for fate in Fate}
    counts["re-injected"] = sum(1 for item in changed.new if item.kind in AGAIN)
    return tuple(_stretches(by_seq)), counts


def _stretches(fates: Mapping[int, Fate]) -> list[tuple[int, int, Fate]]:
    """Neighbouring entries of one fate as one, but for pins: every one of them is somebody's wish."""
    out: list[tuple[int, int, Fate]] = []
    first = last = -1
    at: Fate | None = None
    for seq in sorted(fates):
        fate = fates[seq]
        if fate is not at or fate is Fate.PINNED:
            if at is not None:
                out.append((first, last, at))
            first, at = seq, fate
        last = seq
    if at is not None:
        out.append((first, last, at))
    return out


_ADDED = {
    InsertKind.SUMMARY: "summary",
    InsertKind.MEMORY: "memory",
    InsertKind.FILE: "files",
    InsertKind.SKILL: "skills",
    InsertKind.PLAN: "plan",
    InsertKind.GOALS: "goals",
    InsertKind.LAYER: "memory files",
    InsertKind.LEARNED: "project memory",
}
"""Under which name the table of changes counts a new insertion."""


def changes_of(snapshot: Snapshot, changed: Difference, tokens: Sequence[int]) -> list[Change]:
    """The table of what changes: what was put in by its kind, what has another body, what went."""
    rows = {name: [0, 0] for name in ("masked", "folded", "superseded", *_ADDED.values(), "other")}

    def count(name: str, tokens: int) -> None:
        rows[name][0] += 1
        rows[name][1] += tokens

    for n in changed.put:
        kind = changed.after[n].kind
        count(_ADDED.get(kind, "other") if isinstance(kind, InsertKind) else "other", tokens[n])
    for place, n in changed.less:
        count("masked", tokens[n] - snapshot.tokens[place])
    gone = changed.gone
    texts = [n for n in gone if snapshot.items[n].seq is None]
    taken, replaced = (sum(snapshot.tokens[n] for n in some) for some in (gone, texts))
    rows["folded"] = [len(gone) - len(texts), replaced - taken]
    rows["superseded"] = [len(texts), -replaced]
    return [Change(name, n, delta) for name, (n, delta) in rows.items() if n]
