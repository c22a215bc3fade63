"""The goal tree on its pages: verbs by form, one goal laid open, the tree again only when it changed; and an agent's tools on the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from mcp.client import Client as ToolClient
from mcp.client.stdio import StdioServerParameters, stdio_client

from sessions.models import Session
from sessions.models_goals import GoalMark
from tests.claude_lines import ClaudeLines
from tests.processes import CHECKOUT
from tests.sessions.test_abandoned import given_up, taken, todos
from tests.sessions.test_api import bearer
from tests.sessions.test_views import member
from tests.webapp.apart import apart
from webapp.models import Role, Workspace

EVIL = "<script>alert(1)</script>\"'&目标🎯"


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> Session:
    lines = ClaudeLines()
    lines.prompt("Build it")
    todos(lines, "t1", (f"Design {EVIL}", "in_progress"), ("Build", "pending"))
    lines.says("No licence: this cannot work.")
    todos(lines, "t2", ("Build", "in_progress"))
    return taken(workspace, tmp_path, lines)


def marked(client: Client, session: Session, status: int = 302, **given: str) -> Any:
    response = client.post(f"/s/{session.pk}/goals/mark", given)
    assert response.status_code == status, response.content
    return response


def test_the_verbs_by_form_and_the_tree_again_only_when_it_changed(workspace: Workspace, session: Session) -> None:
    client = member(workspace, "quill", Role.OPERATOR)
    page = client.get(f"/s/{session.pk}/goals").content.decode()
    assert "Add a goal" in page
    rev = page.split("goals/since?rev=")[1].split('"')[0]
    assert client.get(f"/s/{session.pk}/goals/since?rev={rev}").status_code == 204
    marked(client, session, verb="add", note=EVIL, focus="1")
    again = client.get(f"/s/{session.pk}/goals/since?rev={rev}")
    assert again.status_code == 200
    assert "&lt;script&gt;" in again.content.decode()
    assert "<script>alert" not in again.content.decode()
    where = marked(client, session, verb="abandon", path="+1", note=EVIL)["Location"]
    laid_open = client.get(where).content.decode()
    assert "<script>alert" not in laid_open
    assert "a person said so" in laid_open
    assert "strategy=goal-tree&amp;set.goals=%2B1" not in laid_open, "nothing belongs to it yet"
    marked(client, session, verb="reopen", path="+1")
    assert marked(client, session, status=409, verb="done", path="+1", note=" ")
    assert session.goal_marks.order_by("id").values_list("verb", "through")[0] == ("added", "page")


def test_a_goal_laid_open_says_how_it_was_given_up_and_takes_a_correction(
    workspace: Workspace, session: Session
) -> None:
    client = member(workspace, "quill", Role.OPERATOR)
    page = client.get(f"/s/{session.pk}/goal/1").content.decode()
    assert "gone from the list" in page
    assert "No licence: this cannot work." in page
    assert "strategy=goal-tree&amp;set.goals=1" in page
    assert f"/s/{session.pk}?at=e" in page
    assert client.post(f"/s/{session.pk}/goal/1/cause", {"cause": "changed_mind"}).status_code == 302
    assert given_up(session, "1").cause == "changed_mind"
    assert client.post(f"/s/{session.pk}/goal/1/cause", {"cause": "nonsense"}).status_code == 409
    assert client.get(f"/s/{session.pk}/goal/99").status_code == 404


def test_who_may_only_read_marks_nothing(workspace: Workspace, session: Session) -> None:
    client = member(workspace, "reed", Role.VIEWER)
    assert client.post(f"/s/{session.pk}/goals/mark", {"verb": "add", "note": "x"}).status_code == 403
    assert "Add a goal" not in client.get(f"/s/{session.pk}/goals").content.decode()
    key = bearer(workspace, Role.VIEWER)
    assert (
        client.post(
            f"/api/sessions/{session.pk}/goal-tree", '{"text": "x"}', content_type="application/json", **key
        ).status_code
        == 403
    )
    strangers = Workspace.objects.create(name="Other", slug="other")
    other = member(strangers, "gall", Role.ADMIN)
    assert other.post(f"/s/{session.pk}/goals/mark", {"verb": "add", "note": "x"}).status_code == 404
    assert not GoalMark.objects.exists()


def test_the_api_has_the_verbs_and_the_list(workspace: Workspace, session: Session, client: Client) -> None:
    key = bearer(workspace, Role.OPERATOR)

    def asked(method: str, address: str, body: Any = None, status: int = 200) -> Any:
        response = client.generic(
            method, f"/api{address}", json.dumps(body or {}), content_type="application/json", **key
        )
        assert response.status_code == status, response.content
        return json.loads(response.content)

    one = f"/sessions/{session.pk}"
    assert asked("POST", f"{one}/goal-tree", {"text": "Ask the office", "under": "2"}, 201)["path"] == "2.+1"
    assert asked("POST", f"{one}/goal-tree/2.+1/focus")["goals"][0]["status"] == "in_progress"
    assert (
        asked("POST", f"{one}/goal-tree/2.+1/done", {"summary": "they said yes"})["goals"][0]["note"] == "they said yes"
    )
    assert asked("POST", f"{one}/goal-tree/2.+1/abandon", {"reason": " "}, 409)["error"]["code"] == "no_reason"
    assert len(asked("POST", f"{one}/explorations", {"question": "Which?", "branches": ["a", "b"]}, 201)["goals"]) == 3
    tree = asked("GET", f"{one}/goal-tree")
    assert [row["path"] for row in tree["goals"]] == ["1", "2", "2.+1", "+1", "+1.+1", "+1.+2"]
    found = asked("GET", "/abandoned?how=vanished")
    assert [(row["path"], row["cause"]) for row in found["items"]] == [("1", given_up(session, "1").cause)]
    assert {one["value"]: one["goals"] for one in found["facets"]["how"]}["vanished"] == 1
    corrected = asked("POST", f"/abandoned/{found['items'][0]['id']}/cause", {"cause": "out_of_time"})
    assert (corrected["cause"], corrected["cause_corrected"]) == ("out_of_time", True)


@pytest.mark.django_db(transaction=True)
def test_an_agents_tools_keep_the_tree_that_the_page_shows(worker_environment: dict[str, str], tmp_path: Path) -> None:
    """A client of the protocol, in a process of its own: add, focus, give up, and a question; what is refused says why."""
    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    lines = ClaudeLines(cwd=str(tmp_path))
    lines.prompt("Build it")
    session = taken(workspace, tmp_path, lines)
    client = member(workspace, "quill", Role.VIEWER)
    rev = client.get(f"/s/{session.pk}/goals").content.decode().split("goals/since?rev=")[1].split('"')[0]
    connection.close()
    shown: list[str] = []

    def live() -> str:
        return client.get(f"/s/{session.pk}/goals/since?rev={rev}").content.decode()

    async def drive() -> list[tuple[bool, str]]:
        server = StdioServerParameters(
            command=sys.executable, args=[str(CHECKOUT / "manage.py"), "mcp"], env=worker_environment, cwd=tmp_path
        )
        out: list[tuple[bool, str]] = []
        async with ToolClient(stdio_client(server)) as tools:
            named = {tool.name for tool in (await tools.list_tools()).tools}
            assert named == {"goal", "explore"}
            for name, given in (
                ("goal", {"add": "Cache in Redis"}),
                ("goal", {"add": "Measure it 📏"}),
                ("goal", {"focus": "+2"}),
                (
                    "goal",
                    {"abandon": "Redis is not installed here", "path": "+1", "add": "Cache in memory", "focus": "+3"},
                ),
                ("goal", {"focus": "nowhere"}),
                ("explore", {"question": "Which cache?", "branches": ["dict", "lru"]}),
            ):
                answer = await tools.call_tool(name, given)
                out.append((bool(answer.is_error), "".join(getattr(part, "text", "") for part in answer.content)))
        return out

    said = apart(drive)
    assert [error for error, _ in said] == [False, False, False, False, True, False]
    assert said[0][1].splitlines()[-1] == "In progress: +1", "what is added while nothing is in progress is worked on"
    assert "[✗] +1 Cache in Redis (abandoned: Redis is not installed here)" in said[3][1]
    assert said[3][1].endswith("In progress: +3")
    assert "no goal nowhere" in said[4][1]
    assert said[5][1].startswith("Question +4, with these branches:\n- +4.+1 dict\n- +4.+2 lru")
    shown.append(live())
    assert "Cache in Redis" in shown[0]
    assert "Redis is not installed here" in shown[0]
    assert given_up(session, "+1").cause == "missing_dependency"
    assert set(session.goal_marks.values_list("through", flat=True)) == {"tool"}
