"""The law of every writer: what it wrote, read by that agent's own adapter, is the context that was written. Over recorded and made-up sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sessions.contexts import Edit, Hide, Insert, InsertKind, Replace
from sessions.entries import PartKind, Role
from sessions.ranges import Ranges
from sessions.writers import writers
from sessions.writers.base import CannotWrite, Names
from sessions.writers.claude_code import arguments
from sessions.writers.compare import blocks, difference
from sessions.writers.splice import dumps, member, spliced
from sessions.writers.tools import carried
from tests.adapters.writing import NOW, Taken, adapter_of, folded, read_back, rolled_back, taken, text, written

RECORDED = [
    "claude-code/entire-cd-95adddad32-0.jsonl",
    "claude-code/entire-4f-7199a81bd1-0.jsonl",
    "claude-code/cli-2.1.332/65e79247-f71d-413c-91f7-0af15eac7c6f.jsonl",
    "claude-code/cli-2.1.332-tui/44b37b18-5069-4907-9b9a-2730f06613c8.jsonl",
    "claude-code/ccl-todowrite_examples.jsonl",
    "retention/056d2eda-6037-4f4f-a98d-f2f78f650be4.jsonl",
    "codex/cli-0.171.0/rollout-2026-11-30T04-59-53-01a22ad2-e3cc-7a71-9b80-c3ddfa241a98.jsonl",
    "codex/cli-0.98.0/rollout-2026-11-30T05-35-12-01a22af3-3786-7452-b4cd-e861e3ece0e3.jsonl",
    "codex/openai-rollout-2025-08-06T18-02-11-05997ac9-0e06-4251-8576-cc16266d3022.jsonl",
    "codex/agentsessions-session_branch.jsonl",
    "gemini/gen061-main-resumed-3x-compacted-2x.jsonl",
    "gemini/gen061-interactive-chatsave-compress-rewind.jsonl",
    "gemini/mgemini-session-2025-12-24T06-27-36e8d28f.json",
    "opencode/gen11833-export-auto.json",
    "opencode/gen11833-export-prune.json",
    "opencode/crafted-rewritten-compacted.json",
    "other/aisdk6-modelmessages.json",
    "other/anthropic-request-by-opencode11833.json",
]
WAYS = {"folded": folded, "rolled back": rolled_back, "as the agent left it": lambda session: session.edits}


def unlike(session: Taken, edits: Sequence[Edit], agent: str) -> str | None:
    """Where what was written parts from what was to be written."""
    try:
        made = written(session, edits, agent, seed=2)
    except CannotWrite:
        return None  # nothing of it is another agent's
    back = read_back(made, agent)
    facts = session.reading.facts if session.adapter.agent == agent else back.reading.facts
    wanted = adapter_of(agent).wire(made.expected, facts)
    assert wanted
    return difference(blocks(wanted), blocks(back.reading.context()))


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_sessions_written_by_every_writer(name: str, shared_data: Path) -> None:
    path = shared_data / name
    session = taken(PurePath(path), path.read_bytes())
    for way, change in WAYS.items():
        edits = change(session)
        for agent in writers():
            assert unlike(session, edits, agent) is None, (way, agent)


@pytest.mark.parametrize("name", RECORDED[:12])
def test_a_session_of_ones_own_is_written_word_for_word(name: str, shared_data: Path) -> None:
    """Claude Code and Codex have a place for everything; nothing is framed, nothing noted but what has no signature any more."""
    path = shared_data / name
    session = taken(PurePath(path), path.read_bytes())
    agent = session.adapter.agent
    if agent not in ("claude-code", "codex") or "branch" in name:
        return
    for change in WAYS.values():
        edits = change(session)
        made = written(session, edits, agent)
        assert made.notes == ()
        assert blocks(read_back(made, agent).reading.context()) == blocks(session.wired(edits))


def test_kept_records_are_their_own_bytes(shared_data: Path) -> None:
    """But for their place in the tree and their session, which are all that changes."""
    path = shared_data / RECORDED[0]
    session = taken(PurePath(path), path.read_bytes())
    was = {json.loads(line).get("uuid"): line for line in session.data.splitlines()}
    made = written(session, folded(session, mask=False), "claude-code")
    own = {"parentUuid", "sessionId", "forkedFrom", "message"}
    kept = 0
    for line in made.files[0].data.splitlines():
        record = json.loads(line)
        before = was.get(record.get("uuid"))
        if before is None or "uuid" not in record:
            continue
        kept += 1
        assert {key: value for key, value in record.items() if key not in own} == {
            key: value for key, value in json.loads(before).items() if key not in own
        }
        content = member(member(line, "message") or b"{}", "content")
        assert content == member(member(before, "message") or b"{}", "content")
    assert kept > 20


# -- sessions that are made up ------------------------------------------------------------------------------------------

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t\u2028 \u00e9\U0001f600"), min_size=1, max_size=40
).filter(lambda words: words.strip() != "" and not words.strip().startswith(("/", "?", "<", "#", "[", "{", "Warning", "Another", "Got it")))  # fmt: skip
TOOLS = st.sampled_from(["shell", "mcp__server__tool", "update"])
ARGUMENTS = st.dictionaries(st.sampled_from(["command", "path", "n"]), WORDS | st.integers(0, 9), max_size=3)


@st.composite
def chats(draw: st.DrawFn) -> bytes:
    """A chat in OpenAI's messages: prompts, answers, calls with their results, several at once."""
    messages: list[dict[str, object]] = []
    calls = 0
    for _ in range(draw(st.integers(1, 5))):
        messages.append({"role": "user", "content": draw(WORDS)})
        for _ in range(draw(st.integers(0, 3))):
            made = []
            for _ in range(draw(st.integers(0, 3))):
                calls += 1
                function = {"name": draw(TOOLS), "arguments": json.dumps(draw(ARGUMENTS))}
                made.append({"id": f"call_{calls}", "type": "function", "function": function})
            said = draw(WORDS) if not made or draw(st.booleans()) else None
            messages.append({"role": "assistant", "content": said} | ({"tool_calls": made} if made else {}))
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": draw(WORDS)} for call in made]
    return json.dumps({"messages": messages}).encode()


@st.composite
def edited(draw: st.DrawFn, session: Taken) -> tuple[object, ...]:
    """A fold of a beginning, or none; masks; insertions of every kind anywhere between whole answers."""
    entries = any(item.seq is not None for item in session.items(session.edits))
    fold = entries and draw(st.booleans())
    edits = list(
        folded(session, upto=draw(st.floats(0.1, 0.9)), file=draw(st.booleans()), mask=False) if fold else session.edits
    )
    left = [item for item in session.items(edits) if item.seq is not None and not item.masked]
    for item in left:
        if item.results and draw(st.booleans()):
            parts = tuple(
                p if p.kind is not PartKind.TOOL_RESULT else type(p)(p.kind, "[out]", p.tool, p.call_id)
                for p in item.parts
            )
            edits.append(Replace(item.seq or 0, parts))
    places = [item.seq for n, item in enumerate(left) if n + 1 == len(left) or left[n + 1].role is Role.USER]
    for seq in places:
        if draw(st.integers(0, 3)) == 0:
            kind = draw(st.sampled_from([InsertKind.FILE, InsertKind.NOTICE, InsertKind.PLAN, InsertKind.MEMORY]))
            edits.append(Insert(seq or 0, Role.USER, kind, text(draw(WORDS)), Ranges()))
    return tuple(edits)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(data=st.data(), chat=chats())
def test_the_law_over_made_up_sessions(data: st.DataObject, chat: bytes) -> None:
    """From a chat to each agent, there changed, and written again as that agent's own and as another's."""
    source = taken(PurePath("chat.json"), chat)
    for agent in ("claude-code", "codex", "gemini-cli", "opencode", "j-cli", "trace", "anthropic", "ai-sdk"):
        made = written(source, (), agent)
        there = read_back(made, agent)
        assert (
            difference(
                blocks(adapter_of(agent).wire(made.expected, there.reading.facts)), blocks(there.reading.context())
            )
            is None
        )
        edits = data.draw(edited(there))
        assert unlike(there, edits, agent) is None, agent
        other = data.draw(st.sampled_from([one for one in writers() if one != agent]))
        assert unlike(there, edits, other) is None, (agent, other)


# -- pieces -------------------------------------------------------------------------------------------------------------

JSON = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8), lambda s: st.lists(s, max_size=3) | st.dictionaries(st.text(max_size=4), s, max_size=3), max_leaves=8)  # fmt: skip


@given(
    st.dictionaries(st.text(max_size=4), JSON, max_size=5),
    st.dictionaries(st.sampled_from(["a", "b", "é"]), st.none() | JSON.map(lambda value: dumps(value)), max_size=3),
    st.booleans(),
)
def test_splicing_changes_the_members_it_names_and_no_others(
    record: dict[str, object], changes: dict[str, bytes | None], spaced: bool
) -> None:
    raw = json.dumps(record, separators=(", ", ": ") if spaced else (",", ":"), ensure_ascii=spaced).encode()
    out = json.loads(spliced(raw, changes))
    wanted = {key: value for key, value in record.items() if changes.get(key, b"") is not None}
    wanted |= {key: json.loads(value) for key, value in changes.items() if value is not None}
    assert out == wanted


def test_names_are_new_and_rise() -> None:
    names = Names(NOW)
    made = [names.uuid7() for _ in range(100)]
    assert made == sorted(set(made))
    assert {len(one) for one in made} == {36}
    assert all(one[14] == "7" for one in made)


def test_tools_are_carried_where_they_have_an_equal() -> None:
    there = carried("Bash", '{"command":"ls -l","description":"list"}', "claude-code", "codex")
    assert there is not None
    assert (there[0], json.loads(there[1])) == ("exec_command", {"cmd": "ls -l", "description": "list"})
    back = carried(*there, "codex", "claude-code")
    assert back is not None
    assert (back[0], json.loads(back[1])) == ("Bash", {"command": "ls -l", "description": "list"})
    old = carried("shell", '{"command":["bash","-lc","ls | wc"]}', "codex", "opencode")
    assert old is not None
    assert json.loads(old[1]) == {"command": "ls | wc"}
    plan = carried("TodoWrite", '{"todos":[{"content":"Map it","status":"pending"}]}', "claude-code", "codex")
    assert plan == ("update_plan", '{"plan":[{"step":"Map it","status":"pending"}]}')
    given_up = '{"todos":[{"content":"Map it","status":"cancelled"}]}'
    assert carried("todowrite", given_up, "opencode", "codex") is None  # which has no such state: told in words
    assert carried("Task", "{}", "claude-code", "codex") is None
    assert carried("Read", "not json", "claude-code", "opencode") is None
    assert arguments("not json") == {"arguments": "not json"}


def test_writers_know_no_framework() -> None:
    """They can be imported and used without Django."""
    code = "import sys; from sessions.writers import writers; writers(); sys.exit('django' in sys.modules)"
    environment = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode == 0


def test_hiding_nothing_but_the_end_needs_no_compaction(shared_data: Path) -> None:
    """A rollback alone is written as what is left, without a mark of a compaction."""
    path = shared_data / RECORDED[8]
    session = taken(PurePath(path), path.read_bytes())
    edits = rolled_back(session)
    assert isinstance(edits[0], Hide)
    assert b'"compacted"' not in written(session, edits, "codex").files[0].data
