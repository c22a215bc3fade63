"""What is OpenCode's, whatever it is called."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from sessions.adapters.opencode import ADAPTER
from tests.adapters.opencode.build import SESSION, Session, text

EXPORT = Session()
EXPORT.user(text("hello"))
SQLITE = b"SQLite format 3\0" + b"\0" * 80


@pytest.mark.parametrize(
    "head",
    [
        EXPORT.data(),
        b'\n{\n  "info": {\n    "id": "' + SESSION.encode() + b'",\n    "version": "0.15.0"',
        b'{"info":{"slug":"a","id":"' + SESSION.encode() + b'"},"messages":[]}',
        b'{"messages":[{"info":{"id":"msg_1","sessionID":"' + SESSION.encode() + b'","role":"user"',
        b'[{"type":"session","data":{"id":"' + SESSION.encode() + b'"}},{"type":"message","data":{"id":"msg_1"}}]',
    ],
)
def test_exports_are_known_by_what_they_say(head: bytes) -> None:
    claim = ADAPTER.claim(PurePath("whatever.txt"), head)
    assert claim is not None
    assert (claim.role, claim.native_id, claim.whole) == ("session", SESSION, True)
    assert ADAPTER.expands(PurePath("whatever.txt"), head) is None


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"{}",
        b"[]",
        b'{"info":{"id":"cus_12"},"messages":[]}',
        b'{"info":{"title":"an API","version":"1"},"openapi":"3.0"}',
        b'{"messages":[{"role":"user","content":"ses_1"}]}',
        b'{"sessionId":"a","projectHash":"b","messages":[]}',
        b'{"type":"user","message":{"role":"user"},"sessionId":"ses_1"}',
        SQLITE,
    ],
)
def test_others_are_left_alone(head: bytes) -> None:
    assert ADAPTER.claim(PurePath("session.json"), head) is None
    assert ADAPTER.expands(PurePath("session.json"), head) is None


@pytest.mark.parametrize(
    ("path", "head", "role"),
    [
        ("session/global/ses_1.json", b'{"id":"ses_1","projectID":"global","time":{"created":1}}', "session"),
        ("session/info/ses_1.json", b'{\n "id": "ses_1", "time": {"created": 1}}', "session"),
        ("message/ses_1/msg_1.json", b'{"id":"msg_1","sessionID":"ses_1","role":"user"}', "none"),
        ("part/msg_1/prt_1.json", b'{"id":"prt_1","messageID":"msg_1","type":"text"}', "none"),
        ("todo/ses_1.json", b'[{"content":"a"}]', "none"),
        ("session_diff/ses_1.json", b"[]", "none"),
        ("session_share/ses_1.json", b'{"secret":"s","url":"u"}', "none"),
        ("project/global.json", b'{"id":"global","worktree":"/"}', "none"),
    ],
)
def test_the_storage_tree_is_anchored_at_the_info_of_a_session(path: str, head: bytes, role: str) -> None:
    place = PurePath("/home/ann/.local/share/opencode/storage") / path
    claim = ADAPTER.claim(place, head)
    assert claim is not None
    assert claim.role == role
    assert bool(claim.reason) is (role == "none")
    assert ADAPTER.expands(place, head) == ("folder" if role == "session" else None)


def test_ids_of_the_tree_are_those_of_its_paths() -> None:
    claim = ADAPTER.claim(PurePath("session/global/ses_new.json"), b'{"id":"ses_old","time":{"created":1}}')
    assert claim is not None
    assert claim.native_id == "ses_new"


@pytest.mark.parametrize("name", ["opencode.db", "opencode-dev.db", "backup-opencode.db"])
def test_a_database_holds_many(name: str) -> None:
    assert ADAPTER.expands(PurePath(name), SQLITE) == "database"


def test_a_database_of_another_name_is_known_by_its_tables() -> None:
    head = SQLITE + b"CREATE TABLE `message` (`id` text) CREATE TABLE `part` (`id` text, `message_id` text)"
    assert ADAPTER.expands(PurePath("copy.sqlite"), head) == "database"


def test_where_it_keeps_its_sessions() -> None:
    home = Path("/home/ann")
    own = home / ".local/share/opencode"
    roots = ADAPTER.roots(home, {})
    assert {own / "opencode.db", own / "opencode.db-wal", own / "storage/session"} <= set(roots)
    assert own not in roots, "keys and copies of projects lie there too"
    assert Path("/data/opencode/opencode.db") in ADAPTER.roots(home, {"XDG_DATA_HOME": "/data"})
    assert Path("/elsewhere/my.db") in ADAPTER.roots(home, {"OPENCODE_DB": "/elsewhere/my.db"})
    assert own / "my.db" in ADAPTER.roots(home, {"OPENCODE_DB": "my.db"})
