"""Static recall: what a person expects a context still to know, whether it is needed again or not, by kind, judged by text alone.

The preview's own report (`compaction.retention`) judges the same facts faster, by place; this one takes any text, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compaction.summary.events import Event, Voice
from compaction.summary.facts import Findings, is_instruction
from compaction.summary.items import path_term, terms, words
from compaction.tools import clip, signature

WEIGHTS = {
    "user": 3.0,
    "edited": 3.0,
    "read": 1.0,
    "error": 2.0,
    "failed": 1.0,
    "todo": 3.0,
    "done": 1.0,
    "decision": 2.0,
    "last": 2.0,
}


@dataclass(frozen=True, slots=True)
class Known:
    """One thing the prefix holds. `k`: length of the word runs that are compared."""

    kind: str
    text: str
    weight: float
    k: int = 5


def facts(findings: Findings, events: Sequence[Event]) -> list[Known]:
    """The facts of a prefix."""
    out: list[Known] = []
    named: set[str] = set()
    for message in findings.messages:
        named |= terms(message.text)
        out.append(Known("user", plain(message.text), 2.0 if is_instruction(message.text) else 1.0))
    for use in findings.files.values():
        term = path_term(use.path)
        if term is not None:
            out.append(Known("edited" if use.changed else "read", term, 2.0 if term in named else 1.0))
    for failure in findings.failures:
        open_ = failure.solved is None
        out.extend(Known("error", line, 2.0 if open_ else 1.0, 3) for line in map(signature, failure.lines) if line)
    for command in findings.commands.values():
        if command.failures:
            out.append(Known("failed", command.text[:60], 2.0 if command.failed else 1.0, 3))
    for todo in findings.todos:
        if todo.status != "cancelled":
            out.append(
                Known("todo" if todo.open else "done", todo.text, 2.0 if todo.status == "in_progress" else 1.0, 3)
            )
    out.extend(Known("decision", remark.text, 1.0, 3) for remark in findings.decisions if terms(remark.text))
    out.extend(Known("last", e.text[:2_000], 1.0) for e in events[-8:] if e.voice is not Voice.SUMMARY)
    return out


def static(known: Sequence[Known], context: Sequence[str]) -> dict[str, float]:
    """Recall by kind, 0…1, of the kinds that occur; "all": over all of them by WEIGHTS."""
    there = _Text(context)
    sums: dict[str, list[float]] = {}
    for fact in known:
        row = sums.setdefault(fact.kind, [0.0, 0.0])
        row[0] += fact.weight * _hit(fact, there)
        row[1] += fact.weight
    out = {kind: got / of for kind, (got, of) in sums.items() if of}
    total = sum(WEIGHTS[kind] for kind in out)
    if total:
        out["all"] = sum(WEIGHTS[kind] * share for kind, share in out.items()) / total
    return out


def plain(text: str) -> str:
    """A message as it is compared: no fenced blocks, no very long lines, at most 40 lines; the beginning where nothing else is left."""
    out: list[str] = []
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and len(line) <= 400:
            out.append(line)
    return "\n".join(out[:40]) if any(line.strip() for line in out) else clip(text, 400)


def _hit(fact: Known, there: _Text) -> float:
    match fact.kind:
        case "user" | "last":
            return there.cover(fact.text, fact.k)
        case "edited" | "read":
            return float(fact.text in there.terms)
        case "error":
            return float(there.cover(fact.text, 3) >= 0.6 or there.near(fact.text) >= 0.8)
        case "failed":
            return float(fact.text in there.whole or there.near(fact.text) >= 0.8)
        case "todo" | "done":
            return float(there.near(fact.text) >= 0.7)
        case _:
            share = there.cover(fact.text, 3)
            if share > 0.5:
                return share
            return 0.5 if terms(fact.text) <= there.terms and there.near(fact.text) >= 0.5 else share


class _Text:
    """A context's texts, indexed: its terms, its runs of words, the words of each line."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.whole = "\n".join(texts)
        self.terms: set[str] = set()
        self.runs: dict[int, set[tuple[str, ...]]] = {1: set(), 3: set(), 5: set()}
        self.lines: dict[str, set[int]] = {}
        number = 0
        for text in texts:
            self.terms |= terms(text)
            found = words(text)
            for k, runs in self.runs.items():
                runs.update(_runs(found, k))
            for line in text.split("\n"):
                number += 1
                # An error's line is compared as its signature, so the context's lines are read both ways.
                for word in {*words(line), *words(signature(line))}:
                    self.lines.setdefault(word, set()).add(number)
            sign = words(signature(text[:20_000]))
            self.runs[3].update(_runs(sign, 3))

    def cover(self, text: str, k: int) -> float:
        found = words(text)
        if not found:
            return 1.0
        size = k if len(found) >= k else 3 if len(found) >= 3 else 1
        runs = list(_runs(found, size))
        held = self.runs[size]
        return sum(run in held for run in runs) / len(runs)

    def near(self, text: str) -> float:
        wanted = set(words(text))
        hits: dict[int, int] = {}
        for word in wanted:
            for line in self.lines.get(word, ()):
                hits[line] = hits.get(line, 0) + 1
        return max(hits.values(), default=0) / len(wanted) if wanted else 1.0


def _runs(found: Sequence[str], k: int) -> Iterator[tuple[str, ...]]:
    return zip(*(found[n:] for n in range(k)), strict=False)
