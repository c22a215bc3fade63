"""From a document to its records: all of them, in the agent's order, with their own bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessions.adapters.base import Line
from sessions.adapters.opencode.documents import records
from sessions.entries import Kind
from tests.adapters.opencode import shapes
from tests.adapters.opencode.build import Session, finish, read, start, text, tokens, tool


def kinds(data: bytes) -> list[str]:
    return [label(json.loads(line.raw)) for line in records(data)]


def label(record: Any) -> str:
    if isinstance(record, list):
        return "list"
    found: str = (
        record.get("role") or record.get("type") or record.get("status") or ("tokens" if "cache" in record else "info")
    )
    return found


def small() -> Session:
    out = Session()
    out.user(text("hello"))
    out.assistant(start(), text("hi"), tool("call_1"), finish())
    return out


def test_each_record_is_where_it_says() -> None:
    for data in (small().data(), json.dumps(json.loads(small().data()), indent=2).encode()):
        for line in records(data):
            assert data[line.offset : line.offset + line.length] == line.raw
            assert line.ended
    assert kinds(small().data()) == [
        "info", "user", "text", "assistant", "step-start", "text", "tool", "completed", "step-finish",
    ]  # fmt: skip


def test_a_message_without_steps_has_its_own_figures() -> None:
    out = Session()
    out.assistant(text("hi"), tokens=tokens(3, 4))
    assert kinds(out.data()) == ["info", "assistant", "tokens", "text"]
    reading = read(out.data())
    assert [step.usage.fresh for step in reading.steps if step.usage] == [3]


def test_order_is_of_time_then_id_and_of_part_ids() -> None:
    straight, mixed = shapes.two_compactions(), shapes.out_of_order()
    assert [line.raw for line in records(straight.data())] == [line.raw for line in records(mixed.data())]


def test_order_is_the_documents_where_times_are_missing() -> None:
    out = small()
    for message in out.messages:
        del message["info"]["time"]
    out.messages.reverse()
    assert kinds(out.data())[1:3] == ["assistant", "step-start"]


def test_the_flat_form_of_shared_sessions_gives_the_same_records() -> None:
    whole = json.loads(small().data())
    flat = [{"type": "session", "data": whole["info"]}]
    for message in reversed(whole["messages"]):
        flat += [{"type": "part", "data": part} for part in reversed(message["parts"])]
        flat.append({"type": "message", "data": message["info"]})
    assert kinds(json.dumps(flat).encode()) == kinds(small().data())


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_torn_document_keeps_what_is_whole_and_says_what_is_not(cut: int) -> None:
    data = small().data()
    stop = len(data) * cut // 40
    lines = list(records(data[:stop]))
    whole = {line.raw for line in records(data)}
    # a message that broke off before its step was done is one without steps: its own figures are a record then
    assert all(line.raw in whole or label(json.loads(line.raw)) == "tokens" for line in lines[:-1])
    assert lines[-1].offset + lines[-1].length == stop
    assert read(data[:stop]).placed[-1].entry.kind is Kind.MALFORMED


def test_what_follows_the_document_is_said() -> None:
    lines = list(records(small().data() + b"\nnoise"))
    assert lines[-1] == Line(len(small().data()) + 1, b"noise", False, len(lines), span=5)


def test_nothing_at_all_is_nothing() -> None:
    assert list(records(b"")) == []
    assert list(records(b" \n")) == []


def test_records_of_recordings_cover_the_document(shared_data: Path) -> None:
    for path in sorted((shared_data / "opencode").glob("*.json")):
        data = path.read_bytes()
        whole = json.loads(data)
        found = [line for line in records(data) if data[line.offset - 1 : line.offset] != b"\0"]
        ids = [json.loads(line.raw).get("id") for line in found]
        wanted = [whole["info"]["id"]]
        for message in whole["messages"]:
            wanted += [message["info"]["id"], *(part["id"] for part in message["parts"])]
        assert sorted(filter(None, ids)) == sorted(wanted), path.name
