"""The names that people gave to threads, which Codex keeps in one file beside the rollouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessions.adapters.codex.names import named
from sessions.ingesting import ingest_paths
from sessions.models import Session
from tests.adapters.codex.build import NAME, THREAD, data, meta, says, user
from webapp.models import Workspace

pytestmark = pytest.mark.django_db
STAMP = "2026-11-30T05:00:50Z"


def line(thread: str, name: object) -> bytes:
    return json.dumps({"id": thread, "thread_name": name, "updated_at": STAMP}).encode() + b"\n"


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def test_a_thread_has_the_name_given_last_also_once_it_grew(workspace: Workspace, tmp_path: Path) -> None:
    rollout = tmp_path / "sessions" / "2026" / "11" / "30" / NAME
    rollout.parent.mkdir(parents=True)
    rollout.write_bytes(data([*meta(), *user("Look at the parser"), *says("Yes")]))
    index = tmp_path / "session_index.jsonl"
    index.write_bytes(line(THREAD, "First name") + line("01a22af3-0000-7000-8000-000000000000", "Of another"))

    def title() -> tuple[str | None, str]:
        taken = ingest_paths(workspace, [tmp_path / "sessions", index])
        assert taken[-1].outcome == "skipped"
        return Session.objects.get(native_id=THREAD).title, taken[-1].reason

    assert title() == (
        "First name",
        "names that Codex keeps for its threads, no session: 1 of the sessions here got theirs",
    )
    index.write_bytes(index.read_bytes() + line(THREAD, "The  parser\nagain"))
    assert title()[0] == "The parser again"
    rollout.write_bytes(rollout.read_bytes() + data(user("And on")))
    assert title() == ("The parser again", "names that Codex keeps for its threads, no session")


def test_what_is_no_name_is_passed() -> None:
    found = named(
        line("a", "A") + b"\xff torn\n[1]\n" + line("b", None) + line("c", " ") + line("a", "B") + b'{"id": "d"'
    )
    assert found == {"a": "B"}
