"""Whose file it is, by its content; and what belongs to a session."""

from pathlib import Path, PurePath

import pytest

from sessions.adapters.base import Claim
from sessions.adapters.claude_code import ADAPTER
from tests.adapters.claude_code.build import PATH, SESSION, Transcript, text

FOLDER = PATH.parent / SESSION


def head(**fields) -> bytes:
    t = Transcript(**fields)
    t.loose("mode", mode="normal")
    t.prompt("first")
    t.answer(text("x"))
    return t.bytes


def test_a_session_is_named_by_its_file_and_where_that_is_no_id_by_its_records():
    assert ADAPTER.claim(PATH, head()) == Claim("session", native_id=SESSION, source_id=SESSION)
    assert ADAPTER.claim(PurePath("copy.txt"), head()) == Claim("session", native_id=SESSION, source_id=SESSION)
    other = "11111111-2222-4333-8444-555555555555"
    found = ADAPTER.claim(PATH.with_name(f"{other}.jsonl"), head())
    assert found is not None
    assert found.native_id == other


def test_a_sub_agents_file_is_named_by_the_agent():
    t = Transcript()
    t.prompt("child", isSidechain=True, agentId="a77")
    for path in (FOLDER / "subagents" / "agent-a77.jsonl", PurePath("renamed.jsonl")):
        found = ADAPTER.claim(path, t.bytes)
        assert found is not None
        assert (found.role, found.native_id) == ("session", "a77")


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        (FOLDER / "subagents" / "agent-a7.meta.json", SESSION),
        (FOLDER / "subagents" / "workflows" / "wf_1" / "agent-a7.meta.json", SESSION),
        (FOLDER / "tool-results" / "b12.txt", SESSION),
        (FOLDER / "custom-title.json", SESSION),
    ],
)
def test_what_lies_in_a_sessions_folder_belongs_to_it(path, owner):
    assert ADAPTER.claim(path, b'{"any": "thing"}') == Claim("sidecar", owner_id=owner)


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        (
            "history.jsonl",
            b'{"display":"x","pastedContents":{},"timestamp":1,"project":"/p","sessionId":"s"}\n',
            "history of prompts",
        ),
        (f"todos/{SESSION}-agent-{SESSION}.json", b'[{"content":"x","status":"pending"}]', "todo"),
        (
            f"{SESSION}/subagents/workflows/wf_1/journal.jsonl",
            b'{"type":"started","key":"k","agentId":"a"}\n',
            "journal",
        ),
    ],
)
def test_files_of_the_agent_that_are_no_session_are_refused_with_the_reason(path, content, words):
    found = ADAPTER.claim(PurePath(path), content)
    assert found is not None
    assert found.role == "none"
    assert words in (found.reason or "")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01 not text",
        b'{"sessionId":"s","projectHash":"h","messages":[{"type":"user","content":"x"}]}',
        b'{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}\n',
        b'{"type":"message","role":"user","content":[]}\n',
        b'{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","parts":[{"text":"x"}]}}\n',
        b'{"id":"1","type":"user","content":"x"}\n',
    ],
)
def test_what_another_agent_wrote_is_not_claimed_whatever_its_name(content):
    assert ADAPTER.claim(PATH, content) is None


def test_a_first_record_larger_than_the_head_is_known_by_its_envelope():
    t = Transcript()
    t.prompt("x" * 100_000)
    found = ADAPTER.claim(PATH, t.bytes[: 64 * 1024])
    assert found is not None
    assert found.native_id == SESSION


def test_a_file_with_nothing_but_an_old_title_is_a_session():
    found = ADAPTER.claim(PATH, b'{"type":"summary","summary":"x","leafUuid":"y"}\n')
    assert found is not None
    assert found.role == "session"


def test_the_agents_folder_can_be_named_by_the_environment():
    assert ADAPTER.roots(Path("/home/x"), {}) == [Path("/home/x/.claude/projects")]
    assert ADAPTER.roots(Path("/home/x"), {"CLAUDE_CONFIG_DIR": "/srv/cc"}) == [Path("/srv/cc/projects")]
