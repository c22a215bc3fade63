"""The list narrowed by owner and goals, and what is done with several of its sessions at once."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from sessions.models import Event, Goal, Session
from sessions.models_views import ListView
from tests import factories as make
from tests.sessions.test_views import HTMX, member
from webapp.models import Role, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def quill(workspace: Workspace) -> Client:
    return member(workspace, "quill", Role.OPERATOR)


@pytest.fixture
def three(workspace: Workspace) -> list[Session]:
    return [make.a_session(workspace, make.conversation(4 + n), native_id=f"native-{n}") for n in range(3)]


def listed(client: Client, query: str) -> set[str]:
    text = client.get(f"/?{query}", headers=HTMX).content.decode()
    return set(re.findall(r'data-row="([^"]+)"', text))


def named(*sessions: Session) -> set[str]:
    return {str(session.pk) for session in sessions}


def test_selected_sessions_change_hands_and_the_filter_finds_them(
    workspace: Workspace, quill: Client, three: list[Session]
) -> None:
    gall = member(workspace, "gall", Role.VIEWER)
    first, second, third = three
    answer = quill.post(
        reverse("sessions:owner"),
        {"session": [str(first.pk), str(second.pk)], "to": "gall", "query": "agent=claude-code&x=1"},
    )
    assert answer.headers["Location"] == "/?agent=claude-code"
    assert listed(quill, "owner=gall") == named(first, second)
    assert listed(quill, "owner=-") == named(third)
    assert Event.objects.filter(what="given").count() == 2
    quill.post(reverse("sessions:owner"), {"session": [str(first.pk)], "to": ""})
    assert listed(quill, "owner=gall") == named(second)
    assert gall.post(reverse("sessions:owner"), {"session": [str(first.pk)], "to": "gall"}).status_code == 403


def test_nothing_changes_hands_where_one_of_them_may_not(quill: Client, three: list[Session]) -> None:
    elsewhere = make.a_session(Workspace.objects.create(name="Elsewhere", slug="elsewhere"), make.conversation(4))
    User.objects.create_user("stranger")
    for sessions, to in (
        ([three[0], elsewhere], "quill"),
        ([three[0]], "stranger"),
        ([], "quill"),
    ):
        quill.post(reverse("sessions:owner"), {"session": [str(one.pk) for one in sessions], "to": to})
        assert not Session.objects.filter(owner__isnull=False).exists()
    assert not Event.objects.filter(what="given").exists()


def test_the_list_by_what_became_of_its_goals(quill: Client, three: list[Session]) -> None:
    first, second, third = three
    Goal.objects.filter(session=second).update(status="abandoned")
    Goal.objects.filter(session=third).update(inferred=True)
    assert listed(quill, "goals=open") == named(first)
    assert listed(quill, "goals=abandoned") == named(second)
    assert listed(quill, "goals=none") == named(third)
    assert listed(quill, "goals=nonsense") == named(*three)


def test_filters_are_saved_under_a_name_for_oneself(workspace: Workspace, quill: Client, three: list[Session]) -> None:
    gall = member(workspace, "gall", Role.VIEWER)
    wanted = {"name": "Mine, open", "query": "owner=quill&goals=open&after=junk&evil=%3Cscript%3E"}
    quill.post(reverse("sessions:views"), wanted)
    assert "/?owner=quill&amp;goals=open" in quill.get("/").content.decode()
    assert "Mine, open" not in gall.get("/").content.decode()
    view = ListView.objects.get()
    gall.post(reverse("sessions:views"), {"drop": view.pk})
    quill.post(reverse("sessions:views"), {"name": "Everything", "query": ""})
    assert list(ListView.objects.values_list("query", flat=True)) == ["owner=quill&goals=open"]
    quill.post(reverse("sessions:views"), {"drop": view.pk})
    assert not ListView.objects.exists()


def test_what_is_put_away_leaves_the_list_alone_and_comes_back(
    workspace: Workspace, quill: Client, three: list[Session]
) -> None:
    gall = member(workspace, "gall", Role.VIEWER)
    first, second, third = three
    address = reverse("sessions:archived")
    chosen = {"session": [str(first.pk), str(second.pk)], "query": "agent=claude-code"}

    answer = quill.post(address, chosen)
    assert answer.headers["Location"] == "/?agent=claude-code"
    assert listed(quill, "") == named(third)
    assert listed(quill, "archived=1") == named(first, second)
    assert "2 sessions put away" in quill.get("/").content.decode()
    # Nothing else about it is otherwise.
    assert quill.get(reverse("sessions:session", args=[first.pk])).status_code == 200

    quill.post(address, chosen)
    quill.post(address, {"session": [str(first.pk)], "out": "1"})
    assert listed(quill, "") == named(first, third)
    assert sorted(Event.objects.values_list("what", flat=True)) == ["archived", "archived", "taken_out"]

    assert gall.post(address, chosen).status_code == 403
    quill.post(address, {"session": [str(third.pk), "6d4d38c8-0b7d-4220-ad28-664d0c24d81a"]})
    assert listed(quill, "") == named(first, third)
    quill.post(address, {"session": [str(first.pk), str(third.pk)]})
    assert "All sessions are put away" in quill.get("/").content.decode()
