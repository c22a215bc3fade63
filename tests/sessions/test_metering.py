"""Every meter at a place, and the weight learned on the way there."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions import versions
from sessions.answers import meters_of
from sessions.contexts import Hide, Insert, InsertKind, Replace
from sessions.entries import Part, PartKind, Role
from sessions.ingest import take_file
from sessions.measuring import measured
from sessions.metering import contexts_at, metered, weight_at
from sessions.meters import by_id, meters
from sessions.meters.adaptive import learned
from sessions.models import Session
from sessions.projection import version_at
from sessions.ranges import Ranges
from tests.claude_lines import ClaudeLines, turns
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


def taken(folder: Path, made: ClaudeLines) -> Session:
    workspace = Workspace.objects.get_or_create(name="Scriptorium", slug="scriptorium")[0]
    path = folder / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(bytes(made))
    return Session.objects.get(pk=take_file(workspace, path).session)


def compacted() -> ClaudeLines:
    made = turns(5)
    made.compact("Five parts were read, 五つ, and print their numbers.")
    return turns(4, made)


def test_the_context_in_front_of_each_step_is_that_of_its_version(tmp_path):
    session = taken(tmp_path, compacted())
    firsts = list(session.steps.order_by("n").values_list("first_seq", flat=True))
    for name in ("gemini", "o200k", "claude-rough"):
        meter = by_id(name)
        wanted = [
            measured(session.pk, version_at(session, first), [meter], until_seq=first - 1)[name] for first in firsts
        ]
        found = contexts_at(session, meter, firsts)
        assert len(found) == len(wanted) == 18
        # Rounding once instead of twice may differ by a token.
        assert all(abs(one - other) <= 1 for one, other in zip(found, wanted, strict=True)), name
    assert contexts_at(session, by_id("gemini"), []) == []


def test_the_weight_is_learned_from_each_recorded_prompt(tmp_path):
    session = taken(tmp_path, compacted())
    steps = list(session.steps.order_by("n"))
    estimates = contexts_at(session, by_id("gemini"), [step.first_seq for step in steps])
    states = list(learned(zip(estimates, [step.prompt for step in steps], strict=True)))
    assert weight_at(session) == states[-1]
    assert weight_at(session, 1).seen == 0
    assert weight_at(session, 7) == states[5]
    assert weight_at(session).seen == 18
    session.steps.update(fresh=None, cache_read=None, cache_write=None)
    assert weight_at(session).weight == 1.0


def test_a_version_with_masks_and_insertions_is_counted_by_all_in_one_query(tmp_path):
    session = taken(tmp_path, turns(6))
    folded = Ranges.of([(4, 8)])
    masked = session.entries.filter(kind="tool_result", seq__gt=8).first()
    edits = [
        Hide(folded),
        Replace(masked.seq, (Part(PartKind.TOOL_RESULT, "[cut] 短", call_id=masked.call_ids[0]),)),
        Insert(3, Role.USER, InsertKind.SUMMARY, (Part(PartKind.TEXT, "Ein Überblick."),), folded),
    ]
    version = versions.make(
        session, parent=session.current, edits=edits, origin="person", kind="test", label="test", at_seq=23
    )
    with CaptureQueriesContext(connection) as queries:
        measured(session.pk, version, list(meters().values()))
    assert len(queries) == 1
    found = metered(session, version)
    assert found.tokens.keys() == meters().keys()
    assert found.tokens["o200k"] == version.tokens
    assert found.adaptive_tokens == found.adaptive.of(found.tokens["gemini"])


def test_the_command_and_the_answer(tmp_path):
    session = taken(tmp_path, compacted())
    out = io.StringIO()
    call_command("meters", str(session.pk), "--step", "12", "--json", stdout=out)
    said = json.loads(out.getvalue())
    assert said == meters_of(session, step=12)
    assert (said["own"], said["step"], said["version"]) == ("claude-rough", 12, 1)
    assert said["adaptive"]["requests"] == 11
    plain = io.StringIO()
    call_command("meters", str(session.pk), "--version", "0", stdout=plain)
    assert "characters / 4 × 4/3 (Claude Code, rough)  (its own agent's)" in plain.getvalue()


def test_the_context_command_shows_the_agents_own_screen_beside_what_its_runtime_does(tmp_path):
    session = taken(tmp_path, turns(1))
    out = io.StringIO()
    call_command("context", str(session.pk), "--step", "2", stdout=out)
    assert "its own screen                     0%: 115 of 200,000" in out.getvalue()
    assert "Sent as is: 166,865 tokens until compaction, by Claude Code 2.1. 135 < 167,000" in out.getvalue()
