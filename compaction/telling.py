"""A run in words: its state, how far it is, what came of it. Pure functions of the row; no query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from compaction.models import Run
from compaction.plan import Status
from compaction.strategies import strategies
from compaction.strips import percent
from sessions.templatetags.palimpsest import n as number
from sessions.templatetags.palimpsest import span

BAD = frozenset({Run.State.REFUSED, Run.State.FAILED})

GLYPHS = {
    Run.State.QUEUED: "pending",
    Run.State.RUNNING: "running",
    Run.State.HELD: "pending",
    Run.State.COMPLETED: "tick",
    Run.State.REFUSED: "refused",
    Run.State.FAILED: "warning",
    Run.State.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True)
class Phase:
    """`state`: done, now, ahead."""

    name: str
    state: str
    seconds: str
    detail: str


@dataclass(frozen=True, slots=True)
class Line:
    at: str
    words: str


@dataclass(frozen=True, slots=True)
class Progress:
    """All that the page of a run says of it besides what changed. `step`: what is to be announced, once."""

    label: str
    words: str
    glyph: str
    live: bool
    bad: bool
    elapsed: str
    phases: list[Phase]
    lines: list[Line]
    width: str
    step: str
    said: str
    headline: str
    sentence: str
    unchanged: str


def label_of(strategy: str) -> str:
    """The label of a stored strategy ("hybrid:1"); its name where it is not installed any more."""
    name = strategy.partition(":")[0]
    found = strategies().get(name)
    return found.label if found is not None else name


def state_words(run: Run) -> str:
    """Say the state in the word that says most: completed, refused, stale, being cancelled, …"""
    if run.status == Status.STALE:
        return _("stale")
    if run.state == Run.State.RUNNING and run.cancel_asked:
        return _("being cancelled")
    return {
        Run.State.QUEUED: _("waiting"),
        Run.State.RUNNING: _("running"),
        Run.State.HELD: _("held"),
        Run.State.COMPLETED: _("completed"),
        Run.State.REFUSED: _("refused"),
        Run.State.FAILED: _("failed"),
        Run.State.CANCELLED: _("cancelled"),
    }[Run.State(run.state)]


def tell(run: Run, now: datetime, *, until: str = "") -> Progress:
    """Everything about a run. `now`: the time to measure a live one against; `until`: the sentence on what is left after it."""
    live = run.state in Run.LIVE
    log: list[tuple[float, str, str]] = [(float(at), str(phase), str(words)) for at, phase, words in run.log]
    seconds = _seconds(run, now)
    phases = _phases(run, log, seconds)
    done = sum(phase.state == "done" for phase in phases)
    step = next((phase.name for phase in phases if phase.state == "now"), state_words(run))
    return Progress(
        label=label_of(run.strategy),
        words=state_words(run),
        glyph=GLYPHS[Run.State(run.state)],
        live=live,
        bad=run.state in BAD,
        elapsed=_elapsed(run, seconds),
        phases=phases,
        lines=[Line(f"{at:7.2f} s", words) for at, _phase, words in log],
        width=percent(done / len(phases)) if phases else "0%",
        step=step,
        said=_("{done} of {all} steps done").format(done=done, all=len(phases)),
        headline=_headline(run),
        sentence=_sentence(run, until),
        unchanged="" if live or run.state == Run.State.COMPLETED else _unchanged(run),
    )


def _seconds(run: Run, now: datetime) -> float | None:
    if run.started_at is None:
        return None
    return max(0.0, ((run.ended_at or now) - run.started_at).total_seconds())


def _elapsed(run: Run, seconds: float | None) -> str:
    if run.state == Run.State.QUEUED:
        return _("waiting for a worker")
    if seconds is None:
        return ""
    if run.state in Run.LIVE:
        return span(seconds)
    who = _(", by {who}").format(who=run.by.get_username()) if run.by else ""
    return _("took {time}{who}").format(time=span(seconds), who=who)


def _phases(run: Run, log: Sequence[tuple[float, str, str]], seconds: float | None) -> list[Phase]:
    """The steps of a run in order, each with how long it took: from its first line to the first of the next.

    A step that was passed over (nothing to fold: no summary, no files) is not listed once a later one has begun.
    """
    names = _names(run)
    starts: dict[str, float] = {}
    details: dict[str, str] = {}
    for at, phase, words in log:
        starts[phase] = min(at, starts.get(phase, at))
        details[phase] = words
    seen = [phase for phase in names if phase in starts]
    out = []
    order = list(names)
    reached = max((order.index(phase) for phase in seen), default=-1)
    for place, (phase, name) in enumerate(names.items()):
        if place < reached and phase not in starts:
            continue
        state = "ahead"
        took: float | None = None
        if phase in starts:
            rest = [starts[other] for other in seen if order.index(other) > place]
            state = "done" if rest or run.state not in Run.LIVE else "now"
            end = min(rest) if rest else seconds
            took = None if end is None else max(0.0, end - starts[phase])
        out.append(Phase(name, state, _short(took), details.get(phase, "")))
    return out


def _short(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return span(seconds) if seconds >= 0.05 else _("< 0.1 s")


def _names(run: Run) -> dict[str, str]:
    seen = {str(phase) for _at, phase, _words in run.log}
    some = {"compare": _("Compare with the preview"), "hooks": _("Ask the hooks")}
    names = {
        "snapshot": _("Snapshot of {base}").format(base=run.base),
        "plan": _("Plan: {strategy}").format(strategy=label_of(run.strategy)),
        "survey": _("Read what it holds"),
        "summary": _("Write the summary"),
        "files": _("Re-inject files"),
        "check": _("Checks and retention report"),
        "land": _("Move the head"),
        "hooks after": _("Tell the hooks what came of it"),
    }
    if "hooks after" not in seen:
        del names["hooks after"]
    if run.hold and run.draft is None:
        names["land"] = _("Hold it for a person to look at")
    return {phase: name for phase, name in some.items() if phase in seen} | names


def _unchanged(run: Run) -> str:
    """What stayed as it was; shorter where the reason has said it of the head."""
    if "the head stays" in run.reason.lower():
        return _("Nothing was written.")
    return _("The head is where it was. Nothing was written.")


def _headline(run: Run) -> str:
    if run.state == Run.State.COMPLETED and run.tokens_before is not None and run.tokens_after is not None:
        return _("{before} → {after} tokens.").format(before=number(run.tokens_before), after=number(run.tokens_after))
    if run.state in (Run.State.COMPLETED, *Run.LIVE) or run.reason.lower().startswith(run.state):
        return ""
    return sentence(state_words(run))


def _sentence(run: Run, until: str) -> str:
    if run.state == Run.State.HELD:
        return sentence(run.reason or _("The draft is written: look at it, change it, apply it or discard it"))
    if run.state != Run.State.COMPLETED:
        return sentence(run.reason)
    head = ""
    if run.version is not None:
        head = _("It became {version}; undo leads back to {base}, hash for hash.").format(
            version=run.version, base=run.base
        )
    return " ".join(part for part in (until, head, sentence(run.reason)) if part)


def sentence(words: str) -> str:
    """Words as a sentence: a capital at its beginning, a full stop at its end."""
    words = words.strip()
    return words and words[:1].upper() + words[1:] + ("" if words.endswith((".", "?", ":")) else ".")


@dataclass(slots=True)
class Row:
    """A run as a line of a table."""

    run: Run

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)

    @property
    def label(self) -> str:
        return label_of(self.run.strategy)

    @property
    def words(self) -> str:
        return state_words(self.run)

    @property
    def glyph(self) -> str:
        return GLYPHS[Run.State(self.run.state)]

    @property
    def bad(self) -> bool:
        return self.run.state in BAD

    @property
    def difference(self) -> int | None:
        """Tokens the run took away; None where it did not land."""
        run = self.run
        if run.state != Run.State.COMPLETED or run.tokens_before is None or run.tokens_after is None:
            return None
        return run.tokens_after - run.tokens_before

    @property
    def note(self) -> str:
        """What it became, or why it did not."""
        run = self.run
        if run.version is not None:
            return str(run.version)
        words = sentence(run.reason)
        return words if len(words) <= 120 else words[:119].rstrip() + "…"
