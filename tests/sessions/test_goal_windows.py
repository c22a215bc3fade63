"""A goal tree of any length is shown a window at a time, from the goal in progress on, and none is shown twice or lost."""

import re

import pytest
from django.test import Client

from sessions.models import Goal, Session
from sessions.queries import GOALS
from tests.factories import a_session, conversation
from tests.sessions.test_views import Role, member
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def quill(db: None) -> tuple[Client, Session]:
    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    session = a_session(workspace, list(conversation(20)))
    Goal.objects.filter(session=session).delete()
    Goal.objects.bulk_create(
        Goal(
            session=session,
            path=str(n),
            position=f"{n:05d}",
            text=f"goal {n}",
            status="in_progress" if n == 120 else "completed",
            first_seq=n % 20,
            last_seq=n % 20,
            tokens=n,
        )
        for n in range(1, 201)
    )
    return member(workspace, "quill", Role.OPERATOR), session


def paths(html: str) -> list[int]:
    return [int(path) for path in re.findall(r'data-goal="(\d+)"', html)]


def edge(html: str, name: str) -> str | None:
    found = re.search(rf'href="([^"]*\?{name}=[^"]*)"', html)
    return found[1] if found else None


def test_the_page_stands_at_the_goal_in_progress(quill: tuple[Client, Session]) -> None:
    client, session = quill
    shown = paths(client.get(f"/s/{session.pk}").content.decode())
    assert 120 in shown
    assert len(shown) == GOALS
    assert shown == list(range(shown[0], shown[0] + GOALS))


def test_windows_in_both_directions_show_every_goal_once(quill: tuple[Client, Session]) -> None:
    client, session = quill
    first = client.get(f"/s/{session.pk}/goals").content.decode()
    seen = paths(first)
    for name in ("after", "before"):
        address = edge(first, name)
        while address:
            page = client.get(address).content.decode()
            seen += paths(page)
            address = edge(page, name)
    assert sorted(seen) == list(range(1, 201))


def test_counts_are_those_of_all_goals(quill: tuple[Client, Session]) -> None:
    client, session = quill
    assert re.search(r"completed 199", client.get(f"/s/{session.pk}/goals").content.decode())
