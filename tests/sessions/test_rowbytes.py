"""Rows that are made in the database's own form hold what the values say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from sessions.adapters.base import Line
from sessions.assembly import Assembly
from sessions.entries import Entry, Kind, Part, PartKind, Role
from sessions.models import Session
from sessions.packing import unpack
from sessions.store import copy_entries
from tests.factories import a_session, prompt
from webapp.models import Workspace

pytestmark = pytest.mark.django_db

AWKWARD = "NUL \x00, half a pair \ud83d, 日本, \U0001f600"
CLEAN = "NUL \u2400, half a pair ?, 日本, \U0001f600"


def test_every_value_comes_back_as_it_was() -> None:
    session = a_session(Workspace.objects.create(slug="rows", name="rows"), [prompt("Begin.")])
    there = session.entries.count()
    when = datetime(1969, 7, 20, 20, 17, 40, 123_456, tzinfo=timezone(timedelta(hours=-4)))
    given = [
        Entry(Kind.META),
        Entry(
            Kind.TOOL_CALL, Role.ASSISTANT, (Part(PartKind.TOOL_CALL, "{}", "Bash", "call_1"), Part(PartKind.TEXT, "日本")),
            native_id=AWKWARD, native_parent="p", at=when, sent=True, step_key="s", response_id="r", link={"t": AWKWARD}, problem="",
        ),
        Entry(Kind.TOOL_RESULT, Role.TOOL, (Part(PartKind.TOOL_RESULT, "no", call_id="call_1", is_error=True),), lane="l\x00"),
        Entry(Kind.PROMPT, Role.USER, (Part(PartKind.TEXT, "x" * 5_000),), at=datetime.max.replace(tzinfo=UTC), opens_turn=True),
    ]  # fmt: skip
    assembly = Assembly(next_seq=there)
    line = Line((1 << 40) + 7, b"four", True)
    copy_entries(session.pk, session.source_id, [assembly.place(entry, line, copied=True) for entry in given])
    meta, call, result, asked = session.entries.filter(seq__gte=there).order_by("seq")
    for row, entry in zip((meta, call, result, asked), given, strict=True):
        assert (row.kind, row.role, unpack(row.parts)) == (entry.kind, entry.role, entry.parts)
        assert (row.sent, row.opens_turn, row.copied) == (entry.sent, entry.opens_turn, True)
        assert (row.byte_offset, row.byte_length, row.source_id) == ((1 << 40) + 7, 5, session.source_id)
    assert (meta.turn, meta.step, meta.native_id, meta.at, meta.link, meta.problem) == (None,) * 6
    assert (call.native_id, call.link, call.problem) == (CLEAN, {"t": CLEAN}, "")
    assert (call.native_parent, call.response_id, call.call_ids, call.tool) == ("p", "r", ["call_1"], "Bash")
    assert (call.at, call.step, call.text) == (when, 1, "{}\n日本")
    assert (call.chars, call.utf8, call.ascii) == (4 + 2 + 2, 4 + 2 + 6, 4 + 2)
    assert (result.is_error, result.lane) == (True, "l\u2400")
    assert (asked.at, asked.text) == (datetime.max.replace(tzinfo=UTC), "x" * 4_000)
    assert Session.objects.get(pk=session.pk).entries.count() == there + 4
