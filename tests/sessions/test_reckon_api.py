"""The API of gauges, costs, suppositions and limits: what the commands print, for members of the workspace alone."""

from __future__ import annotations

import io
import json
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client

from sessions.ingest import take_file
from sessions.models import Session
from sessions.sample import SAMPLE
from webapp.auth import issue_token
from webapp.models import Membership, Role, Scope, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def bearer(workspace: Workspace, role: Role = Role.OPERATOR, scope: Scope = Scope.WRITE) -> dict[str, str]:
    user = User.objects.create_user(f"{role}-{uuid4().hex[:6]}")
    Membership.objects.create(workspace=workspace, user=user, role=role)
    _, text = issue_token(workspace=workspace, user=user, name="test", scope=scope)
    return {"HTTP_AUTHORIZATION": f"Bearer {text}"}


@pytest.fixture
def sample(workspace: Workspace) -> Session:
    return Session.objects.get(pk=take_file(workspace, SAMPLE).session)


def ask(client: Client, address: str, key: dict[str, str], status: int = 200, **query: Any) -> Any:
    response = client.get(f"/api{address}", query, **key)
    assert response.status_code == status, response.content
    return json.loads(response.content)


def command(*args: str) -> Any:
    out = io.StringIO()
    call_command(*args, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_as_if_answers_what_the_command_prints(client, workspace, sample):
    key = bearer(workspace, Role.VIEWER)
    found = ask(client, f"/sessions/{sample.pk}/as-if", key, rule="opencode-500k")
    assert found == command("asif", str(sample.pk), "--rule", "opencode-500k")
    assert found["requests"] == len(found["points"]) == sample.steps_count
    assert [one["name"] for one in found["thresholds"]] == ["compaction", "input_limit", "total"]
    tight = ask(client, f"/sessions/{sample.pk}/as-if", key, window=found["points"][-1][1] + 25_000)
    assert tight["compactions"] > 0
    assert {"step", "seq", "name", "before", "after"} <= tight["marks"][0].keys()
    assert ask(client, f"/sessions/{sample.pk}/as-if", key, 422, rule="nobody")["error"]["code"] == "no_such_rule"
    assert ask(client, f"/sessions/{sample.pk}/as-if", key, 422, window=-1)["error"]["code"] == "usage"


def test_the_gauge_by_itself_at_any_place_and_by_any_rule(client, workspace, sample):
    key = bearer(workspace, Role.VIEWER)
    whole = ask(client, f"/sessions/{sample.pk}", key)
    assert ask(client, f"/sessions/{sample.pk}/gauge", key) == whole["gauge"]
    at = ask(client, f"/sessions/{sample.pk}/gauge", key, step=2)
    assert at == ask(client, f"/sessions/{sample.pk}/context", key, step=2)["gauge"]
    assert len(at["numbers"]) == 5
    other = ask(client, f"/sessions/{sample.pk}/gauge", key, rule="codex-272k")
    assert (other["rule"], other["window"]["context"]) == ("codex-0.148", 272_000)
    ask(client, f"/sessions/{sample.pk}/gauge", key, 422, step=999_999)
    ask(client, f"/sessions/{sample.pk}/gauge", key, 422, step=1, version=0)


def test_the_cost_of_a_session_its_steps_and_a_change_of_version(client, workspace, sample):
    key = bearer(workspace, Role.VIEWER)
    found = ask(client, f"/sessions/{sample.pk}/cost", key)
    assert found == ask(client, f"/sessions/{sample.pk}", key)["cost"]
    assert {"session": str(sample.pk), **found} == command("cost", str(sample.pk))
    assert found["usd"] > 0
    steps = ask(client, f"/sessions/{sample.pk}/steps", key)["items"]
    assert sum(step["usd"] or 0 for step in steps) == pytest.approx(found["usd"], abs=1e-4)
    last = sample.versions.order_by("-n").first().n
    broken = ask(client, f"/sessions/{sample.pk}/cache-break", key, to=last)
    assert broken["to"] == last
    assert broken["kept"] + broken["anew"] > 0
    ask(client, f"/sessions/{sample.pk}/cache-break", key, 422, to=0)


def test_rules_and_presets_say_whose_they_are(client, workspace):
    found = ask(client, "/rules", bearer(workspace, Role.VIEWER))
    assert all(one["source"] and one["date"] and one["leaves"] for one in found["rules"])
    assert all(one["source"] and one["date"] and one["thresholds"] for one in found["presets"])
    assert {one["rule"] for one in found["presets"]} <= {one["id"] for one in found["rules"]}


def put(client: Client, key: dict[str, str], body: dict[str, Any], status: int = 200) -> Any:
    response = client.put("/api/limits", json.dumps(body), content_type="application/json", **key)
    assert response.status_code == status, response.content
    return json.loads(response.content)


def test_limits_are_set_and_dropped_by_operators_and_hold_in_their_workspace(client, workspace, sample):
    key = bearer(workspace)
    body = {"pattern": "claude-*", "context": 300_000, "price_input": 1.5, "price_output": 6, "source": "our gateway"}
    said = put(client, key, body)
    assert (said["context"], said["price_input"], said["price_cache_read"]) == (300_000, 1.5, None)
    assert ask(client, "/limits", key) == [said]
    assert ask(client, f"/sessions/{sample.pk}/gauge", key)["window"]["limits_source"].startswith(
        "set in this workspace (our gateway); the rest: "
    )
    model = ask(client, "/model", key, name="claude-sonnet-4-5", agent="claude-code")
    assert (model["context"], model["price_source"]) == (300_000, "set in this workspace (our gateway)")
    elsewhere = bearer(Workspace.objects.create(name="Other", slug="other"))
    assert ask(client, "/limits", elsewhere) == []
    viewer = bearer(workspace, Role.VIEWER)
    put(client, viewer, body, 403)
    put(client, bearer(workspace, scope=Scope.READ), body, 403)
    assert put(client, key, {**body, "context": 0}, 422)["error"]["code"] == "usage"
    assert client.delete("/api/limits?pattern=claude-*", **viewer).status_code == 403
    assert client.delete("/api/limits?pattern=claude-*", **key).status_code == 200
    assert client.delete("/api/limits?pattern=claude-*", **key).status_code == 422
    assert ask(client, "/limits", key) == []


def test_strangers_learn_nothing(client, sample):
    other = bearer(Workspace.objects.create(name="Other", slug="other"))
    for what in ("gauge", "as-if", "cost", "cache-break?to=1"):
        assert client.get(f"/api/sessions/{sample.pk}/{what}", **other).status_code == 404
    assert client.get("/api/rules").status_code == 401
