"""UniversalAIClient: AI SDK Core messages whose summary is told from a message, and whose cut is mended when sent."""

from __future__ import annotations

import json
from pathlib import PurePath

import pytest

from sessions.adapters import adapters
from sessions.adapters.universal import ADAPTER
from sessions.assembly import read_whole
from sessions.contexts import unpaired
from sessions.entries import Kind

FILE = PurePath("history.json")
SUMMARY = "[对话历史摘要]\n\n对话摘要：用户要求解释 calc.py"
CALL = {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c2", "toolName": "ls", "args": {}}]}
CUT = {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "ls", "result": "a"}]}


@pytest.mark.parametrize("role", ["user", "system", "assistant"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_the_summary_is_a_version_and_no_turn(role: str, wrapped: bool) -> None:
    messages = [
        {"role": role, "content": SUMMARY},
        {"role": "user", "content": "继续"},
        {"role": "assistant", "content": "好"},
    ]
    data = json.dumps({"messages": messages} if wrapped else messages, ensure_ascii=False).encode()
    assert [agent for agent, adapter in adapters().items() if adapter.claim(FILE, data)] == ["universal"]
    reading = read_whole(ADAPTER, FILE, [(data, False)])
    assert [placed.entry.kind for placed in reading.placed[1:]] == [Kind.SUMMARY, Kind.PROMPT, Kind.MESSAGE]
    assert [(version.kind, version.at_seq, version.edits) for version in reading.versions] == [("compaction", 1, ())]
    assert reading.placed[-1].turn == 1
    assert len([item for item in reading.context() if item.text]) == 3


def test_what_the_cut_tore_apart_is_not_sent() -> None:
    messages = [{"role": "user", "content": SUMMARY}, CUT, CALL, {"role": "user", "content": "继续"}]
    reading = read_whole(ADAPTER, FILE, [(json.dumps(messages, ensure_ascii=False).encode(), False)])
    assert unpaired(reading.items()) == (["c2"], ["c1"])
    assert unpaired(reading.context()) == ([], [])
    assert [item.text for item in reading.context()] == [SUMMARY, "继续"]


def test_without_a_summary_it_is_a_file_of_the_ai_sdk() -> None:
    data = json.dumps([{"role": "user", "content": "Hi"}, CALL]).encode()
    assert ADAPTER.claim(FILE, data) is None
