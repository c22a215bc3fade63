"""The JSON of runs and plans, the same from the API and the command line: tokens are integers, times ISO 8601 in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Field, Schema

from compaction import accounts
from compaction.models import Run
from compaction.runs import Previewed
from compaction.strategies import RECOMMENDED
from compaction.strategies.base import Param, Strategy


class CompactIn(Schema):
    """What to do to a session's context. With `preview` the plan comes back and nothing is written."""

    strategy: str = RECOMMENDED
    preset: str = Field("", description="one of the strategy's presets; `params` go over its figures")
    params: dict[str, Any] = Field(
        default_factory=dict, description="settable ones are in GET /strategies; the others keep their defaults"
    )
    summariser: str = "extractive"
    instructions: str = ""
    pins: list[int] = Field(
        default_factory=list, description="entries kept word for word, besides those pinned in the session"
    )
    without: list[str] = Field(default_factory=list, description="paths of files not to bring back")
    edited_summary: str | None = Field(None, description="in the place of what the summariser wrote")
    model: str | None = Field(
        None, description="with the summariser llm: provider:name of a configured model; null: the first"
    )
    critique: bool = Field(False, description="the model looks over what it wrote")
    extractive_allowed: bool = Field(
        False, description="the extractive summary may stand in where the model gives none"
    )
    preview: bool = False
    hold: bool = Field(False, description="let a model write the draft and hold it: POST /runs/{id}/apply lands it")
    expected_hash: str | None = Field(
        None, description="`base_hash` of the preview: refused as stale where the context has moved on"
    )
    plan_digest: str | None = Field(None, description="of the preview: refused where the run would do anything else")


class ApplyIn(Schema):
    """A person's changes to a draft that a run holds; null: as it was written."""

    summary: str | None = Field(None, description="in the place of the model's text; the list of files stays behind it")
    pins: list[int] | None = None
    without: list[str] | None = None
    preview: bool = Field(False, description="only say what it would do")
    plan_digest: str | None = Field(None, description="of the preview: refused where it would do anything else")


class EditIn(Schema):
    """A change by hand. `do`: fold (entries, text), unfold, take-out (insertion), mask (entry, text), unmask, drop (entry), rewrite
    (insertion, text), note (after, text).
    """

    do: str
    entries: str | None = Field(None, description="as 12-40,55, both ends included")
    entry: int | None = None
    after: int | None = Field(None, description="-1: before all")
    insertion: int | None = Field(None, description="its number among what the version puts in")
    text: str = ""
    preview: bool = False
    expected_hash: str | None = Field(
        None, description="of the base that was looked at: refused as stale where it moved"
    )


class RollbackIn(Schema):
    """One of the four points; what stands behind it is hidden, not deleted."""

    to_turn: int | None = Field(None, description="its end")
    to_step: int | None = Field(None, description="its end, results included")
    to_entry: int | None = None
    to_goal: str | None = Field(None, description="its start")
    reason: str = ""
    abandon: bool = Field(False, description="give up the goal that was worked on, for that reason")
    notice: bool = Field(False, description="tell the agent what was tried and why it was taken back")
    preview: bool = Field(False, description="only say what goes")


class LogLine(Schema):
    seconds: float
    phase: str
    words: str


class Tokens(Schema):
    """By one meter, the same before and after; null where it is not known yet."""

    meter: str
    before: int | None
    after: int | None


class RunOut(Schema):
    id: int
    session: UUID
    base: int = Field(description="number of the version it started from")
    version: int | None = Field(description="number of the version it made")
    strategy: str
    params: dict[str, Any]
    summariser: str
    model: str | None = Field(description="provider:name, where a model writes the summary")
    trigger: str = Field(description="manual or automatic")
    instructions: str
    pins: list[int]
    without: list[str]
    state: str = Field(description="queued, running, held, completed, refused, failed, cancelled")
    status: str | None = Field(description="the outcome in one word")
    reason: str
    phase: str
    log: list[LogLine]
    attempts: int
    hold: bool
    cancel_asked: bool
    tokens: Tokens
    base_hash: str
    plan_digest: str | None
    by: str | None
    asked_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, run: Run) -> RunOut:
        return cls(**_fields(run))


class RunWhole(RunOut):
    """A run with its report: the preview as it was when the run came to its end; and what it asked of models and hooks."""

    report: dict[str, Any] | None
    calls: list[dict[str, Any]] = Field(description="calls to models, each attempt, by the provider's own figures")
    hooks: list[dict[str, Any]] = Field(description="what each hook said")

    @classmethod
    def of(cls, run: Run) -> RunWhole:
        asked = accounts.as_json(run)
        return cls(**_fields(run), report=run.report, calls=asked["calls"], hooks=asked["hooks"])


class RunsOut(Schema):
    items: list[RunOut]
    next: str | None = Field(description="`cursor` of the next page")


class ParamOut(Schema):
    name: str
    label: str
    kind: str
    default: Any
    low: int | None
    high: int | None
    choices: list[str]
    source: str = Field(description="whose rule the default is")
    auto: str = Field(description="what an unset default amounts to")

    @classmethod
    def of(cls, param: Param) -> ParamOut:
        return cls(
            name=param.name,
            label=param.label,
            kind=param.kind,
            default=param.default,
            low=param.low,
            high=param.high,
            choices=list(param.choices),
            source=param.source,
            auto=param.auto,
        )


class StrategyOut(Schema):
    id: str
    version: int
    label: str
    about: str
    recommended: bool
    params: list[ParamOut]
    presets: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, strategy: Strategy) -> StrategyOut:
        return cls(
            id=strategy.id,
            version=strategy.version,
            label=strategy.label,
            about=strategy.about,
            recommended=strategy.id == RECOMMENDED,
            params=[ParamOut.of(param) for param in strategy.params],
            presets={name: dict(values) for name, values in strategy.presets.items()},
        )


def plan_json(previewed: Previewed) -> dict[str, Any]:
    """A preview as JSON. Nothing of it depends on the clock: twice the same is the same bytes."""
    choice, base = previewed.choice, previewed.base
    return {
        "session": str(previewed.session.pk),
        "base": base.version.n,
        "base_hash": base.content_hash,
        "last_seq": base.last_seq,
        "strategy": choice.name,
        "params": dict(choice.params),
        "summariser": choice.summariser,
        "model": None if choice.model is None else choice.model.name,
        "instructions": choice.instructions,
        "pins": sorted(choice.pins),
        "without": sorted(choice.without),
        "plan_digest": previewed.preview.digest,
        **previewed.preview.to_json(),
    }


def _fields(run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        "session": run.session_id,
        "base": run.base.n,
        "version": None if run.version is None else run.version.n,
        "strategy": run.strategy,
        "params": run.params,
        "summariser": run.summariser,
        "model": run.model,
        "trigger": run.trigger,
        "instructions": run.instructions,
        "pins": run.pins,
        "without": run.without,
        "state": run.state,
        "status": run.status,
        "reason": run.reason,
        "phase": run.phase,
        "log": [LogLine(seconds=at, phase=phase, words=words) for at, phase, words in run.log],
        "attempts": run.attempts,
        "hold": run.hold,
        "cancel_asked": run.cancel_asked,
        "tokens": Tokens(meter=run.meter, before=run.tokens_before, after=run.tokens_after),
        "base_hash": run.base_hash,
        "plan_digest": run.plan_digest,
        "by": None if run.by is None else run.by.get_username(),
        "asked_at": run.asked_at,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    }
