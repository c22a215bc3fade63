"""The agent's own versions: what it compacted, masked, rewound and listed again. The same logs are put to the agent itself."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pytest

from sessions.adapters.gemini_cli import ADAPTER
from sessions.assembly import Reading, read_whole
from sessions.contexts import Hide, Insert, InsertKind, Replace
from sessions.entries import Kind
from tests.adapters.gemini_cli.build import (
    asked,
    call,
    compacted,
    data,
    environment,
    head,
    model,
    note,
    relisted,
    response,
    rewind,
    snapshot,
    thought,
    tokens,
    user,
)

PATH = PurePath("/home/quill/.gemini/tmp/quill/chats/session-2026-11-30T02-00-5f0c7c1e.jsonl")
RUN = "run_shell_command"
MASK = "<tool_output_masked>\n[head]\nfull output in /tmp/x.txt\n</tool_output_masked>"


def step(name: str, text: str, *calls: Any, n: int = 0) -> list[Any]:
    """An answer as the log has it: first its words, then the same message with its calls, then what came back."""
    first = model(name, text, n, thoughts=[thought("On", f"about {name}")], tokens=tokens(100, 10, 40, 5))
    if not calls:
        return [first]
    whole = {**first, "toolCalls": list(calls)}
    said = [part for made in calls for part in made.get("result") or []]
    return [first, whole, user(f"{name}-back", said, n)] if said else [first, whole]


def laid_out(name: str, text: str, *calls: Any) -> Any:
    """The same answer as a list has it."""
    parts = [{"text": f"**On** about {name}", "thought": True}, {"text": text}]
    return model(name, parts + [asked(made["id"], made["name"], made["args"]) for made in calls])


LS = call(f"{RUN}__c1", RUN, {"command": "ls"}, "a b c")
CAT = call(f"{RUN}__c2", RUN, {"command": "cat a"}, "long " * 50)
FIRST = [user("u1", "look around"), *step("g1", "Looking.", LS), *step("g2", "Three files.")]
SECOND = [user("u2", "show a"), *step("g3", "Showing.", CAT), *step("g4", "It is long.")]

TABLE: dict[str, tuple[list[Any], list[str]]] = {
    "nothing happened": ([*FIRST, *SECOND], []),
    "surroundings first": ([relisted(environment()), *FIRST], []),
    "a rewind to a prompt": ([*FIRST, *SECOND, rewind("u2")], ["rewind"]),
    "a rewind to the message of results": ([*FIRST, rewind("g1-back")], ["rewind"]),
    "a rewind, and on": ([*FIRST, *SECOND, rewind("u2"), user("u3", "show b")], ["rewind"]),
    "a rewind to nothing known": ([*FIRST, rewind("nobody"), user("u3", "begin again")], ["rewind"]),
    "two rewinds": ([*FIRST, *SECOND, rewind("g4"), user("u3", "x"), rewind("u2"), user("u4", "y")], ["rewind"] * 2),
    "a compaction that keeps nothing": ([*FIRST, compacted("s1", "looked"), *SECOND], ["compaction"]),
    "a compaction that keeps a tail under new ids": (
        [
            *FIRST,
            *SECOND,
            compacted(
                "s1",
                "looked",
                user("k1", "show a"),
                model("k2", [{"text": "Showing. "}, asked(f"{RUN}__c2", RUN, {"command": "cat a"})]),
                user("k3", CAT["result"]),
                model("k4", [{"text": "It is long."}]),
            ),
            user("u3", "and b"),
        ],
        ["compaction"],
    ),
    "a compaction in the middle of a turn": (
        [
            *FIRST,
            user("u2", "show a"),
            *step("g3", "Showing.", CAT)[:2],
            compacted("s1", "looked", user("k1", "show a"), laid_out("k2", "Showing.", CAT)),
            user("g3-back", CAT["result"]),
            *step("g4", "It is long."),
        ],
        ["compaction"],
    ),
    "a compaction of a compaction": (
        [
            *FIRST,
            compacted("s1", "looked"),
            *SECOND,
            compacted("s2", "looked and showed", user("k1", "show a"), laid_out("k2", "Showing.", CAT), user("k3", CAT["result"])),
            user("u3", "on"),
        ],
        ["compaction", "compaction"],
    ),
    "a summary listed again is not another compaction": (
        [
            *FIRST,
            compacted("s1", "looked"),
            user("u2", "on"),
            relisted(environment(), snapshot("s1", "looked"), model("s1-ack", "Got it. Thanks for the additional context!"), user("u2", "on")),
            *step("g3", "Yes."),
        ],
        ["compaction"],
    ),
    "equal prompts: the tail is the last of them": (
        [
            user("u1", "go on"),
            *step("g1", "One."),
            user("u2", "go on"),
            *step("g2", "Two."),
            compacted("s1", "one", user("k1", "go on"), model("k2", [{"text": "Two."}])),
        ],
        ["compaction"],
    ),
    "a resume in the same minute": (
        [
            relisted(environment()),
            *FIRST,
            head(),
            relisted(environment("/work/quill2")),
            {"$set": {"sessionId": "x"}},
            relisted(
                environment("/work/quill2"),
                user("u1", "look around"),
                laid_out("g1", "Looking.", LS),
                user("g1_response", LS["result"]),
                user("g1-back", LS["result"]),
                laid_out("g2", "Three files."),
            ),
            *SECOND,
        ],
        ["replacement"],
    ),
    "an output masked in its message": (
        [
            *FIRST,
            *SECOND,
            relisted(
                user("u1", "look around"),
                model("g1", "Looking.", toolCalls=[{**LS, "result": [response(LS["id"], RUN, MASK)]}]),
                user("g1-back", [response(LS["id"], RUN, MASK)]),
                laid_out("g2", "Three files."),
                user("u2", "show a"),
                laid_out("g3", "Showing.", CAT),
                user("g3-back", CAT["result"]),
                laid_out("g4", "It is long."),
            ),
        ],
        ["microcompaction"],
    ),
    "an output masked where messages are written again": (
        [
            user("u1", "look around"),
            model("g1", "Looking.", toolCalls=[LS]),
            *step("g2", "Three files."),
            model("g1", "Looking.", toolCalls=[{**LS, "result": [response(LS["id"], RUN, MASK)]}]),
        ],
        ["microcompaction"],
    ),
    "an unanswered turn taken back": (
        [*FIRST, user("u2", "never mind"), relisted(user("u1", "look around"), laid_out("g1", "Looking.", LS), user("g1-back", LS["result"]), laid_out("g2", "Three files."))],
        ["cut"],
    ),
    "a message that says something else": ([*FIRST, model("g2", "Four files."), user("u2", "sure?")], ["replacement"]),
    "a message that says something else, and later more of it": (
        [user("u1", "look"), model("g1", "Hm."), model("g1", "Looking."), user("u2", "quick"), step("g1", "Looking.", LS)[1], user("u3", "so?")],
        ["replacement", "replacement"],
    ),
    "a prompt that says something else": ([user("u1", "first"), *step("g1", "Yes."), user("u1", "other")], ["replacement"]),
    "an empty list": ([*FIRST, relisted(), user("u2", "anew")], ["cut"]),
    "another order": (
        [user("u1", "one"), *step("g1", "1"), user("u2", "two"), *step("g2", "2"), relisted(user("u2", "two"), model("g2", "2"), user("u1", "one"), model("g1", "1"))],
        ["replacement"],
    ),
    "words between an answer and its calls": (
        [user("u1", "look"), *step("g1", "Looking.", LS)[:1], user("u2", "quick"), step("g1", "Looking.", LS)[1], *step("g2", "Done.")],
        [],
    ),
    "an import's history in its head": ([head(messages=[user("u1", "of old"), model("g1", "Yes.")]), user("u2", "and now")], ["replacement"]),
    "results that end it": ([user("u1", "look"), *step("g1", "Looking.", LS)], []),
    "a call that never came back": ([user("u1", "look"), model("g1", "", toolCalls=[call("c9", RUN, {}, status="executing")])], []),
    "what is not sent": (
        [note("n1", "hello"), user("u1", "/help"), user("u2", "?what"), user("u3", "<hook_context>x</hook_context>"), user("u4", "go"),
         model("g1", "", thoughts=[thought("Hm", "only thoughts")]), model("g2", "Yes."), note("n2", "quota", "error")],
        [],
    ),
    "content in every form": (
        [user("u1", "plain"), {**user("u2", []), "content": "a string"}, {**user("u3", []), "content": {"text": "one part"}},
         user("u4", ["strings ", {"text": "and parts"}]),
         user("u5", [{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]),
         model("g1", [{"text": "I see."}, {"executableCode": {"language": "PYTHON", "code": "1"}}])],
        [],
    ),
    "results in every form": (
        [user("u1", "go"),
         model("g1", "On it.", toolCalls=[
             {**call("c1", "one", {}), "result": "a bare string"},
             {**call("c2", "two", {}), "result": response("c2", "two", "an object")},
             call("c3", "three", {"a": [1, {"b": None}]}, [response("c3", "three", "broke", key="error")], status="error"),
             call("c4", "four", {}, [{"functionResponse": {"id": "c4", "name": "four", "response": {"rows": [1, 2], "n": 2}}}]),
             call("c5", "five", {}, [response("c5", "five", "a picture"), {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]),
         ]), model("g2", "Done.")],
        [],
    ),
    "calls without ids": (
        [user("u1", "go"), model("g1", [{"functionCall": {"name": "one", "args": {}}}]), user("u2", [{"functionResponse": {"name": "one", "response": {"output": "1"}}}]), model("g2", "Done.")],
        [],
    ),
}  # fmt: skip


def read(records: list[Any]) -> Reading:
    return read_whole(ADAPTER, PATH, [(data(head(), *records), False)])


@pytest.mark.parametrize("name", TABLE)
def test_the_versions_of_a_log(name: str) -> None:
    records, kinds = TABLE[name]
    assert [version.kind for version in read(records).versions] == kinds


def words(reading: Reading) -> list[str]:
    return [
        part.text for item in reading.context() for part in item.parts if part.kind.value in ("text", "tool_result")
    ]


def test_a_kept_tail_is_the_entries_themselves() -> None:
    reading = read(TABLE["a compaction that keeps a tail under new ids"][0])
    (version,) = reading.versions
    summary, thanks = (edit for edit in version.edits if isinstance(edit, Insert) and edit.label != "surroundings")
    assert (summary.kind, thanks.kind, thanks.text) == (
        InsertKind.SUMMARY,
        InsertKind.MESSAGE,
        "Got it. Thanks for the additional context!",
    )
    hidden = next(edit.ranges for edit in version.edits if isinstance(edit, Hide))
    first_kept = next(p.seq for p in reading.placed if p.entry.native_id == "u2")
    assert {p.seq for p in reading.placed if p.entry.sent and p.seq in hidden} == {
        p.seq for p in reading.placed if p.entry.sent and p.seq < first_kept
    }
    assert summary.stands_for == hidden
    assert summary.after == first_kept - 1
    assert words(reading)[-5:] == [
        "show a",
        "Showing.",
        CAT["result"][0]["functionResponse"]["response"]["output"],
        "It is long.",
        "and b",
    ]


def test_a_mask_is_a_replacement_of_that_entry_alone() -> None:
    reading = read(TABLE["an output masked in its message"][0])
    (version,) = reading.versions
    (edit,) = version.edits
    assert isinstance(edit, Replace)
    entry = next(p for p in reading.placed if p.seq == edit.seq).entry
    assert entry.call_ids == ("c1",)
    assert [part.text for part in edit.parts] == ['{"command":"ls"}', MASK]
    assert version.facts["masked"] == 1
    assert "a b c" not in words(reading)
    assert MASK in words(reading)


def test_before_a_compaction_the_whole_history_is_there() -> None:
    """The versions say what was sent at any time: as of the first, the summary of the second is not known."""
    reading = read(TABLE["a compaction of a compaction"][0])
    first, second = reading.versions
    said = [edit.text for edit in first.edits if isinstance(edit, Insert)]
    assert any("looked<" in text for text in said)
    assert not any("looked and showed" in text for text in said)
    assert any("looked and showed" in edit.text for edit in second.edits if isinstance(edit, Insert))
    assert not any("looked<" in edit.text for edit in second.edits if isinstance(edit, Insert))


def test_an_answer_is_in_the_log_once_however_often_it_is_written() -> None:
    reading = read([*FIRST, *SECOND])
    sent = [p for p in reading.placed if p.entry.sent]
    assert [p.entry.kind for p in sent] == [
        Kind.PROMPT, Kind.MESSAGE, Kind.TOOL_CALL, Kind.MESSAGE, Kind.PROMPT, Kind.MESSAGE, Kind.TOOL_CALL, Kind.MESSAGE,
    ]  # fmt: skip
    assert words(reading).count("Looking.") == 1
    assert words(reading).count("a b c") == 1
    assert len(reading.steps) == 4
    assert sum(step.usage.output or 0 for step in reading.steps if step.usage) == 4 * 15


def test_thoughts_are_kept_and_not_sent() -> None:
    reading = read(FIRST)
    assert "**On** about g1" in [part.text for p in reading.placed for part in p.entry.parts]
    assert not any(part.kind.value == "reasoning" for item in reading.context() for part in item.parts)


def test_tokens_are_kept_through_a_history_listed_again() -> None:
    """A list drops every figure; the log had them."""
    records = TABLE["a resume in the same minute"][0]
    assert [step.usage.prompt for step in read(records).steps if step.usage] == [100] * 4
