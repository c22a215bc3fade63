"""Claude Code itself, resumed on recorded and generated sessions, sends what we say it would: block for block.

What is tolerated is named in TOLERATED and RESUMING, with the reason; everything else is a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import pytest

from sessions.adapters.claude_code import ADAPTER
from sessions.assembly import read_whole
from tests.adapters.claude_code.build import SESSION, Transcript, call, text, uid
from tests.adapters.resume import Answer, Rule, Sent, ask, differences, flatten, joined

pytestmark = pytest.mark.resume

TOLERATED = [
    Rule(
        "foreign reasoning",
        "the harness resumes with a model of its own choice, and thinking signed for another model is dropped; with the session's own "
        "model it is sent, so we keep it",
        lambda block: None if block.kind == "reasoning" else block,
    ),
    Rule(
        "joined texts",
        "neighbouring texts of one message get a line end between them, which the harness prints with the first",
        lambda block: replace(block, text=block.text.rstrip("\n")) if block.kind in ("text", "context") else block,
    ),
    Rule(
        "renamed tool",
        "version 2.1.332 sends recorded calls of the tool Task under its new name",
        lambda block: replace(block, tool="Agent") if block.tool == "Task" else block,
    ),
]
FILLER = "No response requested."
ATTRIBUTION = "<system-reminder>\nAttribution for git commits and pull requests"


def resuming(history: list[Sent], ours: list[Sent]) -> tuple[list[Sent], Counter[str]]:
    """The history without what the agent adds at its end because it is resumed.

    "attribution": its reminder of how to sign commits, said anew before the prompt. "filler": an answer in its own words where the
    session ended with the user's turn, so that the prompt does not follow another.
    """
    left, added = list(history), Counter[str]()
    if left and left[-1].text.startswith(ATTRIBUTION):
        left.pop()
        added["attribution"] += 1
    if left and (left[-1].role, left[-1].text) == ("assistant", FILLER) and (not ours or ours[-1].text != FILLER):
        left.pop()
        added["filler"] += 1
    return left, added


def compare(answer: Answer, path: PurePath, data: bytes) -> None:
    ours = joined(flatten(read_whole(ADAPTER, path, [(data, False)]).context()))
    agents, added = resuming(answer.history, ours)
    outcome = differences(ours, agents, TOLERATED)
    assert not outcome.left, "\n".join([f"tolerated: {dict(outcome.tolerated)} {dict(added)}", *outcome.left])


# Era, file, and what it shows.
RECORDED = [
    ("1.0", "claude-code/cli-1.0.100/3b56a1bc-f01d-48b7-b65d-b0310d187d35.jsonl", "a first turn with two calls"),
    (
        "1.0",
        "claude-code/cli-1.0.100/0bc147fd-1136-4437-8771-89dcf3070dc2.jsonl",
        "a copy continued, with an inline sub-agent",
    ),
    ("1.0", "claude-code/cli-1.0.100/435ebb80-9e4a-4279-bcd9-8a666771a696.jsonl", "a copy of a copy"),
    ("1.0", "claude-code/ccl-todowrite_examples.jsonl", "records without message ids"),
    ("2.0", "claude-code/cli-2.0.30/29e971bc-cd0b-4d32-a1dd-c2e31ad33289.jsonl", "compaction, chained results"),
    ("2.1.1", "claude-code/entire-8c-fa910f8ef9-5.jsonl", "a conversation begun anew in one file"),
    ("2.1.1", "claude-code/entire-37-995ebed6e4-3.jsonl", "plans accepted with a cleared context"),
    ("2.1.4", "claude-code/entire-4c-02af2759b6-0.jsonl", "an interrupted call at the end"),
    (
        "2.1.5",
        "claude-code/entire-4f-7199a81bd1-0.jsonl",
        "a provider's error, parallel calls with results out of order",
    ),
    ("2.1.5", "claude-code/entire-b0-2936744f3b-0.jsonl", "29 retries, two compactions, an interrupted turn"),
    ("2.1.7", "claude-code/entire-cd-95adddad32-0.jsonl", "three compactions"),
    ("2.1.7", "claude-code/entire-1e-0baf6917ea-0.jsonl", "two compactions and a todo list"),
    ("2.1.20", "claude-code/entire-25-730c662552-0.jsonl", "micro-compaction before compaction"),
    ("2.1.20", "claude-code/entire-33-b1e1e1b51d-0.jsonl", "micro-compaction before compaction, the shorter copy"),
    (
        "2.1.20",
        "retention/0cd9edf7-459c-4900-af40-cf2c64dea525.jsonl",
        "micro-compaction alone: whole again on resuming",
    ),
    ("2.1.20", "retention/839b35f7-4dbd-4d93-9772-3c272cc87caa.jsonl", "micro-compaction alone, in a longer session"),
    ("2.1.29", "claude-code/entire-00-c9e2351016-0.jsonl", "skills, commands, progress in the chain"),
    ("2.1.29", "claude-code/entire-00-c9e2351016-2.jsonl", "a parent that is not in the file"),
    ("2.1.29", "claude-code/entire-26-dcd5518fea-0.jsonl", "history lost behind a lost record"),
    ("2.1.29", "retention/70c88cff-cb35-404f-a974-2a08bab4e4bc.jsonl", "a lost parent reached over progress records"),
    ("2.1.29", "retention/056d2eda-6037-4f4f-a98d-f2f78f650be4.jsonl", "calls that stream on while results come in"),
    ("2.1.29", "retention/2956cee6-6153-4ba6-ba24-3b7f3257549c.jsonl", "a person's words beside a result"),
    ("2.1.32", "claude-code/entire-ad-a8171575ce-0.jsonl", "a pasted image, blank texts"),
    ("2.1.33", "retention/03a1382e-ecd5-42c4-b3d4-5c659e165904.jsonl", "a resume that left a branch, then compaction"),
    ("2.1.37", "retention/545b45d4-729e-4d0b-8e6b-45cb65d43f00.jsonl", "compaction and parallel calls"),
    ("2.1.42", "retention/847ff7d2-4a55-44d7-a3f5-a3afd89f1ee1.jsonl", "compaction"),
    ("2.1.50", "claude-code/cli-2.1.50/62d3b34c-5e7c-4dfb-b749-37cc1002a138.jsonl", "compaction by command, fan-out"),
    (
        "2.1.150",
        "claude-code/cli-2.1.150/462bdfea-6b4c-4297-bf3a-66a939e65114.jsonl",
        "compaction, attachments rendered anew",
    ),
    (
        "2.1.332",
        "claude-code/cli-2.1.332/65e79247-f71d-413c-91f7-0af15eac7c6f.jsonl",
        "preserved messages, rendered reminders",
    ),
    (
        "2.1.332",
        "claude-code/cli-2.1.332-tui/44b37b18-5069-4907-9b9a-2730f06613c8.jsonl",
        "rewind, summarised from here, rename",
    ),
    ("2.1.332", "claude-code/cli-2.1.332-tui/c14ddd6e-939c-4273-9b8e-6c15883c02aa.jsonl", "after /clear"),
    (
        "2.1.332",
        "claude-code/cli-2.1.332-overflow/8efda5a4-9210-47d3-a892-752c314b192f.jsonl",
        "output kept in a file beside",
    ),
    (
        "2.1.332",
        "claude-code/cli-2.1.332-big/01e68fc4-4d71-481e-bb3f-e43df40bb2a7.jsonl",
        "8.9 MB, preserved messages, 40 parallel calls",
    ),
]


@pytest.mark.parametrize(("era", "file", "shows"), RECORDED, ids=lambda value: str(value).rsplit("/", 1)[-1][:40])
def test_a_recorded_session(shared_data: Path, era: str, file: str, shows: str):
    session = shared_data / file
    if not session.is_file():
        pytest.skip(f"{file} is not among the recorded sessions")
    answer = ask("claude-code", session, shared_data.parent)
    assert answer.verdict == "resumed", answer.reason
    compare(answer, session, session.read_bytes())


# -- generated: one question each -------------------------------------------------------------------------------------


def talk(turns: int = 3) -> Transcript:
    t = Transcript()
    for n in range(turns):
        t.prompt(f"P{n}")
        t.answer(text(f"A{n}"))
    return t


def branched(**bookmark: Any) -> Transcript:
    t = talk()
    t.prompt("other way", parent=uid("r2"))
    t.answer(text("B"))
    if bookmark:
        t.loose("last-prompt", lastPrompt="x", **bookmark)
    return t


def kept(names: list[str], anchor: int, *then: str, turns: int = 3, **prompt: Any) -> Transcript:
    t = talk(turns)
    ids = [uid(name) for name in names]
    t.compaction(preservedMessages={"anchorUuid": uid(f"r{t.count + anchor}"), "uuids": ids, "allUuids": ids})
    for words in then:
        t.prompt(words, **prompt)
        t.answer(text(f"to {words}"))
    return t


def more(t: Transcript, *prompts: str, **fields: Any) -> Transcript:
    for words in prompts:
        t.prompt(words, **fields)
        t.answer(text(f"to {words}"))
    return t


def compacted() -> Transcript:
    t = talk()
    t.compaction()
    return more(t, "after")


def large() -> Transcript:
    t = talk()
    t.prompt("x" * 5_400_000)
    t.compaction()
    return more(t, "after")


def phantom(seconds: float) -> Transcript:
    t = talk(1)
    t.seconds = seconds
    return more(t, "near", parent=uid("nowhere"))


def with_calls(*results: str, then: str | None = None) -> Transcript:
    t = talk(1)
    t.prompt("do")
    lines = t.answer(text("w"), call("Bash", "c1", command="a"), text("x"), call("Bash", "c2", command="b"))
    for one in results:
        t.result(one, f"out of {one}", parent=lines[1 if one == "c1" else 3])
    return more(t, then) if then else t


def with_reminders() -> Transcript:
    t = with_calls("c2", "c1")

    def remind(words: str, role: str) -> None:
        content = f"<system-reminder>\n{words}\n</system-reminder>"
        t.add("attachment", attachment={"type": "anything"}, rendered=[{"content": content}], renderedRole=role)

    remind("U1", "user")
    remind("S1", "system")
    t.answer(text("ok"))
    t.prompt("more")
    remind("S2", "system")
    remind("U2", "user")
    t.prompt("and more")
    t.answer(text("ok"))
    return t


def with_queue() -> Transcript:
    t = with_calls("c1", "c2")
    t.add("attachment", attachment={"type": "queued_command", "prompt": "also this", "commandMode": "prompt"})
    t.answer(text("ok"))
    return more(t, "<task-notification>x</task-notification>", origin={"kind": "task-notification"})


GENERATED: dict[str, Callable[[], Transcript]] = {
    "rewind": branched,
    "bookmark on another branch": lambda: branched(leafUuid=uid("r6")),
    "bookmark on another branch, then more": lambda: more(branched(leafUuid=uid("r6")), "more"),
    "bookmark above the tail": lambda: branched(leafUuid=uid("r2")),
    "explicit bookmark above the tail": lambda: branched(leafUuid=uid("r2"), explicit=True),
    "explicit bookmark above the tail, then more": lambda: more(branched(leafUuid=uid("r2"), explicit=True), "more"),
    "bookmark of an unknown record": lambda: branched(leafUuid=uid("nowhere"), explicit=True),
    "bookmark before a boundary": lambda: more(compacted(), "x"),
    "back before a compaction": lambda: more(compacted(), "back", parent=uid("r2")),
    "preserved": lambda: kept(["r5", "r6"], 2, "after"),
    "preserved, nothing after": lambda: kept(["r5", "r6"], 2),
    "preserved, one id unknown": lambda: kept(["r5", "nowhere"], 2, "after"),
    "preserved before the summary": lambda: kept(["r1", "r2"], 1, "after"),
    "preserved, back to what was not": lambda: more(kept(["r5", "r6"], 2, "after"), "back", parent=uid("r2")),
    "larger than 5 MiB": large,
    "larger than 5 MiB, back before the boundary": lambda: more(large(), "back", parent=uid("r2")),
    "parent missing, 4.9 s": lambda: phantom(4.9),
    "parent missing, 5.1 s": lambda: phantom(5.1),
    "begun anew": lambda: more(talk(2), "fresh", parent=None),
    "results out of order": lambda: with_calls("c2", "c1", then="more"),
    "a call open at the end": lambda: with_calls("c1"),
    "two calls open at the end": with_calls,
    "a call open in the middle": lambda: with_calls("c1", then="more"),
    "reminders": with_reminders,
    "queued words and a notice": with_queue,
}


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_session(shared_data: Path, tmp_path: Path, name: str):
    session = tmp_path / f"{SESSION}.jsonl"
    session.write_bytes(GENERATED[name]().bytes)
    answer = ask("claude-code", session, shared_data.parent)
    assert answer.verdict == "resumed", answer.reason
    compare(answer, session, session.read_bytes())


def test_a_session_wound_back_to_its_start_is_resumed_empty(shared_data: Path, tmp_path: Path):
    transcript = branched(leafUuid=None, explicit=True)
    session = tmp_path / f"{SESSION}.jsonl"
    session.write_bytes(transcript.bytes)
    assert ask("claude-code", session, shared_data.parent).verdict == "empty"
    assert transcript.read().context() == []
