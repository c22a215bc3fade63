"""Words of a person that no database holds, in what is asked of a compaction."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from compaction.models import Run
from sessions.models import Session
from tests.compaction.stage import member_of
from webapp.auth import issue_token
from webapp.models import Role, Scope, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(workspace: Workspace) -> dict[str, Any]:
    user = member_of(workspace, "ada", Role.OPERATOR)
    return {
        "HTTP_AUTHORIZATION": f"Bearer {issue_token(workspace=workspace, user=user, name='t', scope=Scope.WRITE)[1]}"
    }


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
@pytest.mark.parametrize("name", ["instructions", "edited_summary", "without", "plan_digest", "expected_hash"])
def test_words_that_no_database_holds_do_not_break_a_request(
    client: Client, key: dict[str, Any], session: Session, name: str, text: str
) -> None:
    wanted: dict[str, Any] = {"strategy": "hybrid", name: [text] if name == "without" else text}
    address = f"/api/sessions/{session.pk}/compact"
    seen = client.post(address, json.dumps({**wanted, "preview": True}), content_type="application/json", **key)
    assert seen.status_code == 200, seen.content
    asked = client.post(address, json.dumps(wanted), content_type="application/json", **key)
    if name == "expected_hash":
        assert asked.status_code == 409
        assert not Run.objects.exists()
    else:
        assert asked.status_code == 202, asked.content
        run = Run.objects.get()
        assert "a" in str(getattr(run, name))
        assert "\x00" not in str(getattr(run, name))


def test_a_body_too_large_is_refused_in_the_apis_own_form(
    client: Client, key: dict[str, Any], session: Session
) -> None:
    body = json.dumps({"strategy": "hybrid", "instructions": "x" * 3_000_000})
    answer = client.post(f"/api/sessions/{session.pk}/compact", body, content_type="application/json", **key)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"
    assert not Run.objects.exists()


def test_a_form_that_cannot_be_read_is_refused_on_a_page_of_ours(client: Client, session: Session) -> None:
    answer = client.post("/sign-in", b"garbage", content_type="multipart/form-data")
    assert answer.status_code == 400
    assert b"This request cannot be read" in answer.content
