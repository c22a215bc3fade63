"""The API of search."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from ninja.responses import Status

from sessions import searchsaving
from sessions.api import _session, _workspace
from sessions.search.answers import search_of
from sessions.search.asked import LONGEST
from sessions.search.find import PAGE, BadCursor
from sessions.search.hits import SORTS

router = Router(tags=["search"])

MOST = 100


class FoundEntry(Schema):
    """`marks`: where in `text` what was found stands, as pairs of places. Without `seq`: what version `version` put in, at `position`."""

    seq: int | None
    version: int | None
    position: int | None
    role: str
    tool: str | None
    turn: int | None
    where: str
    times: int
    text: str
    marks: list[list[int]]


class FoundSession(Schema):
    """`next`: the entry behind which more stand, where one session was asked for alone. `at_least`: not all that may be a hit was read."""

    session: str
    title: str
    agent: str
    project: str | None
    owner: str | None
    branch: str | None
    last_at: str | None
    hits: int
    in_ghosts: int
    masked: int
    in_versions: int
    at_least: bool
    score: float
    by_role: dict[str, int]
    entries: list[FoundEntry]
    next: int | None


class FacetValue(Schema):
    value: str | None
    hits: int


class Waits(Schema):
    sessions: int
    entries: int


class SearchOut(Schema):
    """`at_most`: phrases were not read for in all entries, so counts are upper bounds. `waiting`: what is not indexed yet."""

    query: str
    hits: int
    at_most: bool
    in_ghosts: int
    masked: int
    in_versions: int
    sessions: int
    facets: dict[str, list[FacetValue]]
    waiting: Waits
    cut: list[str]
    unread: list[str]
    milliseconds: float
    items: list[FoundSession]
    next: str | None


@router.get("/search", response=SearchOut, summary="Entries of all sessions that hold these words, ghosts among them")
def search(
    request: HttpRequest,
    q: Annotated[str, Query(max_length=LONGEST)],
    sort: str = "best",
    after: str | None = None,
    n: Annotated[int, Query(ge=1, le=MOST)] = PAGE,
    session: str | None = None,
    behind: Annotated[int | None, Query(ge=-1)] = None,
) -> Any:
    if sort not in SORTS:
        raise HttpError(422, f"There are these orders: {', '.join(SORTS)}.")
    alone = None if session is None else _session(request, session).pk
    try:
        return search_of(_workspace(request), q, sort=sort, after=after, count=n, session=alone, behind=behind)
    except BadCursor as error:
        raise HttpError(422, str(error)) from error


class SavedOut(Schema):
    """`query`: of the page's address; `q`: the words in it."""

    id: int
    name: str
    query: str
    q: str


class SavedIn(Schema):
    """`query` as the page's address has it: `q=mmap&role=outputs`."""

    name: str
    query: str


@router.get("/search/saved", response=list[SavedOut], summary="Your saved searches, by name")
def list_saved(request: HttpRequest) -> Any:
    return [searchsaving.row(one) for one in searchsaving.saved(_workspace(request), by=request.user)]


@router.post("/search/saved", response=SavedOut, summary="Save a search under a name, over what that stood for")
def save_search(request: HttpRequest, wanted: SavedIn) -> Any:
    return searchsaving.row(
        searchsaving.save(_workspace(request), name=wanted.name, query=wanted.query, by=request.user)
    )


@router.delete("/search/saved/{number}", response={204: None}, summary="Forget a saved search")
def forget_search(request: HttpRequest, number: int) -> Any:
    if not searchsaving.forget(_workspace(request), number=number, by=request.user):
        raise HttpError(404, "You saved no such search.")
    return Status(204, None)
