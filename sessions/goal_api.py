"""The API of goals: the tree, the verbs on it, and what was given up across sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from django.http import Http404, HttpRequest
from ninja import Query, Router
from ninja.errors import HttpError
from ninja.responses import Status

from sessions import goalmarks, reviewing
from sessions.abandoned import MOST, PAGE, BadCursor, Wanted
from sessions.api import _operators_only, _session, _workspace
from sessions.carrying import Over, carried_over, carried_row, compacts
from sessions.goal_answers import abandoned_of, abandonment_row, marked_row, review_row, tree_of
from sessions.goal_schemas import (
    AbandonedOut,
    AbandonmentOut,
    CarriedOut,
    CauseIn,
    ExploreIn,
    GoalIn,
    MarkedOut,
    ReasonIn,
    ReviewedOut,
    ReviewIn,
    ReviewOut,
    SummaryIn,
    TreeOut,
    TriedOut,
)
from sessions.goalmarks import Marked
from sessions.http import sees_words
from sessions.models import Session
from sessions.models_goals import Abandonment, GoalMark
from sessions.takeup import tried_row
from sessions.tried import tried

router = Router(tags=["goals"])


@router.get("/sessions/{session}/goal-tree", response=TreeOut, summary="The goal tree with the work on each goal")
def get_tree(request: HttpRequest, session: str) -> Any:
    return tree_of(_session(request, session))


@router.post("/sessions/{session}/goal-tree", response={201: MarkedOut}, summary="Add a goal, over what the agent says")
def add_goal(request: HttpRequest, session: str, wanted: GoalIn) -> Any:
    return _marked(
        request,
        session,
        lambda found: goalmarks.add(
            found.pk, text=wanted.text, under=wanted.under, focus=wanted.focus, by=request.user, through=_through()
        ),
        status=201,
    )


@router.post("/sessions/{session}/explorations", response={201: MarkedOut}, summary="Add a question and its branches")
def add_exploration(request: HttpRequest, session: str, wanted: ExploreIn) -> Any:
    return _marked(
        request,
        session,
        lambda found: goalmarks.explore(
            found.pk,
            question=wanted.question,
            branches=wanted.branches,
            under=wanted.under,
            by=request.user,
            through=_through(),
        ),
        status=201,
    )


@router.post(
    "/sessions/{session}/goal-tree/{path}/focus", response=MarkedOut, summary="Say what is worked on from here"
)
def focus_goal(request: HttpRequest, session: str, path: str) -> Any:
    return _marked(
        request, session, lambda found: goalmarks.focus(found.pk, path=path, by=request.user, through=_through())
    )


@router.post(
    "/sessions/{session}/goal-tree/{path}/done", response=MarkedOut, summary="Close a goal with what came of it"
)
def complete_goal(request: HttpRequest, session: str, path: str, said: SummaryIn) -> Any:
    return _marked(
        request,
        session,
        lambda found: goalmarks.complete(
            found.pk, path=path, summary=said.summary, by=request.user, through=_through()
        ),
    )


@router.post(
    "/sessions/{session}/goal-tree/{path}/abandon", response=MarkedOut, summary="Give a goal up, with the reason"
)
def abandon_goal(request: HttpRequest, session: str, path: str, said: ReasonIn) -> Any:
    return _marked(
        request,
        session,
        lambda found: goalmarks.abandon(found.pk, path=path, reason=said.reason, by=request.user, through=_through()),
    )


@router.post(
    "/sessions/{session}/goal-tree/{path}/reopen", response=MarkedOut, summary="Take back that a goal was closed"
)
def reopen_goal(request: HttpRequest, session: str, path: str) -> Any:
    return _marked(
        request, session, lambda found: goalmarks.reopen(found.pk, path=path, by=request.user, through=_through())
    )


@router.get(
    "/sessions/{session}/versions/{n}/goals",
    response=CarriedOut,
    summary="Which open goals a compaction carried over, reworded or lost",
)
def get_carried(request: HttpRequest, session: str, n: int) -> Any:
    found = _session(request, session)
    version = found.versions.filter(n=n).first()
    if version is None:
        raise Http404("This session has no such version.")
    return carried_row(carried_over(found, version) if compacts(version) else Over(version, ()))


@router.get("/abandoned", response=AbandonedOut, summary="Goals that were given up, over all sessions")
def list_abandoned(
    request: HttpRequest,
    after: str | None = None,
    n: Annotated[int, Query(ge=1, le=MOST)] = PAGE,
    *,
    whole: bool = True,
) -> Any:
    """Narrowed by `review`, `cause`, `how`, `agent`, `project`, `owner`, `model`, `week` (each may stand several times; `-` is none), `q`,
    `session`, `since`, `until`, `confidence`; in the order of `sort`: recent, tokens, cost, time, attempts.
    """
    wanted = Wanted.of(dict(request.GET.lists()))
    try:
        return abandoned_of(_workspace(request), wanted, after=after, count=n, whole=whole, words=sees_words(request))
    except BadCursor as error:
        raise HttpError(422, str(error)) from error


@router.post("/abandoned/review", response=ReviewedOut, summary="Say where the review of goals stands")
def review_abandoned(request: HttpRequest, said: ReviewIn) -> Any:
    """Append-only: every change is kept, with comment, assignee and who made it. Goals of which it says nothing new are left out."""
    workspace = _workspace(request)
    _operators_only(request)
    rows = reviewing.review(
        workspace, said.goals, state=said.state, comment=said.comment, assignee=said.assignee, by=request.user
    )
    return {"items": [abandonment_row(row) for row in rows]}


@router.get("/abandoned/{number}", response=TriedOut, summary="What was tried for a goal that was given up")
def get_tried(request: HttpRequest, number: int) -> Any:
    rows = Abandonment.objects.select_related("session", "owner", "assignee")
    row = rows.filter(workspace=_workspace(request), pk=number).first()
    if row is None:
        raise Http404
    return tried_row(tried(row))


@router.get(
    "/abandoned/{number}/reviews", response=list[ReviewOut], summary="What was said of a goal that was given up"
)
def list_reviews(request: HttpRequest, number: int) -> Any:
    row = Abandonment.objects.filter(workspace=_workspace(request), pk=number).first()
    if row is None:
        raise Http404
    return [review_row(one) for one in reviewing.history_of(row)]


@router.post("/abandoned/{number}/cause", response=AbandonmentOut, summary="Correct the class of a reason")
def correct_cause(request: HttpRequest, number: int, said: CauseIn) -> Any:
    workspace = _workspace(request)
    _operators_only(request)
    row = Abandonment.objects.filter(workspace=workspace, pk=number).first()
    if row is None:
        raise Http404
    return abandonment_row(reviewing.correct(row.pk, cause=said.cause, by=request.user))


def _through() -> str:
    return GoalMark.Through.API


def _marked(request: HttpRequest, name: str, verb: Callable[[Session], Marked], status: int = 200) -> Any:
    found = _session(request, name)
    _operators_only(request)
    row = marked_row(verb(found))
    return Status(status, row)
