"""Rules and hooks as people and programs make them: page, command line, API; and who may."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from compaction import runs
from compaction.hooks.consulting import secret_of
from compaction.models import Hook, HookResult, ModelCall, Rule
from sessions.models import Session
from tests.compaction.stage import member_of
from webapp.auth import issue_token
from webapp.models import Role, Scope

pytestmark = pytest.mark.django_db


def said(*arguments: str) -> Any:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def browser(session: Session, role: Role) -> Client:
    client = Client()
    client.force_login(member_of(session.workspace, role.value, role))
    return client


def test_hooks_and_rules_are_made_listed_and_dropped_at_the_command_line(session: Session) -> None:
    made = said("hooks", "--add", "release", "--http", "https://hooks.example/x", "--event", "post_compact")["added"]
    hook = Hook.objects.get()
    assert made["secret"] == secret_of(hook).decode()
    listed = said("hooks")["hooks"]
    assert [(one["name"], "secret" in one) for one in listed] == [("release", False)]
    again = said("hooks", "--add", "release", "--http", "https://hooks.example/x")["added"]
    assert again["secret"] != made["secret"]  # another salt: the old secret is of no more use
    assert said("hooks", "--off", "release")["switched"]["on"] is False
    with pytest.raises(CommandError, match="are off on this server"):
        said("hooks", "--add", "local", "--command", '["true"]')
    with pytest.raises(CommandError, match="no kind"):
        said("hooks", "--add", "both", "--http", "https://a.example", "--prompt", "b?")
    assert said("hooks", "--drop", "release") == {"dropped": "release"}

    rule = said("rules", "--add", "goal_abandoned", "--session", str(session.pk))["added"]
    assert (rule["strategy"], rule["session"]) == ("goal-tree", str(session.pk))
    assert [one["id"] for one in said("rules")["rules"]] == [rule["id"]]
    said("rules", "--drop", str(rule["id"]))
    assert not Rule.objects.exists()


def test_the_page_shows_and_makes_them_for_those_who_may(session: Session) -> None:
    admin, operator, viewer = (browser(session, role) for role in (Role.ADMIN, Role.OPERATOR, Role.VIEWER))
    rule = {"do": "add-rule", "when": "threshold", "strategy": "hybrid", "summariser": "extractive"}
    hook = {
        "do": "add-hook",
        "name": "<b>x</b>",
        "event": "pre_compact",
        "kind": "http",
        "target": "https://h.example/",
    }
    assert viewer.post("/runs/standing", rule).status_code == 403
    assert operator.post("/runs/standing", hook).status_code == 403
    assert operator.post("/runs/standing", rule).status_code == 302
    shown = admin.post("/runs/standing", hook)
    assert secret_of(Hook.objects.get()).decode() in shown.content.decode()
    page = viewer.get("/runs/standing").content.decode()
    assert secret_of(Hook.objects.get()).decode() not in page
    assert "at the threshold of a window rule" in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "Add the rule" not in page
    # Neither a command nor a private address can be had by a form.
    admin.post(
        "/runs/standing", {**hook, "kind": "command", "target": "https://h.example/", "private": "on", "name": "y"}
    )
    assert list(Hook.objects.filter(name="y").values_list("kind", "private")) == [("http", False)]
    bad = admin.post("/runs/standing", {**rule, "strategy": "nap"})
    assert (bad.status_code, "no strategy" in bad.content.decode()) == (409, True)


def test_the_api_is_for_the_same_people(session: Session) -> None:
    def caller(role: Role) -> Client:
        user = member_of(session.workspace, f"api-{role.value}", role)
        _, token = issue_token(workspace=session.workspace, user=user, name="t", scope=Scope.ADMIN)
        return Client(headers={"Authorization": f"Bearer {token}"})

    admin, viewer = caller(Role.ADMIN), caller(Role.VIEWER)
    hook = {"name": "x", "target": "https://h.example/"}
    assert viewer.post("/api/hooks", hook, content_type="application/json").status_code == 403
    made = admin.post("/api/hooks", hook, content_type="application/json")
    assert made.status_code == 200, made.content
    assert made.json()["secret"] == secret_of(Hook.objects.get()).decode()
    assert "secret" not in viewer.get("/api/hooks").json()[0]
    command = {**hook, "kind": "command", "target": '["true"]'}
    assert admin.post("/api/hooks", command, content_type="application/json").status_code == 422
    rule = admin.post(
        "/api/automatic-rules", {"when": "threshold", "session": str(session.pk)}, content_type="application/json"
    )
    assert rule.status_code == 200, rule.content
    assert [one["id"] for one in viewer.get("/api/automatic-rules").json()["rules"]] == [rule.json()["id"]]
    assert admin.delete(f"/api/automatic-rules/{rule.json()['id']}").status_code == 200
    assert admin.delete("/api/hooks/x").json() == {"dropped": "x"}


def test_a_rule_for_one_session_is_made_on_the_page(session: Session) -> None:
    page = browser(session, Role.OPERATOR)
    compact = page.get(f"/s/{session.pk}/compact").content.decode()
    assert f"/runs/standing?session={session.pk}" in compact
    asked = page.get(f"/runs/standing?session={session.pk}").content.decode()
    assert "For this session alone" in asked
    assert 'name="project"' not in asked
    data = {"do": "add-rule", "when": "goal_completed", "strategy": "goal-tree", "session": str(session.pk)}
    assert page.post("/runs/standing", data)["Location"] == f"/runs/standing?session={session.pk}"
    rule = Rule.objects.get()
    assert (rule.session_id, rule.project, rule.strategy) == (session.pk, None, "goal-tree")
    assert page.post("/runs/standing", {**data, "session": "nowhere"}).status_code == 404


def test_the_compact_page_names_the_model_and_its_price_before_anyone_is_asked(session: Session, settings: Any) -> None:
    settings.LLM_MODELS, settings.LLM_KEYS = ["anthropic:claude-haiku-4-5"], {"anthropic": "sk-hidden-key"}
    address = f"/s/{session.pk}/compact?strategy=hybrid&set.free=1000000"
    plain = browser(session, Role.OPERATOR)
    assert "no model call" in plain.get(address).content.decode()
    page = plain.get(f"{address}&summariser=llm:anthropic:claude-haiku-4-5&critique=yes").content.decode()
    assert "anthropic:claude-haiku-4-5, predicted: 2 calls" in page
    assert "at most $" in page
    assert 'name="summariser" value="llm:anthropic:claude-haiku-4-5"' in page
    assert "sk-hidden-key" not in page
    assert not ModelCall.objects.exists()


def test_the_run_page_shows_every_call_and_every_hook(session: Session, settings: Any) -> None:
    run = runs.request(session.pk, strategy="hybrid", params={"free": 1_000_000})
    ModelCall.objects.create(
        run=run, purpose="summary", model="anthropic:x", outcome="rate limit", http_status=429, waits=7, seconds=0.3
    )
    ModelCall.objects.create(
        run=run, purpose="summary", model="anthropic:x", attempt=2, outcome="answered", seconds=4.0, fresh=900, cache_read=100,
        cache_write=0, output=50, usd="0.00123", price_source="p",
    )  # fmt: skip
    HookResult.objects.create(
        run=run, name="gate", event="pre_compact", kind="http", outcome="failed", words="<i>status 500</i>", seconds=0.1
    )
    page = browser(session, Role.VIEWER).get(f"/s/{session.pk}/runs/{run.pk}").content.decode()
    for words in ("2 calls; 1,000 in, 50 out, 100 from the cache; $0.0012", "again in 7 s", "summary, attempt 2"):
        assert words in page
    assert "gate (before): failed, which blocks nothing: &lt;i&gt;status 500&lt;/i&gt;" in page
