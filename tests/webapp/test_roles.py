"""A member who may only read changes nothing, whatever address is asked and however; what one keeps for oneself is the exception."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import URLResolver, get_resolver

from tests.compaction.stage import a_workspace, everything, member_of
from tests.e2e import allpages
from webapp.auth import issue_token
from webapp.models import Role, Scope

pytestmark = pytest.mark.django_db

# One's own bookmarks, saved views and searches, and the door.
OWN = {"sessions:bookmark", "sessions:views", "sessions:abandoned_views", "sessions:search_saved", "set_language"}
OWN |= {"sign-in", "sign-in-link", "sign-out"}
ASKED = {
    "do": "apply", "strategy": "hybrid", "to": "t1", "to_turn": 1, "seq": 3, "version": 0, "text": "words", "after": 3, "name": "x", "path": "1",
    "what": "add", "reason": "because", "number": 1, "state": "accepted", "how": "x", "words": "x", "preview": False, "owner": "reed", "role": "admin",
    "when": "threshold", "scope": "admin", "format": "md", "agent": "codex", "summary": "x", "kind": "user", "cause": "other", "pattern": "x*",
}  # fmt: skip


def addresses(
    facts: dict[str, str], resolver: Any = None, space: str = "", so_far: str = ""
) -> Iterator[tuple[str, str]]:
    """Every address there is, the API's too, with its name."""
    for one in (resolver or get_resolver()).url_patterns:
        if isinstance(one, URLResolver):
            inner = space + (f"{one.namespace}:" if one.namespace else "")
            yield from addresses(facts, one, inner, so_far + str(one.pattern))
            continue
        path = "/" + (so_far + str(one.pattern)).replace("(?P<form>csv|json)", "csv").translate(
            {94: None, 36: None, 92: None}
        )
        known = {"run_id": facts["run"], "seq": facts["entry"], "session": facts["session"]}
        if "/s/" in path:
            known["name"] = facts["session"]
        names = re.findall(r"<(?:\w+:)?(\w+)>", path)
        for word in names:
            path = re.sub(rf"<(?:\w+:)?{word}>", known.get(word, "1"), path)
        yield space + str(one.name), path


def test_who_may_only_read_changes_nothing_anywhere(tmp_path: Path) -> None:
    workspace = a_workspace()
    facts = allpages.stage(workspace, tmp_path)
    reed, admin = member_of(workspace, "reed", Role.VIEWER), member_of(workspace, "quill", Role.ADMIN)
    _row, token = issue_token(workspace=workspace, user=admin, name="reads", scope=Scope.READ)
    viewer, program = Client(), Client(headers={"Authorization": f"Bearer {token}"})
    viewer.force_login(reed)
    viewer.get("/"), program.get("/api/sessions")  # what is noted of a first visit is noted before
    before = everything()
    asked = 0
    for name, path in addresses(facts):
        if name in OWN:
            continue
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            for client in (viewer, program):
                answers = [client.generic(method, path, json.dumps(ASKED), content_type="application/json")]
                if method == "POST":
                    answers.append(client.post(path, {**ASKED, "session": facts["session"]}))
                assert all(answer.status_code < 500 for answer in answers), (method, name)
                asked += len(answers)
    assert asked > 500
    after = everything()
    assert {table for table in after if after[table] != before[table]} <= {"django_session"}
