"""What is a session of Codex and what is not, told by content."""

from __future__ import annotations

from pathlib import Path, PurePath

import orjson
import pytest

from sessions.adapters.codex import ADAPTER
from tests.adapters.codex.build import NAME, STAMP, THREAD, data, meta, user

ROLLOUT = "01a22ad4-9509-7ca0-b68c-189e8ccbcb47"


def test_a_wrapped_rollout() -> None:
    claim = ADAPTER.claim(NAME, data([*meta(), *user("x")]))
    assert claim is not None
    assert (claim.role, claim.native_id, claim.source_id, claim.base) == ("session", THREAD, THREAD, None)


def test_the_name_does_not_matter() -> None:
    claim = ADAPTER.claim(PurePath("notes.txt"), data(meta()))
    assert claim is not None
    assert claim.source_id == THREAD


def test_a_source_that_continues_another() -> None:
    name = PurePath(f"rollout-2026-11-30T05-01-44-{THREAD}_{ROLLOUT}.jsonl")
    head = data(meta(history_base={"thread_id": THREAD, "end_ordinal_exclusive": 21, "end_byte_offset": 39152}))
    claim = ADAPTER.claim(name, head)
    assert claim is not None
    assert (claim.native_id, claim.source_id) == (THREAD, ROLLOUT)
    assert claim.base is not None
    assert (claim.base.native_id, claim.base.until_offset, claim.base.until_ordinal) == (THREAD, 39152, 21)


def test_a_first_line_longer_than_the_head() -> None:
    head = data(
        meta(history_base={"thread_id": ROLLOUT, "end_byte_offset": 7}, base_instructions={"text": "x" * 100_000})
    )[: 1 << 16]
    claim = ADAPTER.claim(NAME, head)
    assert claim is not None
    assert claim.native_id == THREAD
    assert claim.base is not None
    assert claim.base.native_id == ROLLOUT


def test_a_flat_rollout() -> None:
    head = (
        orjson.dumps({"id": THREAD, "timestamp": STAMP, "instructions": None})
        + b"\n"
        + orjson.dumps({"record_type": "state"})
        + b"\n"
    )
    claim = ADAPTER.claim(PurePath("x.jsonl"), head)
    assert claim is not None
    assert claim.native_id == THREAD


def test_a_broken_first_line() -> None:
    claim = ADAPTER.claim(NAME, b"{half\n" + data(user("x")))
    assert claim is not None
    assert (claim.role, claim.native_id) == ("session", THREAD)


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("history.jsonl", {"session_id": THREAD, "ts": 1796000000, "text": "typed"}),
        ("session_index.jsonl", {"id": THREAD, "thread_name": "A name", "updated_at": STAMP}),
    ],
)
def test_files_of_codex_that_are_no_session(name: str, record: dict[str, object]) -> None:
    claim = ADAPTER.claim(PurePath(name), orjson.dumps(record) + b"\n")
    assert claim is not None
    assert claim.role == "none"
    assert claim.reason


def test_its_databases_are_no_session() -> None:
    claim = ADAPTER.claim(PurePath("state_5.sqlite"), b"SQLite format 3\x00...")
    assert claim is not None
    assert claim.role == "none"
    assert ADAPTER.claim(PurePath("other.db"), b"SQLite format 3\x00...") is None


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n\n",
        b"plain words",
        b"[1, 2, 3]\n",
        b'{"sessionId": "x", "messages": []}',
        b'{"parentUuid":null,"type":"user","uuid":"a","sessionId":"b","timestamp":"t","message":{"role":"user","content":"x"}}\n',
        b'{"type":"summary","summary":"x","leafUuid":"y"}\n',
        b'{"role":"user","content":"x","timestamp":"t"}\n',
        b"\x28\xb5\x2f\xfd\x00",
        b'{"id":"ses_1","timestamp":1}\n',
    ],
)
def test_what_is_not_codex(head: bytes) -> None:
    assert ADAPTER.claim(PurePath("projects/a.jsonl"), head) is None


def test_where_it_keeps_its_sessions() -> None:
    home = Path("/home/someone")
    assert ADAPTER.roots(home, {}) == tuple(
        home / ".codex" / name for name in ("sessions", "archived_sessions", "session_index.jsonl")
    )
    assert ADAPTER.roots(home, {"CODEX_HOME": "/data/codex"})[0] == Path("/data/codex/sessions")
