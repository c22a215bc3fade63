"""Files are told by what they hold, whatever they are called; and each agent's files are claimed by it alone."""

from __future__ import annotations

import json
from pathlib import Path, PurePath

import pytest

from sessions.adapters import adapters, claims
from sessions.adapters.base import HEAD, Claim
from sessions.adapters.gemini_cli import ADAPTER
from tests.adapters.gemini_cli import build

CHATS = PurePath("/home/quill/.gemini/tmp/quill/chats")
LOG = build.data(build.head(), build.user("u1", "hello"))
DOCUMENT = build.document(build.user("u1", "hello"))
CHECKPOINT = json.dumps({"history": [{"role": "user", "parts": [{"text": "hi"}]}], "authType": "x"}, indent=2).encode()
TYPED = json.dumps(
    [
        {
            "sessionId": build.SESSION,
            "messageId": 0,
            "type": "user",
            "message": "/compress",
            "timestamp": "2026-11-30T02:00:00Z",
        }
    ]
).encode()


ANYWHERE = PurePath("/tmp/anything.txt")


def claim(data: bytes, path: PurePath = ANYWHERE) -> Claim | None:
    return ADAPTER.claim(path, data[:HEAD])


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (LOG, False),
        (DOCUMENT, True),
        (b"\xef\xbb\xbf" + DOCUMENT, True),
        (build.document(build.user("u1", "x" * 100_000), indent=None), True),
        (build.document(build.user("u1", "hello"), indent=None) + b"\n", True),
        (build.document(build.user("u1", "hello"), indent=None) + b"\n" + build.data(build.user("u2", "more")), False),
        (b'{"id": "torn\n' + LOG, False),
        (DOCUMENT[: len(DOCUMENT) // 2 + 60], True),
    ],
)
def test_sessions_are_told_by_their_content(data: bytes, whole: bool) -> None:
    found = claim(data)
    assert found is not None
    assert (found.role, found.native_id, found.whole) == ("session", build.SESSION, whole)


def test_a_log_without_its_head_is_known_by_its_other_records() -> None:
    found = claim(build.data(build.rewind("u1")), CHATS / "session-x.jsonl")
    assert found is not None
    assert (found.role, found.native_id) == ("session", "session-x")


def test_a_saved_checkpoint_is_a_session() -> None:
    for data in (
        CHECKPOINT,
        json.dumps(json.loads(CHECKPOINT)).encode(),
        json.dumps(json.loads(CHECKPOINT)["history"]).encode(),
    ):
        found = claim(data, CHATS.parent / "checkpoint-mine.json")
        assert found is not None
        assert (found.role, found.native_id, found.whole) == ("session", "checkpoint-mine", True)


@pytest.mark.parametrize(
    ("path", "data", "owner"),
    [
        ("logs.json", TYPED, build.SESSION),
        (f"tool-outputs/session-{build.SESSION}/run_shell_command_1.txt", b"lines\n", build.SESSION),
        (f"{build.SESSION}/plans/plan.md", b"# Plan\n", build.SESSION),
        (f"{build.SESSION}/tracker/a1b2c3.json", b"{}", build.SESSION),
    ],
)
def test_what_belongs_to_a_session_is_kept_with_it(path: str, data: bytes, owner: str) -> None:
    found = claim(data, CHATS.parent / path)
    assert found is not None
    assert (found.role, found.owner_id) == ("sidecar", owner)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (".project_root", b"/work/quill"),
        ("chats/session-x.jsonl.unreadable-1796014950355", LOG),
        ("chats/session-x.jsonl.tmp-42", LOG),
        ("tool-outputs/run_shell_command_1.txt", b"lines\n"),
        ("checkpoints/2026-11-30T02_00_00-a.py-replace.json", b'{"history": [], "toolCall": {"name": "replace"}}'),
        ("logs/session-x.jsonl", b'{"event": 1}\n'),
    ],
)
def test_what_is_no_session_says_what_it_is(path: str, data: bytes) -> None:
    found = claim(data, CHATS.parent / path)
    assert found is not None
    assert found.role == "none"
    assert found.reason


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"hello", b'{"messages": []}', b'[{"role": "user", "content": "x"}]', b'{"history": ["x"]}',
     b'{"messages":[{"role":"user","content":"x"}]}\n', b'{"type":"user","uuid":"u","message":{"role":"user","content":"x"}}\n'],
)  # fmt: skip
def test_others_files_are_left_alone(data: bytes) -> None:
    assert claim(data) is None


def test_every_recording_is_claimed_by_its_own_agent_alone(shared_data: Path) -> None:
    for path in sorted(shared_data.rglob("*")):
        if not path.is_file():
            continue
        with path.open("rb") as file:
            head = file.read(HEAD)
        found = claims(path, head)
        ours = path.is_relative_to(shared_data / "gemini")
        assert (found is not None and found[0].agent == "gemini-cli") == ours, path


def test_it_is_among_the_agents() -> None:
    assert adapters()["gemini-cli"] is ADAPTER
    assert ADAPTER.roots(Path("/home/quill"), {}) == [Path("/home/quill/.gemini/tmp")]
    assert ADAPTER.roots(Path("/home/quill"), {"GEMINI_CLI_HOME": "/else"}) == [Path("/else/.gemini/tmp")]
