"""Logs that say different things under one id, again and again: the context is still what a plain replay of the log sends."""

from __future__ import annotations

import json
from pathlib import PurePath

from hypothesis import given, note, settings

from sessions.adapters.gemini_cli import ADAPTER
from sessions.assembly import read_whole
from tests.adapters.gemini_cli import build, replay
from tests.adapters.gemini_cli.test_laws import LOGS, without_results
from tests.adapters.resume import differences, flatten
from tests.adapters.test_gemini_cli_resume import RULES

PATH = PurePath("/home/quill/.gemini/tmp/quill/chats") / build.NAME


@settings(max_examples=250, deadline=None)
@given(found=LOGS)
def test_the_last_word_under_an_id_holds(found: list[build.Record]) -> None:
    whole = [build.head(), *found]
    note(json.dumps(found))
    expected = replay.blocks(replay.live(whole))
    ours = flatten(read_whole(ADAPTER, PATH, [(build.data(*whole), False)]).context())
    assert differences(without_results(ours), without_results(expected), RULES).left == []
    answered = {block.call_id for block in ours if block.kind == "tool_result"}
    assert {block.call_id for block in expected if block.kind == "tool_result"} <= answered
