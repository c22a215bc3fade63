"""The page of settings: what holds here, said to those who may know it, and nothing secret on it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from sessions.models import ModelLimit
from webapp.auth import issue_token
from webapp.models import Membership, Role, Scope, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def signed(workspace: Workspace, client: Client) -> Client:
    quill = User.objects.create_user("quill")
    Membership.objects.create(workspace=workspace, user=quill, role=Role.ADMIN)
    client.force_login(quill)
    return client


def page(client: Client) -> str:
    answer = client.get(reverse("settings"))
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_page_names_models_people_and_tokens_but_no_key(
    signed: Client, workspace: Workspace, settings: Any
) -> None:
    settings.LLM_MODELS = ("openai:gpt-5.6",)
    settings.LLM_KEYS = {"openai": "sk-the-key-itself"}
    member = workspace.members.get()
    _row, text = issue_token(workspace=workspace, user=member, name="nightly export", scope=Scope.READ)
    shown = page(signed)
    assert "openai:gpt-5.6" in shown
    assert "nightly export" in shown
    assert member.get_username() in shown
    assert "sk-the-key-itself" not in shown
    assert text not in shown


def test_limits_are_said_and_taken_back_by_those_who_may(signed: Client, workspace: Workspace) -> None:
    wanted = {"do": "put-limit", "pattern": "gpt-5*", "context": "400,000", "source": "our contract"}
    assert signed.post(reverse("settings"), wanted).status_code == 302
    assert ModelLimit.objects.get(workspace=workspace).context == 400_000
    assert "our contract" in page(signed)
    refused = signed.post(reverse("settings"), {**wanted, "context": "many"})
    assert refused.status_code == 409
    assert "many" in refused.content.decode()
    assert ModelLimit.objects.get(workspace=workspace).context == 400_000
    signed.post(reverse("settings"), {"do": "drop-limit", "pattern": "gpt-5*"})
    assert not ModelLimit.objects.exists()


def test_a_viewer_reads_it_and_sets_nothing_and_sees_no_token_of_others(signed: Client, workspace: Workspace) -> None:
    issue_token(workspace=workspace, user=workspace.members.get(), name="the owner's", scope=Scope.WRITE)
    other = User.objects.create_user("reed")
    Membership.objects.create(workspace=workspace, user=other, role=Role.VIEWER)
    viewer = Client()
    viewer.force_login(other)
    shown = page(viewer)
    assert "the owner" not in shown
    assert 'value="put-limit"' not in shown
    wanted = {"do": "put-limit", "pattern": "x", "context": "1000", "source": "me"}
    assert viewer.post(reverse("settings"), wanted).status_code == 403
    assert not ModelLimit.objects.exists()
