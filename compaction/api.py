"""The API of compaction: strategies, previews, runs. The verbs are those of the pages and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.errors import HttpError
from ninja.responses import Status

from compaction import queries, rollingback, runs, tasks
from compaction.choosing import figures_of
from compaction.comparing import compare
from compaction.editing import edit, foresee
from compaction.handforms import change_of
from compaction.handwork import Impossible
from compaction.holding import Wishes, preview_draft
from compaction.models import Run
from compaction.schemas import ApplyIn, CompactIn, EditIn, RollbackIn, RunOut, RunsOut, RunWhole, StrategyOut, plan_json
from compaction.strategies import strategies
from sessions.answers import moved_row
from sessions.collecting import held_back
from sessions.http import session_of
from sessions.models import Session
from sessions.models_goals import GoalMark

router = Router(tags=["compaction"])

_OPERATORS = frozenset({"operator", "admin"})


@router.get("/strategies", response=list[StrategyOut], summary="Strategies, their parameters and presets")
def list_strategies(request: HttpRequest) -> list[StrategyOut]:
    return [StrategyOut.of(strategy) for strategy in strategies().values()]


@router.post(
    "/sessions/{session}/compact",
    response={200: dict[str, Any], 202: RunOut},
    summary="Preview a compaction (200), or start a run (202, its address in Location)",
)
def compact(request: HttpRequest, response: HttpResponse, session: str, wanted: CompactIn) -> Status[Any]:
    found = session_of(request, session)
    choice = wanted.dict(exclude={"preset", "preview", "hold", "expected_hash", "plan_digest"})
    choice["params"] = figures_of(wanted.strategy, wanted.preset, wanted.params)
    if wanted.preview:
        return Status(200, _previewed(found, choice))
    _operators_only(request)
    run = tasks.submit(
        found.pk,
        **choice,
        by=request.user,
        hold=wanted.hold,
        expected_hash=wanted.expected_hash,
        plan_digest=wanted.plan_digest,
    )
    run = queries.run_in(found.workspace_id, run.pk)
    response["Location"] = f"/api/runs/{run.pk}"
    return Status(202, RunOut.of(run))


@held_back()
def _previewed(session: Session, choice: Mapping[str, Any]) -> dict[str, Any]:
    return plan_json(runs.preview_run(session, **choice))


@router.get("/sessions/{session}/compare", response=dict[str, Any], summary="Strategies as dry runs on one context")
def compare_strategies(
    request: HttpRequest,
    session: str,
    names: Annotated[list[str], Query(alias="with", description="strategy or strategy:preset; repeatable")] = [],  # noqa: B006 -- ninja copies it
    summariser: str = "extractive",
    model: str | None = None,
    goal: str = "",
) -> dict[str, Any]:
    found = session_of(request, session)
    return compare(found, names, summariser=summariser, model=model, goal=goal).to_json()


@router.post(
    "/sessions/{session}/edits",
    response=dict[str, Any],
    summary="Change the context by hand: a new version (or, with `preview`, what it would weigh)",
)
def edit_context(request: HttpRequest, session: str, wanted: EditIn) -> dict[str, Any]:
    found = session_of(request, session)
    try:
        change = change_of(wanted.do, wanted.dict(exclude_none=True))
    except Impossible as error:
        raise HttpError(422, f"{error}.") from error
    if wanted.preview:
        return {**foresee(found, change).to_json(), "version": None}
    _operators_only(request)
    seen = foresee(found, change)
    moved = edit(found.pk, change, expected_hash=wanted.expected_hash or seen.base.content_hash, by=request.user)
    return {**seen.to_json(), "version": moved.now.n}


@router.post(
    "/sessions/{session}/rollback",
    response=dict[str, Any],
    summary="Hide everything after a turn, a step, an entry or the start of a goal (or, with `preview`, say what goes)",
)
def roll_back(request: HttpRequest, session: str, wanted: RollbackIn) -> dict[str, Any]:
    found = session_of(request, session)
    to = {name: value for name in rollingback.POINTS if (value := getattr(wanted, name)) is not None}
    if wanted.preview:
        return rollingback.foresee(found, reason=wanted.reason, **to).to_json()
    _operators_only(request)
    moved = rollingback.go_back(
        found.pk,
        reason=wanted.reason,
        abandon=wanted.abandon,
        notice=wanted.notice,
        through=GoalMark.Through.API,
        by=request.user,
        **to,
    )
    return moved_row(moved)


@router.get("/runs", response=RunsOut, summary="Runs of the workspace, newest first")
def list_runs(
    request: HttpRequest,
    session: str | None = None,
    state: str | None = None,
    cursor: int | None = None,
    limit: Annotated[int, Query(ge=1, le=queries.MOST)] = queries.PAGE,
) -> RunsOut:
    if state is not None and state not in Run.State.values:
        raise HttpError(422, f"There is no state {state!r}; there are: {', '.join(Run.State.values)}.")
    of = None if session is None else session_of(request, session)
    page = queries.runs_page(_workspace(request), session=of, state=state, before=cursor, limit=limit)
    return RunsOut(items=[RunOut.of(run) for run in page.runs], next=None if page.next is None else str(page.next))


@router.get("/runs/{run_id}", response=RunWhole, summary="A run with its progress and report")
def get_run(request: HttpRequest, run_id: int) -> RunWhole:
    return RunWhole.of(queries.run_in(_workspace(request), run_id))


@router.post(
    "/runs/{run_id}/apply",
    response={200: dict[str, Any], 202: RunOut},
    summary="Apply the draft that a run holds (202), or say what that would do (200). No model is asked again",
)
def apply_draft(request: HttpRequest, run_id: int, wanted: ApplyIn) -> Status[Any]:
    run = queries.run_in(_workspace(request), run_id)
    wishes = Wishes.of(edited_summary=wanted.summary, pins=wanted.pins, without=wanted.without)
    if wanted.preview:
        return Status(200, plan_json(preview_draft(run, wishes)))
    _operators_only(request)
    tasks.apply(run.pk, wishes, plan_digest=wanted.plan_digest)
    return Status(202, RunOut.of(queries.run_in(run.workspace_id, run.pk)))


@router.post("/runs/{run_id}/cancel", response=RunOut, summary="Ask a run to stop, or discard the draft it holds")
def cancel_run(request: HttpRequest, run_id: int) -> RunOut:
    run = queries.run_in(_workspace(request), run_id)
    _operators_only(request)
    runs.cancel(run.pk)
    return RunOut.of(queries.run_in(run.workspace_id, run.pk))


def _workspace(request: HttpRequest) -> Any:
    workspace = getattr(request, "workspace", None)
    if workspace is None:
        raise Http404
    return workspace


def _operators_only(request: HttpRequest) -> None:
    """Refuse who may only read: by their membership, or by the scope of the token they came with."""
    member = getattr(request, "membership", None)
    scope = getattr(request, "scope_role", "admin")
    if member is None or member.role not in _OPERATORS or scope not in _OPERATORS:
        raise PermissionDenied
