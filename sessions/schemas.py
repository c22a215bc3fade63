"""The JSON of sessions, field by field, as `answers` makes it: tokens are integers, times ISO 8601 in UTC, ranges [first, last]."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Field, Schema
from pydantic import WithJsonSchema

Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Id = Annotated[str, WithJsonSchema({"type": "string", "format": "uuid"})]


class Totals(Schema):
    """Sums over the session's own steps; null where the agent records no such figure."""

    fresh: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    steps: int | None = None


class SessionOut(Schema):
    id: Id
    agent: str
    agent_version: str | None
    native_id: str | None
    title: str
    project: str | None
    cwd: str | None
    branch: str | None
    models: list[str]
    parent: Id | None
    parent_kind: str | None
    parent_native_id: str | None
    started_at: Time | None
    last_at: Time | None
    entries: int
    turns: int
    steps: int
    malformed: int
    tokens: Totals
    head: int | None = Field(description="number of the version in force")
    native_head: int | None = Field(description="number of the version the agent itself would go on from")
    superseded_by: Id | None = Field(description="the session of a newer revision of the same file")
    problems: list[str]


class SessionsOut(Schema):
    items: list[SessionOut]
    next: str | None = Field(description="`after` of the next page")


class SourceOut(Schema):
    file: int = Field(description="its number, as `GET /sessions/{id}/source?file=` takes it")
    own: bool
    role: str
    path: str
    size: int
    sha256: str | None
    encoding: str | None
    revision: int
    superseded: bool
    modified_at: Time | None


class ThresholdOut(Schema):
    name: str = Field(description="masking, warning, predictive, compaction, block, input_limit, total")
    tokens: int
    formula: str
    measure: str
    acts: bool
    strict: bool = Field(description="reached by one token more, not by as many")
    source: str


class WindowOut(Schema):
    label: str
    source: str
    date: str
    counts: str
    holds: str = Field(description="what is held against the thresholds: context, prompt, estimate")
    meter: str
    leaves: str = Field(description="what a compaction leaves behind the fixed beginning")
    model: str | None
    context: int | None
    input: int | None
    output: int | None
    reserve: int | None
    limits_source: str
    limits_date: str | None
    notes: list[str]
    unknown: str | None
    thresholds: list[ThresholdOut]


class UsedOut(Schema):
    tokens: int | None
    recorded: int | None
    estimated: int | None
    meter: str | None
    whose: str
    refused: int | None = Field(description="what the agent recorded and cannot be: more than 1.5 times the window")


class NumberOut(Schema):
    key: str = Field(description="total, prompt, until_compaction, output, output_budget")
    label: str
    tokens: int | None
    of: int | None
    whose: str
    counts: str


class ScreenOut(Schema):
    """The agent's own display, which is seldom what its runtime acts on."""

    text: str
    numerator: int
    denominator: int
    counts: str


class DistanceOut(Schema):
    name: str
    tokens: int
    left: int
    formula: str


class ForecastOut(Schema):
    state: str = Field(description="sent, masks, compacts, blocked, unknown")
    words: str
    sentence: str
    reason: str
    threshold: str | None
    distances: list[DistanceOut]
    notes: list[str]


class GaugeOut(Schema):
    version: int | None
    step: int | None
    rule: str | None
    window: WindowOut | None
    used: UsedOut
    counted: int | None = Field(description="what the rule holds against its thresholds")
    maskable: int | None = Field(description="tokens of tool results its masking could take; null: it masks nothing")
    numbers: list[NumberOut]
    screen: ScreenOut | None
    forecast: ForecastOut


class PartsOut(Schema):
    fresh: float
    cache_read: float
    cache_write: float
    output: float


class ModelCostOut(Schema):
    model: str | None
    usd: float | None = Field(description="null: the model has no price")
    requests: int
    fresh: int
    cache_read: int
    cache_write: int
    output: int
    source: str | None
    since: str | None
    until: str | None


class CostOut(Schema):
    """US dollars, by the prices of the day of each request, looked up now. `usd` null: no model has a price."""

    usd: float | None
    complete: bool = Field(description="whether every model has a price")
    lower_bound: bool
    parts: PartsOut | None
    uncached_usd: float | None = Field(description="what the same requests had cost without a cache")
    saved_by_cache_usd: float | None
    models: list[ModelCostOut]
    unknown: list[str]
    notes: list[str]


class SessionWhole(SessionOut):
    sources: list[SourceOut]
    gauge: GaugeOut
    cost: CostOut


class EntryOut(Schema):
    seq: int
    kind: str
    role: str | None
    turn: int | None
    step: int | None
    goal: str | None
    at: Time | None
    native_id: str | None
    native_parent: str | None
    sent: bool
    lane: str
    is_error: bool
    copied: bool
    tokens: int
    parts: list[dict[str, Any]]
    source: int
    byte_offset: int
    byte_length: int
    problem: str | None


class EntriesOut(Schema):
    items: list[EntryOut]
    next: int | None = Field(description="`after` of the next page")


class StepOut(Schema):
    n: int
    turn: int | None
    first_seq: int
    last_seq: int
    response_id: str | None
    model: str | None
    at: Time | None
    fresh: int | None
    cache_read: int | None
    cache_write: int | None
    prompt: int | None
    output: int | None
    reasoning: int | None
    context: int | None
    window: int | None
    estimated: bool
    copied: bool
    usd: float | None = Field(description="what the request cost; null where its model has no price")


class StepsOut(Schema):
    items: list[StepOut]
    next: int | None = Field(description="`after` of the next page")


class GoalOut(Schema):
    path: str
    parent: str | None
    text: str
    status: str = Field(description="pending, in_progress, completed, abandoned")
    note: str | None
    first_seq: int
    last_seq: int
    inferred: bool
    entries: int
    tokens: int


class VersionOut(Schema):
    n: int
    parent: int | None
    origin: str = Field(description="recorded, native, run, person")
    kind: str
    label: str
    name: str = Field(description="what a person calls it")
    at_seq: int
    hidden: list[list[int]]
    masked: list[list[int]]
    tokens: int | None
    content_hash: str
    run: int | None
    by: str | None
    made_at: Time | None
    facts: dict[str, Any]


class VersionOnLineOut(VersionOut):
    tokens_at_end: int | None = Field(
        description="o200k, of its context when the next was made from it, of the head now; null of old ones, which are not summed"
    )


class VersionsOut(Schema):
    session: Id
    head: int | None
    native_head: int | None
    follows_native: bool
    undo_to: int | None
    redo_to: int | None
    versions: list[VersionOnLineOut]


class ItemOut(Schema):
    key: str = Field(description='"e1083" is entry 1083, "i2" the third insertion of the version')
    seq: int | None
    role: str | None
    kind: str
    parts: list[dict[str, Any]]
    tokens: int
    masked: bool
    pinned: bool
    turn: int | None
    step: int | None
    goal: str | None
    at: Time | None
    after: int | None
    stands_for: list[list[int]]
    label: str


class ContextOut(Schema):
    """What the model would be sent, item by item, with the gauge."""

    session: Id
    agent: str
    native_id: str | None
    version: int | None
    head: int | None
    native_head: int | None
    step: int | None
    until_seq: int | None
    content_hash: str
    meter: str
    tokens: int
    gauge: GaugeOut
    items: list[ItemOut]


class NameIn(Schema):
    name: str = Field(description="at most 80 characters; empty takes the name away")


class HeadIn(Schema):
    version: int


class MovedOut(Schema):
    session: Id
    was: int
    head: int
    native_head: int | None
    label: str
    tokens: int | None
    content_hash: str
    kept: int = Field(description="entries that came after the version and stay visible")
    notes: list[str]


class TakenOut(Schema):
    path: str
    outcome: str = Field(description="added, grown, unchanged, same, rewritten, kept, skipped, failed, reread")
    reason: str
    agent: str | None
    session: Id | None
    native_id: str | None
    size: int
    entries: int
    added: int
    turns: int
    steps: int
    goals: int
    versions: int
    compactions: int
    malformed: int
    tokens: Totals
    copied: Totals = Field(
        description="of steps that it has too and that count in the session where they were requested"
    )
    problems: list[str]


class ReceivedOut(TakenOut):
    """`outcome` may also be `held`: these bytes are kept, and more are awaited before the file is taken in."""

    stored: int = Field(description="bytes that are here under the name: where the next piece goes on")


class StandingOut(Schema):
    path: str
    stored: int = Field(description="bytes that are here: where the next piece goes on")
    sha256: str = Field(description="of those bytes")
    complete: bool = Field(description="false while bytes wait for more, or for becoming a session")
    agent: str | None
    session: Id | None
    revision: int | None
