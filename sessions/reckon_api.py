"""The API of what is reckoned from a session: its gauge at any place, its cost, what another rule would have done; and what models are said to hold."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router
from ninja.errors import HttpError

from sessions import answers, limits, reckonings
from sessions.api import _operators_only as operators_only
from sessions.api import _session as session_named
from sessions.api import _workspace as workspace_of
from sessions.costs import cost_of
from sessions.reckon_schemas import (
    BrokenOut,
    CostOut,
    LimitIn,
    LimitOut,
    MetersOut,
    ModelOut,
    RulesOut,
    SupposedOut,
)
from sessions.schemas import GaugeOut

router = Router(tags=["reckoning"])


@router.get(
    "/sessions/{session}/gauge",
    response=GaugeOut,
    summary="The five numbers and the forecast, at the head, a version or a step",
)
def get_gauge(
    request: HttpRequest,
    session: str,
    version: int | None = None,
    step: int | None = None,
    rule: str | None = None,
    model: str | None = None,
    window: int | None = None,
) -> Any:
    """With `rule`, `model` or `window`: as another rule, or the same with another window, would see it."""
    if version is not None and step is not None:
        raise HttpError(422, "Say either a version or a step.")
    found = session_named(request, session)
    return answers.gauge_of(found, version=version, step=step, rule=rule, model=model, tokens=window)


@router.get(
    "/sessions/{session}/as-if",
    response=SupposedOut,
    summary="When another rule or window would have compacted, and how often",
)
def get_as_if(
    request: HttpRequest, session: str, rule: str | None = None, model: str | None = None, window: int | None = None
) -> Any:
    """`rule`: the id of a rule or preset (`GET /rules`), else the session's own. `model` by name, or `window` in tokens."""
    found = session_named(request, session)
    return answers.as_if_of(found, rule=rule, model=model, tokens=window)


@router.get("/sessions/{session}/cost", response=CostOut, summary="What the session's requests cost")
def get_cost(request: HttpRequest, session: str) -> Any:
    return reckonings.cost_row(cost_of(session_named(request, session)))


@router.get(
    "/sessions/{session}/cache-break",
    response=BrokenOut,
    by_alias=True,
    summary="What a change of version costs at the cache",
)
def get_cache_break(request: HttpRequest, session: str, to: int, since: int | None = None) -> Any:
    """From version `since` (the parent of `to` unless said) to version `to`."""
    return answers.broken_of(session_named(request, session), to=to, since=since)


@router.get("/sessions/{session}/meters", response=MetersOut, summary="The context by every meter")
def get_meters(request: HttpRequest, session: str, version: int | None = None, step: int | None = None) -> Any:
    if version is not None and step is not None:
        raise HttpError(422, "Say either a version or a step.")
    return answers.meters_of(session_named(request, session), version=version, step=step)


@router.get("/rules", response=RulesOut, summary="The rules and presets there are")
def list_rules(request: HttpRequest) -> Any:
    return reckonings.rules_row()


@router.get("/limits", response=list[LimitOut], summary="What the workspace says of models itself")
def list_limits(request: HttpRequest) -> Any:
    return reckonings.limit_rows(limits.rows_of(workspace_of(request).pk))


@router.put("/limits", response=LimitOut, summary="Say what models hold and cost, over the catalogue")
def put_limit(request: HttpRequest, wanted: LimitIn) -> Any:
    workspace = workspace_of(request)
    operators_only(request)
    given = wanted.dict(exclude={"pattern", "source", "date"})
    row = limits.put(workspace, wanted.pattern, given, source=wanted.source, date=wanted.date, by=request.user)
    return reckonings.limit_row(row)


@router.delete("/limits", response=LimitOut, summary="Take back what was said of a pattern")
def drop_limit(request: HttpRequest, pattern: str) -> Any:
    workspace = workspace_of(request)
    operators_only(request)
    return reckonings.limit_row(limits.drop(workspace, pattern))


@router.get("/model", response=ModelOut, summary="What is known of a model here, and by whose word")
def get_model(request: HttpRequest, name: str, agent: str = "") -> Any:
    """`agent`: as this agent takes the figures."""
    return answers.model_row(workspace_of(request), name, agent)
