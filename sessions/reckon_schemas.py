"""The JSON of what is reckoned from a session, as `reckonings` makes it: costs, suppositions, limits, rules. Dollars are US dollars."""

from __future__ import annotations

import datetime as dt

from ninja import Field, Schema

from sessions.schemas import CostOut, Id, WindowOut


class BrokenOut(Schema):
    """What moving from one version to another costs at the provider's cache. Amounts null: the model has no price."""

    from_: int = Field(alias="from")
    to: int
    first_seq: int | None = Field(description="entry from which on the two contexts differ; null where they are equal")
    meter: str
    kept: int = Field(description="tokens of the beginning that both share")
    anew: int
    before: int
    usd_next: float | None
    usd_intact: float | None
    usd_extra: float | None
    usd_saved_later: float | None
    pays_after: int | None = Field(description="requests after which the change has paid for itself; null: never")
    model: str | None
    source: str | None
    date: str | None
    sentence: str


class LineOut(Schema):
    name: str
    tokens: int
    formula: str
    acts: bool
    strict: bool
    whose: str


class MarkOut(Schema):
    step: int = Field(description="the request before which it would have happened")
    turn: int | None
    seq: int
    name: str = Field(description="compaction, predictive, masking, block")
    before: int
    after: int


class SupposedOut(Schema):
    """The session under a rule and window: what would have happened, and the model that rests on."""

    session: Id
    rule: str
    label: str
    window: WindowOut
    sentence: str
    requests: int
    requests_estimated: int
    compactions: int
    own_compactions: int = Field(description="that the agent itself made in the record")
    counts: dict[str, int]
    stuck: int = Field(description="compactions that would have freed less than a twentieth")
    beyond: int = Field(description="requests that would not have fitted into the window")
    first_beyond: int | None
    thresholds: list[LineOut]
    marks: list[MarkOut]
    marks_left_out: int
    points: list[list[int]] = Field(description="[request, context after its answer], at most 2,000")
    assumes: list[str]
    notes: list[str]


class RuleOut(Schema):
    id: str
    agent: str
    label: str
    source: str
    date: str
    counts: str
    holds: str = Field(description="what is held against the thresholds: context, prompt, estimate")
    meter: str
    leaves: str = Field(description="what a compaction leaves behind the fixed beginning")


class PresetOut(Schema):
    id: str
    label: str
    rule: str
    context: int | None
    input: int | None
    output: int | None
    source: str
    date: str | None
    thresholds: list[LineOut]


class RulesOut(Schema):
    rules: list[RuleOut]
    presets: list[PresetOut]


class LimitOut(Schema):
    """What the workspace says of the models that fit a pattern; null: nothing of that. Prices a million tokens."""

    pattern: str
    context: int | None
    input: int | None
    output: int | None
    price_input: float | None
    price_output: float | None
    price_cache_read: float | None
    price_cache_write: float | None
    source: str
    date: str
    by: str | None


class LimitIn(Schema):
    pattern: str = Field(description="a model's name, or a pattern with * and ?")
    context: int | None = None
    input: int | None = None
    output: int | None = None
    price_input: float | None = None
    price_output: float | None = None
    price_cache_read: float | None = None
    price_cache_write: float | None = None
    source: str = Field(description="whose word it is")
    date: dt.date | None = Field(None, description="as of when; today unless said")


class MeterOut(Schema):
    id: str
    label: str
    tokens: int
    exact: bool = Field(description="counts with a real vocabulary, not by characters")
    counts: str
    source: str


class AdaptiveOut(Schema):
    weight: float
    requests: int = Field(description="recorded prompts it was learned from")
    tokens: int
    counts: str


class MetersOut(Schema):
    """One context by every meter, before the agent's own wiring; without system prompt and tool schemas."""

    session: Id
    version: int | None
    step: int | None
    own: str = Field(description="the meter by which the session's own agent estimates")
    meters: list[MeterOut]
    adaptive: AdaptiveOut


class ModelOut(Schema):
    """What is known of a model, by whose word."""

    model: str
    context: int | None
    input: int | None
    output: int | None
    source: str
    date: str | None
    notes: list[str]
    price_input: float | None
    price_output: float | None
    price_cache_read: float | None
    price_cache_write: float | None
    price_source: str | None
    price_date: str | None


__all__ = [
    "BrokenOut",
    "CostOut",
    "LimitIn",
    "LimitOut",
    "LineOut",
    "MarkOut",
    "MeterOut",
    "MetersOut",
    "ModelOut",
    "PresetOut",
    "RuleOut",
    "RulesOut",
    "SupposedOut",
]
