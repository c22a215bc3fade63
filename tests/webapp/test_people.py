"""Who is in a workspace and what each may do: by page, command and API, the same verbs."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any
from urllib.parse import urlparse

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from sessions.models import Event
from sessions.versions import Refused
from webapp import members
from webapp.auth import issue_token
from webapp.models import Membership, Role, Scope, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def quill(workspace: Workspace) -> User:
    user = User.objects.create_user("quill")
    Membership.objects.create(workspace=workspace, user=user, role=Role.ADMIN)
    return user


@pytest.fixture
def signed(quill: User, client: Client) -> Client:
    client.force_login(quill)
    return client


def act(client: Client, status: int, **given: str) -> str:
    answer = client.post(reverse("people"), given)
    assert answer.status_code == status
    return answer.content.decode()


def role_of(workspace: Workspace, name: str) -> str | None:
    return Membership.objects.filter(workspace=workspace, user__username=name).values_list("role", flat=True).first()


def test_an_auditor_is_added_comes_in_by_the_link_once_and_sees_sums_alone(
    signed: Client, workspace: Workspace
) -> None:
    shown = act(signed, 200, do="invite", name="reed", role="auditor")
    link = urlparse(shown.split('id="link"')[1].split('value="')[1].split('"')[0]).path
    assert role_of(workspace, "reed") == "auditor"
    assert link not in signed.get(reverse("people")).content.decode(), "shown once"
    reed, stranger = Client(), Client()
    assert reed.get(link, follow=True).redirect_chain[-1][0] == reverse("sessions:abandoned")
    assert reed.get(reverse("settings")).status_code == 403
    assert stranger.get(link).url == reverse("sign-in")  # type: ignore[attr-defined]  # a redirect
    act(signed, 302, do="role", name="reed", role="viewer")
    assert reed.get(reverse("settings")).status_code == 200, "what one may do holds from the next request on"
    assert reed.get(reverse("people")).status_code == 403
    act(signed, 302, do="remove", name="reed")
    assert reed.get(reverse("settings")).status_code == 404
    told = list(
        Event.objects.filter(workspace=workspace).order_by("id").values_list("what", "facts__name", "who__username")
    )
    assert told == [(what, "reed", "quill") for what in ("member_added", "member_role", "member_removed")]


def test_the_last_admin_stays_one(signed: Client, workspace: Workspace) -> None:
    for given in ({"do": "role", "role": "viewer"}, {"do": "remove"}):
        assert "only admin" in act(signed, 409, name="quill", **given)
    assert role_of(workspace, "quill") == "admin"
    act(signed, 200, do="invite", name="vellum", role="admin")
    act(signed, 302, do="role", name="quill", role="operator")
    assert role_of(workspace, "quill") == "operator"
    assert signed.get(reverse("people")).status_code == 403


def test_nonsense_is_refused_and_changes_nothing(signed: Client, workspace: Workspace) -> None:
    for given in (
        {"do": "invite", "name": "", "role": "viewer"},
        {"do": "invite", "name": "two words", "role": "viewer"},
        {"do": "invite", "name": "x" * 151, "role": "viewer"},
        {"do": "invite", "name": "reed", "role": "king"},
        {"do": "invite", "name": "quill", "role": "viewer"},
        {"do": "role", "name": "nobody", "role": "viewer"},
        {"do": "link", "name": "nobody"},
    ):
        act(signed, 409, **given)
    assert list(Membership.objects.filter(workspace=workspace).values_list("user__username", "role")) == [
        ("quill", "admin")
    ]
    assert not User.objects.filter(username="reed").exists()


def test_no_link_opens_another_workspace(quill: User, workspace: Workspace) -> None:
    """Who manages one workspace must not be able to enter another as somebody who is in both."""
    other = Workspace.objects.create(name="Other", slug="other")
    gall = User.objects.create_user("gall")
    Membership.objects.create(workspace=other, user=gall, role=Role.ADMIN)
    assert members.invite(workspace, name="gall", role="viewer", by=quill).secret is None
    with pytest.raises(Refused) as refusal:
        members.link(workspace, name="gall", by=quill)
    assert refusal.value.code == "known_elsewhere"
    User.objects.create_superuser("root")
    assert members.invite(workspace, name="root", role="viewer", by=quill).secret is None


def test_the_api_has_the_same_verbs_for_admins(quill: User, workspace: Workspace, client: Client) -> None:
    def asked(method: str, path: str, scope: Scope = Scope.ADMIN, **body: Any) -> Any:
        _row, token = issue_token(workspace=workspace, user=quill, name="t", scope=scope)
        return client.generic(
            method, f"/api/members{path}", json.dumps(body), content_type="application/json", headers={"Authorization": f"Bearer {token}"}
        )  # fmt: skip

    assert asked("GET", "", Scope.WRITE).status_code == 403
    made = asked("POST", "", name="reed", role="auditor")
    assert made.status_code == 201
    assert "/sign-in/" in made.json()["link"]
    assert asked("PUT", "/reed", role="viewer").json()["role"] == "viewer"
    assert asked("POST", "/reed/link").json()["link"] != made.json()["link"]
    assert [row["name"] for row in asked("GET", "").json()] == ["quill", "reed"]
    assert asked("DELETE", "/reed").status_code == 204
    assert asked("DELETE", "/reed").status_code == 422
    assert asked("PUT", "/quill", role="viewer").json()["error"]["code"] == "last_admin"


def run(*arguments: str) -> Any:
    out = StringIO()
    call_command("members", *arguments, "--workspace", "scriptorium", "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_command_has_the_same_verbs(quill: User, workspace: Workspace) -> None:
    assert "sign-in/" in run("add", "reed", "--role", "auditor")["link"]
    assert run("role", "reed", "operator")["role"] == "operator"
    assert "sign-in/" in run("link", "reed")["link"]
    assert [(row["name"], row["role"]) for row in run()["items"]] == [("quill", "admin"), ("reed", "operator")]
    run("remove", "reed")
    assert role_of(workspace, "reed") is None
    with pytest.raises(CommandError, match="only admin"):
        run("remove", "quill")
