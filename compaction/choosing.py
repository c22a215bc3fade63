"""What a person chose to do to a context, checked: everything a plan depends on besides the context itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from compaction.strategies import by_id, strategies
from compaction.strategies.base import BadParam, Strategy, settled
from compaction.summarisers.configured import Target, named
from sessions.store import clean
from sessions.versions import Refused

SUMMARISERS = ("extractive", "llm")


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be done, checked: everything a plan depends on besides the context."""

    strategy: Strategy
    params: Mapping[str, Any]
    summariser: str = "extractive"
    instructions: str = ""
    pins: frozenset[int] = frozenset()
    without: frozenset[str] = frozenset()
    edited_summary: str | None = None
    model: Target | None = None
    critique: bool = False
    extractive_allowed: bool = False

    @property
    def asked(self) -> str:
        """The summariser as a preview names it: "extractive", or "llm:" and the model."""
        return self.summariser if self.model is None else f"{self.summariser}:{self.model.name}"

    @property
    def name(self) -> str:
        """The strategy as stored with a run: "hybrid:1"."""
        return f"{self.strategy.id}:{self.strategy.version}"


def figures_of(strategy: str, preset: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a preset of `strategy`, those of `params` over them. Refused (no_such_strategy, bad_param) where there is no such preset.

    "" is no preset: then the figures are those of `params` alone.
    """
    if not preset:
        return dict(params)
    presets = _strategy(strategy).presets
    if preset not in presets:
        known = ", ".join(presets) or "none"
        raise Refused("bad_param", f"{strategy}: there is no preset {preset!r}; there are: {known}.")
    return {**presets[preset], **params}


def _strategy(name: str) -> Strategy:
    try:
        return by_id(name)
    except KeyError:
        known = ", ".join(strategies())
        raise Refused("no_such_strategy", f"There is no strategy {name!r}; there are: {known}.") from None


def choose(
    *,
    strategy: str,
    params: Mapping[str, Any] | None = None,
    summariser: str = "extractive",
    instructions: str = "",
    pins: Iterable[int] = (),
    without: Iterable[str] = (),
    edited_summary: str | None = None,
    model: str | None = None,
    critique: bool = False,
    extractive_allowed: bool = False,
) -> Choice:
    """Check what a person chose. Refused (no_such_strategy, bad_param, no_such_summariser, no_model, bad_summary) says what would do.

    Words are taken as the database can hold them, so that the preview shows what the run will do.
    """
    found = _strategy(strategy)
    try:
        values = settled(found.params, params or {})
    except BadParam as error:
        raise Refused("bad_param", f"{found.id}: {error}.") from error
    if summariser not in SUMMARISERS:
        raise Refused(
            "no_such_summariser", f"There is no summariser {summariser!r}; there are: {', '.join(SUMMARISERS)}."
        )
    target = named(model) if summariser == "llm" else None
    if edited_summary is not None and not edited_summary.strip():
        raise Refused(
            "bad_summary", "The edited summary is empty. Write something, or leave it as the summariser wrote it."
        )
    return Choice(
        found,
        values,
        summariser,
        (clean(instructions) or "").strip(),
        frozenset(pins),
        frozenset(clean(path) or "" for path in without),
        clean(edited_summary),
        target,
        critique and target is not None,
        extractive_allowed and target is not None,
    )
