"""The API of compaction, over HTTP as a program uses it: previews, runs, who may, and what a refusal looks like."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from compaction import runs
from compaction.models import Run
from compaction.strategies.hybrid import STRATEGY
from sessions.models import Session
from tests.compaction.stage import a_workspace, everything, head_of, member_of
from webapp.auth import issue_token
from webapp.embedded import broker
from webapp.models import ApiToken, Membership, Role, Scope, User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)

FOLDS: dict[str, Any] = {"strategy": "hybrid", "params": {"free": 1_000_000}}


class Caller:
    """A program with a token."""

    def __init__(self, workspace: Workspace, user: User, scope: Scope) -> None:
        _, token = issue_token(workspace=workspace, user=user, name="test", scope=scope)
        self.client = Client(headers={"Authorization": f"Bearer {token}"})

    def get(self, path: str, **query: Any) -> tuple[int, Any]:
        response = self.client.get(f"/api{path}", query)
        return response.status_code, response.json()

    def post(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        response = self.client.post(f"/api{path}", body, content_type="application/json")
        self.location = response.headers.get("Location")
        return response.status_code, response.json()


@pytest.fixture
def operator(workspace: Workspace) -> Caller:
    return Caller(workspace, member_of(workspace, "ada", Role.OPERATOR), Scope.WRITE)


@pytest.fixture
def viewer(workspace: Workspace) -> Caller:
    return Caller(workspace, member_of(workspace, "ben", Role.VIEWER), Scope.ADMIN)


@pytest.fixture
def stranger(db: None) -> Caller:
    other = a_workspace("other")
    return Caller(other, member_of(other, "eve", Role.ADMIN), Scope.ADMIN)


def test_strategies_say_what_can_be_set(viewer: Caller) -> None:
    status, found = viewer.get("/strategies")
    assert status == 200
    hybrid = found[0]
    assert (hybrid["id"], hybrid["recommended"]) == ("hybrid", True)
    assert {"protect", "keep", "aim", "files"} <= {param["name"] for param in hybrid["params"]}
    assert "scaled" in hybrid["presets"]
    assert all(param["label"] and param["source"] for param in hybrid["params"])


def test_a_preview_comes_back_and_writes_nothing(session: Session, viewer: Caller) -> None:
    viewer.get("/strategies")  # so that the token's use has been recorded
    before = everything()
    status, plan = viewer.post(f"/sessions/{session.pk}/compact", {**FOLDS, "preview": True})
    assert (status, plan["status"], plan["lands"]) == (200, "completed", True)
    assert type(plan["tokens"]["before"]) is int
    assert plan["tokens"]["after"] < plan["tokens"]["before"]
    assert (plan["session"], plan["base"], plan["strategy"]) == (str(session.pk), 1, f"hybrid:{STRATEGY.version}")
    assert viewer.post(f"/sessions/{session.pk}/compact", {**FOLDS, "preview": True}) == (200, plan)
    assert everything() == before


def test_a_run_is_accepted_followed_and_read(session: Session, operator: Caller) -> None:
    address = f"/sessions/{session.pk}/compact"
    _, plan = operator.post(address, {**FOLDS, "preview": True})
    status, run = operator.post(
        address, {**FOLDS, "expected_hash": plan["base_hash"], "plan_digest": plan["plan_digest"]}
    )
    assert (status, run["state"], run["by"]) == (202, "queued", "ada")
    assert operator.location == f"/api/runs/{run['id']}"

    runs.execute(run["id"])
    status, after = operator.get(f"/runs/{run['id']}")
    assert (status, after["state"], after["status"]) == (200, "completed", "completed")
    assert (after["base"], after["version"]) == (1, 2)
    assert after["tokens"] == {
        "meter": "claude-rough",
        "before": plan["tokens"]["before"],
        "after": plan["tokens"]["after"],
    }
    assert after["report"]["counts"] == plan["counts"]
    assert after["plan_digest"] == plan["plan_digest"]
    assert [line["phase"] for line in after["log"]][:2] == ["memory", "snapshot"]
    for name in ("asked_at", "started_at", "ended_at"):
        assert after[name].endswith("Z")
        assert datetime.fromisoformat(after[name]).tzinfo is not None


def test_a_session_goes_by_a_short_name(session: Session, operator: Caller) -> None:
    status, plan = operator.post(f"/sessions/{str(session.pk)[:8]}/compact", {**FOLDS, "preview": True})
    assert (status, plan["session"]) == (200, str(session.pk))


def test_runs_are_paged_by_key(session: Session, operator: Caller) -> None:
    made = []
    for _ in range(5):
        made.append(runs.cancel(runs.request(session.pk, **FOLDS).pk).pk)
    seen: list[int] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        status, page = operator.get("/runs", **query)
        assert status == 200
        assert "report" not in page["items"][0]
        seen += [run["id"] for run in page["items"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert seen == made[::-1]
    assert operator.get("/runs", state="completed") == (200, {"items": [], "next": None})
    assert len(operator.get("/runs", session=str(session.pk), state="cancelled")[1]["items"]) == 5


def test_a_run_is_cancelled_once(session: Session, operator: Caller) -> None:
    run = runs.request(session.pk, **FOLDS)
    status, body = operator.post(f"/runs/{run.pk}/cancel")
    assert (status, body["state"]) == (200, "cancelled")
    status, body = operator.post(f"/runs/{run.pk}/cancel")
    assert (status, body["error"]["code"]) == (409, "run_has_ended")


def test_strangers_find_nothing(session: Session, stranger: Caller) -> None:
    run = runs.request(session.pk, **FOLDS)
    before = Run.objects.values().get()

    def answers(session_id: str, run_id: int) -> list[tuple[int, str]]:
        """Status and message, ids left out."""
        asked = [
            stranger.post(f"/sessions/{session_id}/compact", {**FOLDS, "preview": True}),
            stranger.post(f"/sessions/{session_id}/compact", FOLDS),
            stranger.get(f"/runs/{run_id}"),
            stranger.post(f"/runs/{run_id}/cancel"),
            stranger.get("/runs", session=session_id),
        ]
        return [(status, body["error"]["message"].replace(session_id, "…")) for status, body in asked]

    found = answers(str(session.pk), run.pk)
    assert [status for status, _ in found] == [404] * 5
    assert found == answers("0f1e2d3c-0000-4000-8000-000000000000", 10**9)  # as if there were no such thing
    assert stranger.get("/runs") == (200, {"items": [], "next": None})
    assert Run.objects.values().get() == before


def test_who_only_reads_does_not_compact(session: Session, workspace: Workspace, viewer: Caller) -> None:
    reads = Caller(workspace, member_of(workspace, "cleo", Role.ADMIN), Scope.READ)
    run = runs.request(session.pk, **FOLDS)
    head = head_of(session)
    for caller in (viewer, reads):
        for answer in (caller.post(f"/sessions/{session.pk}/compact", FOLDS), caller.post(f"/runs/{run.pk}/cancel")):
            assert (answer[0], answer[1]["error"]["code"]) == (403, "not_allowed")
        assert caller.get(f"/runs/{run.pk}")[0] == 200
    run.refresh_from_db()
    assert (run.state, Run.objects.count(), head_of(session)) == ("queued", 1, head)


def test_without_a_token_nothing(session: Session) -> None:
    response = Client().post(f"/api/sessions/{session.pk}/compact", FOLDS, content_type="application/json")
    assert (response.status_code, response.json()["error"]["code"]) == (401, "not_signed_in")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"strategy": "nap"}, 422, "no_such_strategy"),
        ({**FOLDS, "params": {"aim": "much"}}, 422, "bad_param"),
        ({**FOLDS, "summariser": "llm"}, 422, "no_model"),
        ({**FOLDS, "pins": [99_999]}, 422, "no_such_entry"),
        ({**FOLDS, "expected_hash": "0" * 32}, 409, "stale"),
        ({**FOLDS, "pins": ["a"]}, 422, "not_understood"),
    ],
)
def test_refusals_have_a_code_and_a_sentence(
    session: Session, operator: Caller, body: dict[str, Any], status: int, code: str
) -> None:
    answer = operator.post(f"/sessions/{session.pk}/compact", body)
    assert (answer[0], answer[1]["error"]["code"]) == (status, code)
    assert answer[1]["error"]["message"].endswith((".", "."))
    assert not Run.objects.exists()


def test_a_second_run_is_a_conflict(session: Session, operator: Caller) -> None:
    runs.request(session.pk, **FOLDS)
    status, body = operator.post(f"/sessions/{session.pk}/compact", FOLDS)
    assert (status, body["error"]["code"]) == (409, "run_is_live")


def test_a_dead_broker_is_unavailable_and_the_run_failed(session: Session, operator: Caller, settings: Any) -> None:
    settings.BROKER = broker.address("pgmq://nobody@127.0.0.1:1/nowhere", None)
    head = head_of(session)
    status, body = operator.post(f"/sessions/{session.pk}/compact", FOLDS)
    assert (status, body["error"]["code"]) == (503, "broker_unreachable")
    assert Run.objects.get().state == "failed"
    assert head_of(session) == head


def test_a_token_of_someone_who_left_opens_nothing(session: Session, operator: Caller) -> None:
    Membership.objects.all().delete()
    assert ApiToken.objects.count() == 1
    assert operator.get("/runs")[0] == 401
