"""Every preset of the agents' ways from the command line and over the API, one of each on the page: the same plan everywhere."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from compaction.strategies import by_id
from sessions.models import Session
from tests.compaction.stage import member_of
from tests.compaction.strategies.agents import AGENTS
from webapp.auth import issue_token
from webapp.models import Role, Scope, Workspace

pytestmark = pytest.mark.django_db

PRESETS = [(name, preset) for name in AGENTS for preset in by_id(name).presets]


def printed(session: Session, *arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("compact", str(session.pk), *arguments, "--preview", "--json", stdout=out, stderr=StringIO())
    plan: dict[str, Any] = json.loads(out.getvalue())
    return plan


def test_every_preset_everywhere(session: Session, workspace: Workspace) -> None:
    ada = member_of(workspace, "ada", Role.OPERATOR)
    _, token = issue_token(workspace=workspace, user=ada, name="test", scope=Scope.WRITE)
    program, person = Client(headers={"Authorization": f"Bearer {token}"}), Client()
    person.force_login(ada)
    for name, preset in PRESETS:
        plan = printed(session, "--strategy", name, "--preset", preset)
        told = f"{name} {preset}: {plan['status']} {plan['reason']}"
        assert plan["lands"] or plan["reason"], told
        assert not plan["status"].startswith("failed"), told
        for key, value in by_id(name).presets[preset].items():
            assert plan["params"][key] == value, told
        answered = program.post(
            f"/api/sessions/{session.pk}/compact",
            {"strategy": name, "preset": preset, "preview": True},
            content_type="application/json",
        )
        assert answered.status_code == 200, told
        assert answered.json()["plan_digest"] == plan["plan_digest"], told
        if preset != list(by_id(name).presets)[-1]:
            continue  # the page reads a preset as the others do: one of each strategy will do
        page = person.get(reverse("compaction:compact", args=[session.pk]), {"strategy": name, "preset": preset})
        shown = re.search(r'name="plan_digest" value="(\w+)"', page.content.decode())
        assert shown is not None, told
        assert shown[1] == plan["plan_digest"], told


def test_figures_go_over_a_presets(session: Session) -> None:
    plan = printed(session, "--strategy", "j-cli", "--preset", "jcli-seed", "--set", "messages=2")
    assert (plan["params"]["messages"], plan["params"]["line"]) == (2, "the tool's name")


def test_a_preset_that_is_not_there(session: Session) -> None:
    with pytest.raises(CommandError, match=r"no preset 'jcli-seed'; there are: codex-0\.148-local"):
        printed(session, "--strategy", "codex", "--preset", "jcli-seed")
