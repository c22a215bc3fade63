"""Sub-agents as lanes: in place, by their task, with the conclusion that was sent, and with nothing of the conversation round them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from sessions.models import Entry, Session
from tests import factories as make
from tests.sessions.test_views import HTMX, member
from webapp.models import Role, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def quill(workspace: Workspace) -> Client:
    return member(workspace, "quill", Role.OPERATOR)


@pytest.fixture
def parent(workspace: Workspace) -> Session:
    """A sub-agent's three records among the others, in its lane."""
    inside = [make.prompt("Look for callers"), make.call("s1", "Grep", pattern="x"), make.result("s1", "three hits")]
    found = make.a_session(
        workspace,
        [
            make.prompt("Who calls it?"),
            make.call("c1", "Task", description="callers", prompt="Look for callers"),
            *(replace(row, sent=False, opens_turn=False) for row in inside),
            make.result("c1", "Only two files do."),
            make.message("Two."),
        ],
    )
    Entry.objects.filter(session=found, seq__in=(2, 3, 4)).update(lane="agent-1")
    return found


def test_records_of_a_sub_agent_are_a_lane_that_its_task_names(quill: Client, parent: Session) -> None:
    page = quill.get(reverse("sessions:session", args=[parent.pk])).content.decode()
    lane = page[page.index("lane-box in-place") :]
    assert "Look for callers" in lane[:600]
    assert "three hits" not in page
    assert "Only two files do." in page
    asked = re.search(r'hx-get="([^"]+/lane[^"]+)"', page)
    assert asked is not None
    opened = quill.get(asked[1].replace("&amp;", "&"), headers=HTMX).content.decode()
    assert re.findall(r'class="lane-row (\w+)', opened) == ["prompt", "call"]
    assert "Who calls it?" not in opened
    assert "Two." not in opened


def test_a_sub_agents_own_session_opens_as_a_lane_some_rows_at_a_time(
    workspace: Workspace, quill: Client, parent: Session
) -> None:
    child = make.a_session(
        workspace,
        make.conversation(200),
        native_id="child",
        title="Survey the tests",
        parent=parent,
        parent_kind="subagent",
        parent_call_id="c1",
    )
    page = quill.get(reverse("sessions:session", args=[parent.pk])).content.decode()
    assert "Survey the tests" in page
    seen: list[int] = []
    address: str | None = reverse("sessions:lane", args=[child.pk])
    while address:
        text = quill.get(address, headers=HTMX).content.decode()
        seen += [int(seq) for seq in re.findall(r'class="no"[^>]*>(\d+)<', text)]
        more = re.search(r'hx-get="([^"]+)"', text)
        address = more[1].replace("&amp;", "&") if more else None
    spoken = Entry.objects.filter(session=child).exclude(kind="tool_result").order_by("seq")
    assert seen == [seq for seq, kind in spoken.values_list("seq", "kind") if kind != "meta"]


def test_a_stranger_opens_no_lane(parent: Session) -> None:
    other = member(Workspace.objects.create(name="Elsewhere", slug="elsewhere"), "stranger", Role.ADMIN)
    assert other.get(reverse("sessions:lane", args=[parent.pk])).status_code == 404
