"""The rule that a chart is drawn by: the session's own, or another one asked for by name, with another model or window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sessions import queries
from sessions.catalogue import for_agent, limits_of
from sessions.gauge import window_of
from sessions.models import Session
from sessions.tokenchart import Limit
from sessions.windows import Limits, Threshold, Window, rules, window

THRESHOLD_WORDS = {
    "compaction": "compaction", "block": "hard block", "input_limit": "input limit", "total": "total window", "masking": "masking",
    "warning": "warning", "predictive": "compaction ahead of need", "manual": "compaction by hand",
}  # fmt: skip
SHOWN = ("compaction", "block", "input_limit", "total")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked: a rule's id, and a model's name or a window in tokens. "": the session's own."""

    rule: str = ""
    model: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Asked:
        """Read `rule` and `model` of a query; a rule that is not known is none."""
        rule = query.get("rule", "")
        return cls(rule if rule in rules() else "", query.get("model", "").strip()[:120])

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

    def of_session(self, session: Session) -> Chosen:
        """The window asked for, on this session."""
        own = window_of(session, queries.last_step(session))
        drawn = own if self.own else self._window(session, own)
        return Chosen(self, own, drawn, tuple(_limits(drawn)))

    def _window(self, session: Session, own: Window | None) -> Window | None:
        rule = rules().get(self.rule) or (own.rule if own is not None else None)
        if rule is None:
            return None
        if self.tokens:
            return window(rule, Limits(context=self.tokens, source="the window asked for"))
        if self.model:
            return window(rule, for_agent(limits_of(self.model), rule.agent))
        if own is not None and own.rule.agent == rule.agent:
            return window(rule, own.limits)
        name = next(iter(reversed(session.models_used)), None)
        limits = for_agent(limits_of(name), rule.agent) if name else Limits()
        if limits.context is None and own is not None:
            limits = replace(own.limits, input=None)
        return window(rule, limits)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A window for the chart. `drawn` None: no rule of the agent is known. `marks`: steps in front of which it would have compacted."""

    asked: Asked
    own: Window | None
    drawn: Window | None
    limits: tuple[Limit, ...]
    marks: tuple[int, ...] = ()
    sentence: str = ""


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
    return "as asked" if "asked" in source else "model catalogue"


def choices(session: Session) -> dict[str, Any]:
    """What the form offers: rules by agent, and names of models to start from."""
    agents: dict[str, list[tuple[str, str]]] = {}
    for rule in rules().values():
        agents.setdefault(rule.agent, []).append((rule.id, rule.label))
    own = [name for name in session.models_used if isinstance(name, str)]
    return {"rules": [rule for group in agents.values() for rule in group], "models": [*dict.fromkeys([*own, *MODELS])]}


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
