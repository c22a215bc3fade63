"""The same session under another rule or window: when it would have compacted, and how often. Pure.

The model, in full. What entered the context before each request, and what each answer added, is taken from the record. The context of
the supposed agent begins with the session's first prompt and grows by these amounts. Its fixed beginning (system prompt, tools, memory)
is that first prompt less what the person said in it. Where the rule's threshold is reached before a request, it compacts: then it holds
the fixed beginning and what the rule leaves (`Rule.leaves`), and goes on growing as recorded. The agent's own compactions are undone in this: there the growth is what entered since, as estimated. A rewind or rollback
takes away what it took away in the record. What is not modelled: that the model would have answered otherwise with another context.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sessions.windows.base import Held, Measure, Name, Threshold, Window

MARKED = 1_000  # marks that are given one by one; all are counted
POINTS = 2_000  # of a chart
MESSAGES = 200  # of a person's newest messages kept in mind


@dataclass(frozen=True, slots=True)
class Taken:
    """One request of the record as amounts: tokens that `entered` since the answer before (negative where the record shrank), and tokens
    that were `answered`. Of what entered: `said` by the person, `results` of tools.
    """

    n: int
    turn: int | None
    seq: int
    entered: int
    answered: int
    said: int = 0
    results: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that would have happened before request `n`. `name`: the threshold; `before`, `after`: tokens of the context."""

    n: int
    turn: int | None
    seq: int
    name: Name
    before: int
    after: int


@dataclass(slots=True)
class AsIf:
    """`points`: of each request its number and the context after its answer. `stuck`: compactions that freed next to nothing.

    `beyond`: requests whose prompt would not have fitted into the window. `marks` are the first of their kind, up to `MARKED`.
    """

    window: Window
    marks: list[Mark] = field(default_factory=list)
    counts: dict[Name, int] = field(default_factory=dict)
    points: list[tuple[int, int]] = field(default_factory=list)
    stuck: int = 0
    beyond: int = 0
    first_beyond: int | None = None

    @property
    def compactions(self) -> int:
        return self.counts.get(Name.COMPACTION, 0) + self.counts.get(Name.PREDICTIVE, 0)

    @property
    def sentence(self) -> str:
        """What would have happened, in one sentence."""
        label, steps = self.window.rule.label, len(self.points)
        if self.window.unknown is not None:
            return self.window.unknown
        if not steps:
            return "The session has no requests whose size is known."
        parts = [
            f"{label} would have compacted {_times(self.compactions)} in {steps:,} requests",
            *([f"masked {_times(self.counts[Name.MASKING])}"] if self.counts.get(Name.MASKING) else []),
            *([f"refused {_times(self.counts[Name.BLOCK])}"] if self.counts.get(Name.BLOCK) else []),
        ]
        if self.window.at(Name.MANUAL) is not None:
            parts[0] = f"{label} compacts only when it is told to"
        first = next((mark for mark in self.marks if mark.name in (Name.COMPACTION, Name.PREDICTIVE)), None)
        words = ", ".join(parts)
        if first is not None:
            words += f", first before request {first.n:,} at {first.before:,} tokens"
        if self.beyond:
            words += f"; {self.beyond:,} requests would not have fitted into the window, first {self.first_beyond:,}"
        return f"{words}."

    def sampled(self, most: int = POINTS) -> list[tuple[int, int]]:
        """At most `most` points: of each stretch the one with the largest context."""
        if len(self.points) <= most:
            return self.points
        size = -(-len(self.points) // most)
        return [max(self.points[at : at + size], key=lambda point: point[1]) for at in range(0, len(self.points), size)]


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count:,} times")


def as_if(window: Window, requests: Iterable[Taken]) -> AsIf:
    """The requests of a session under `window`. See the module for the model."""
    out = AsIf(window)
    if window.unknown is not None:
        return out
    acting = _Acting.of(window)
    context = prefix = prompt = 0
    said: deque[int] = deque(maxlen=MESSAGES)
    results = _Results()
    for n, one in enumerate(requests):
        before = one.entered if n == 0 else max(context + one.entered, min(prefix, context))
        prefix = max(0, before - one.said) if n == 0 else prefix
        said.extend([one.said] if one.said else [])
        if n and before < context:
            results.clear()  # a rewind took some of them, and nobody knows which
        results.add(one.results)
        # A rule that goes by the last prompt knows nothing of what came after it.
        held = prompt if window.rule.holds == "prompt" else before
        reached = acting.reached(held, before) if n else None
        if reached is not None:
            left = window.rule.left(Held(prefix, before, window.compaction, tuple(said)))
            after = min(before, prefix + left)
            out.stuck += (before - after) * 20 < before
            _mark(out, one, reached.name, before, after)
            before = after
            results.clear()
        elif acting.masking is not None:
            freed = results.masked(acting.masking, window.rule.protects, held)
            if freed:
                _mark(out, one, Name.MASKING, before, max(prefix, before - freed))
                before = max(prefix, before - freed)
        if acting.most is not None and before > acting.most:
            out.beyond += 1
            out.first_beyond = one.n if out.first_beyond is None else out.first_beyond
        prompt, context = before, before + one.answered
        out.points.append((one.n, context))
    return out


@dataclass(frozen=True, slots=True)
class _Acting:
    """The thresholds of a window at which its rule does something. `most`: what a prompt may hold."""

    ahead: Threshold | None
    compaction: Threshold | None
    block: Threshold | None
    masking: Threshold | None
    most: int | None

    @classmethod
    def of(cls, window: Window) -> _Acting:
        def acting(name: Name) -> Threshold | None:
            found = window.at(name)
            return found if found is not None and found.acts else None

        return cls(
            acting(Name.PREDICTIVE),
            acting(Name.COMPACTION),
            acting(Name.BLOCK),
            acting(Name.MASKING),
            window.input_limit or window.total,
        )

    def reached(self, held: int, whole: int) -> Threshold | None:
        """What is reached first in the order of the agents: they compact, then look whether the whole is refused."""
        if self.compaction is not None:
            for one in (self.compaction, self.ahead):
                if one is not None and one.reached(held):
                    return one
        return self.block if self.block is not None and self.block.reached(whole) else None


@dataclass(slots=True)
class _Results:
    """The tool results that masking has not taken yet, oldest first."""

    sizes: deque[int] = field(default_factory=deque)
    total: int = 0

    def add(self, tokens: int) -> None:
        if tokens:
            self.sizes.append(tokens)
            self.total += tokens

    def clear(self) -> None:
        self.sizes.clear()
        self.total = 0

    def masked(self, masking: Threshold, protects: int, held: int) -> int:
        """Tokens that masking frees, taken out of what there is. A placeholder is taken to weigh nothing."""
        newest, kept = 0, 0
        for size in reversed(self.sizes):
            if newest + size > protects:
                break
            newest += size
            kept += 1
        could = self.total - newest
        if not could or not masking.reached(could if masking.measure is Measure.TOOL_OUTPUT else held):
            return 0
        while len(self.sizes) > kept:
            self.sizes.popleft()
        self.total = newest
        return could


def _mark(out: AsIf, one: Taken, name: Name, before: int, after: int) -> None:
    out.counts[name] = out.counts.get(name, 0) + 1
    if len(out.marks) < MARKED:
        out.marks.append(Mark(one.n, one.turn, one.seq, name, before, after))


def assumptions(window: Window, *, estimated: Sequence[str] = ()) -> list[str]:
    """The model in plain sentences, for whoever sees a figure of it. `estimated`: what of the growth is, in words."""
    return [
        "What entered before each request and what each answer added is taken from the record.",
        "The fixed beginning (system prompt, tools, memory) is the session's first prompt less what the person said in it.",
        f"A compaction leaves that beginning and {window.rule.leaves}; from there the context grows on as recorded.",
        "The agent's own compactions are left out; a rewind takes away what it took away in the record.",
        "Whether the model would have answered otherwise with another context is not modelled.",
        *estimated,
    ]
