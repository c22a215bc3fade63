"""What a person chose on the compact page, read from a query or a form: strategy, preset, figures, pins, files, edited words.

Names in the address are those of the command line: `strategy`, `preset`, `set.NAME`, `summariser`, `instructions`, `pin` (repeated), so that
a preview can be linked to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from compaction.plan import Section
from compaction.strategies import RECOMMENDED, strategies
from compaction.strategies.base import BadParam, Param, Strategy, settled
from compaction.summary.template import NOTHING, PREFACE, TITLES, bullet, heading
from sessions.store import clean

LONGEST_INSTRUCTIONS = 2_000  # characters
MOST_FILES = 200
SET = "set."
WHOLE = "whole"
"""The field of a summary that has no nine sections: it is edited as one text."""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter as the form shows it. `text`: its value as typed or written out; `error`: why it cannot be, in words."""

    param: Param
    text: str
    error: str = ""

    @property
    def on(self) -> bool:
        return self.text == "yes"


@dataclass(slots=True)
class Choosing:
    """A choice as it was made. `params`: values that hold, by name; `fields`: all of them as the form shows them, errors beside.
    `unknown`: a strategy that was named and is not installed.
    """

    strategy: Strategy
    preset: str
    params: dict[str, Any]
    fields: list[Field]
    summariser: str = "extractive"
    instructions: str = ""
    pins: list[int] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    edited_summary: str | None = None
    unknown: str = ""
    model: str | None = None
    critique: bool = False
    extractive_allowed: bool = False
    held: int | None = None  # the run whose draft is looked at

    @property
    def errors(self) -> list[str]:
        return [one.error for one in self.fields if one.error]

    def arguments(self) -> dict[str, Any]:
        """For `runs.preview_run` and `tasks.submit`."""
        return {
            "strategy": self.strategy.id,
            "params": self.params,
            "summariser": self.summariser,
            "instructions": self.instructions,
            "pins": self.pins,
            "without": self.without,
            "edited_summary": self.edited_summary,
            "model": self.model,
            "critique": self.critique,
            "extractive_allowed": self.extractive_allowed,
        }

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The choice as names and values of a form, but for the edited words: those stand in the form themselves."""
        yield "strategy", self.strategy.id
        yield "preset", self.preset
        yield "was", f"{self.strategy.id}|{self.preset}"
        for one in self.fields:
            yield f"{SET}{one.param.name}", one.text
        yield "summariser", self.summariser if self.model is None else f"{self.summariser}:{self.model}"
        if self.critique:
            yield "critique", "yes"
        if self.extractive_allowed:
            yield "or-extractive", "yes"
        if self.instructions:
            yield "instructions", self.instructions
        for seq in self.pins:
            yield "pin", str(seq)
        for path in self.without:
            yield "without", path
        if self.held is not None:
            yield "held", str(self.held)


def read(data: QueryDict) -> Choosing:
    """The choice in a query or a form. Never fails: what cannot be is left at its default, with the reason beside it.

    A preset or strategy other than the one the form was drawn for (`was`) brings its own figures along; those typed before are dropped.
    """
    known = strategies()
    strategy = known.get(data.get("strategy", RECOMMENDED)) or known[RECOMMENDED]
    was_strategy, _, was_preset = data.get("was", "").partition("|")
    preset = data.get("preset", "")
    typed = {name.removeprefix(SET): data.getlist(name)[-1] for name in data if name.startswith(SET)}
    if "was" in data and (was_strategy != strategy.id or (preset and was_preset != preset)):
        typed = {}
    if was_strategy not in ("", strategy.id) or preset not in strategy.presets:
        preset = ""
    fields, params = _fields(strategy, preset, typed)
    summariser, _, model = (data.get("summariser") or "extractive").partition(":")
    held = data.get("held", "")
    return Choosing(
        strategy=strategy,
        preset=_preset(strategy, params),
        params=params,
        fields=fields,
        summariser=summariser,
        model=model or None,
        critique=data.get("critique") == "yes",
        extractive_allowed=data.get("or-extractive") == "yes",
        instructions=_plain(data.get("instructions", ""))[:LONGEST_INSTRUCTIONS],
        pins=_pins(data),
        without=_without(data),
        edited_summary=_edited(data),
        held=int(held) if held.isdecimal() and len(held) < 12 else None,
        unknown="" if data.get("strategy", RECOMMENDED) in known else data.get("strategy", ""),
    )


def _fields(strategy: Strategy, preset: str, typed: Mapping[str, str]) -> tuple[list[Field], dict[str, Any]]:
    given = dict(strategy.presets.get(preset, {}))
    start = settled(strategy.params, given)
    fields: list[Field] = []
    params: dict[str, Any] = {}
    for param in strategy.params:
        value, error = start[param.name], ""
        text = None
        if param.name in typed:
            try:
                value = settled([param], {param.name: typed[param.name]})[param.name]
            except BadParam as bad:
                text, error = typed[param.name], str(bad).partition(": ")[2] or str(bad)
        params[param.name] = value
        fields.append(Field(param, written(param, value) if text is None else text, error))
    return fields, params


def _preset(strategy: Strategy, params: Mapping[str, Any]) -> str:
    """The preset these figures are; "" where they are a person's own."""
    return next(
        (name for name, given in strategy.presets.items() if settled(strategy.params, given) == dict(params)), ""
    )


def written(param: Param, value: Any) -> str:
    """A value as the form shows it: 50,000 · yes · 0.3."""
    if param.kind == "flag":
        return "yes" if value else "no"
    if param.kind in ("tokens", "count") and isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def _pins(data: QueryDict) -> list[int]:
    """Pins asked for, one by one (`pin`) or several at once (`pins`, by commas), without those taken off (`unpin`)."""
    words = [*data.getlist("pin"), *",".join(data.getlist("pins")).split(",")]
    pins = {int(word) for word in words if word.isdecimal() and len(word) < 10}
    return sorted(pins - {int(word) for word in data.getlist("unpin") if word.isdecimal() and len(word) < 10})


def _without(data: QueryDict) -> list[str]:
    """Files not to bring back: those named (`without`), and those offered with a box (`offered`) whose box (`file`) is not ticked."""
    ticked = set(data.getlist("file"))
    paths = {*data.getlist("without"), *data.getlist("offered")} - ticked
    return sorted(clean(path) or "" for path in paths if path)[:MOST_FILES]


# ── the summary's words ────────────────────────────────────────────────────────────────────────────────────────


def section_text(section: Section | None) -> str:
    """A section as it is edited: what stands under its heading."""
    lines = [bullet(text) for text, _ in section.lines] if section is not None else []
    return "\n".join(lines) or NOTHING


def draft_digest(texts: Sequence[str]) -> str:
    """Of the words as the summariser wrote them, to tell edited ones from them. However a browser ends its lines."""
    hasher = hashlib.blake2b(digest_size=12)
    for text in texts:
        hasher.update(_plain(text).encode("utf-8", "surrogatepass") + b"\0")
    return hasher.hexdigest()


def _plain(text: str) -> str:
    return (clean(text) or "").replace("\r\n", "\n").replace("\r", "\n").strip()


def words_changed(data: QueryDict) -> bool:
    """Whether the words in a form are others than those the page showed with its preview."""
    texts = _texts(data)
    return texts is not None and draft_digest(texts) != data.get("shown")


def _texts(data: QueryDict) -> list[str] | None:
    if WHOLE in data:
        return [_plain(data.get(WHOLE, ""))]
    names = [f"section-{n}" for n in range(1, len(TITLES) + 1)]
    return [_plain(data.get(name, "")) for name in names] if any(name in data for name in names) else None


def _edited(data: QueryDict) -> str | None:
    """The summary with a person's words in it; None where the form holds none, or those of the draft."""
    texts = _texts(data)
    if texts is None or data.get("do") == "write-again":
        return None
    if draft_digest(texts) == data.get("draft"):
        return None
    if WHOLE in data:
        return texts[0]
    blocks = [
        f"{heading(n, title)}\n{text or NOTHING}" for n, (title, text) in enumerate(zip(TITLES, texts, strict=True), 1)
    ]
    return "\n\n".join([PREFACE, *blocks])
