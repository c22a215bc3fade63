"""The inputs that broke others, one by one: what is taken in, counted and shown of each.

`FIELD` numbers the reports from the field, `CLAUDE_CODEX` and `OTHERS` the traps of the agents' formats. Each is held by a test, here or
where the rest of its subject is tested; that every one of those exists is a test itself.
"""

from __future__ import annotations

import ast
import base64
import json
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from sessions import sourcebytes
from sessions.answers import context_of
from sessions.ingest import Taken, take_file
from sessions.ingesting import ingest_paths
from sessions.models import Intake, Session, Source
from sessions.packing import compress
from sessions.sourcebytes import stored
from tests.adapters.codex import build as codex
from tests.claude_lines import ClaudeLines, turns
from webapp.models import Membership, Role, User, Workspace

CHECKOUT = Path(__file__).resolve().parents[2]
HERE = "tests/sessions/test_inputs.py"
THERE = "tests/sessions/test_inputs_agents.py"
CLAUDE, CODEX = "tests/adapters/claude_code", "tests/adapters/codex"
GEMINI, OPENCODE = "tests/adapters/gemini_cli", "tests/adapters/opencode"

FIELD = {
    1: f"{HERE}::test_a_line_separator_inside_a_text_is_no_line_end",
    2: f"{HERE}::test_lines_of_nul_are_counted_and_the_rest_is_there",
    3: "tests/sessions/test_ingest.py::test_a_half_written_last_line_is_read_again_when_it_is_whole",
    4: "tests/sessions/test_ingest.py::test_a_half_written_last_line_is_read_again_when_it_is_whole",
    5: f"{HERE}::test_json_that_is_no_record_is_said_and_passed",
    6: f"{HERE}::test_what_no_database_holds_is_shown_as_a_sign_and_kept_as_it_was",
    7: f"{HERE}::test_what_no_database_holds_is_shown_as_a_sign_and_kept_as_it_was",
    8: f"{HERE}::test_of_one_answer_in_three_records_the_last_output_counts",
    9: f"{CLAUDE}/test_reader.py::test_a_prompt_opens_a_turn_and_an_answer_is_one_step_over_its_lines",
    10: f"{HERE}::test_an_answer_without_its_requests_id_is_one_answer",
    11: f"{CODEX}/test_family.py::test_a_child_that_inherits",
    12: f"{HERE}::test_two_children_with_equal_counters_count_both",
    13: f"{HERE}::test_a_fork_that_repeats_its_parent_doubles_nothing",
    14: f"{THERE}::test_copies_of_a_child_among_artefacts_are_not_counted_again",
    15: f"{HERE}::test_a_result_of_twelve_million_characters",
    16: f"{HERE}::test_the_time_is_the_sessions_own_whatever_was_done_to_the_file",
    17: f"{HERE}::test_thousands_of_progress_records_are_no_conversation",
    18: f"{HERE}::test_pictures_are_told_by_their_size_and_never_stand_in_a_row",
    19: f"{HERE}::test_records_of_no_account_are_no_errors",
    20: f"{CLAUDE}/test_reader.py::test_a_summary_without_its_flag_is_told_by_its_place_and_not_by_its_words_alone",
    21: f"{CLAUDE}/test_history.py::test_an_older_file_has_the_summary_as_its_only_mark",
    22: f"{CODEX}/test_rebuilding.py::test_a_summary_of_the_provider_is_a_sealed_ghost",
    23: f"{HERE}::test_ninety_six_compactions_of_one_rollout",
    24: "tests/sessions/test_gauge.py::test_after_a_compaction_the_recorded_figure_no_longer_holds",
    25: "tests/sessions/test_gauge.py::test_a_recorded_figure_beyond_one_and_a_half_windows_is_not_taken",
    26: f"{HERE}::test_sub_agents_five_levels_deep_hang_on_the_one_that_called_them",
    27: f"{HERE}::test_sub_agents_five_levels_deep_hang_on_the_one_that_called_them",
    28: f"{HERE}::test_the_files_of_a_session_are_no_sessions",
    29: f"{CLAUDE}/test_history.py::test_what_hangs_between_is_bridged",
    30: f"{CLAUDE}/test_history.py::test_a_child_before_its_parent_finds_it",
    31: f"{HERE}::test_where_parents_are_missing_every_record_is_there",
    32: f"{HERE}::test_of_two_writers_each_ones_answers_stay_readable",
    33: f"{HERE}::test_hundreds_of_calls_without_results_make_no_context_that_is_refused",
    34: f"{THERE}::test_a_log_with_patches_rewritten_turns_and_rewinds",
    35: f"{THERE}::test_an_injected_tree_of_folders_is_no_title_and_names_the_project",
    36: f"{THERE}::test_a_row_edited_within_the_same_millisecond_is_found",
    37: "tests/sessions/test_resting.py::test_a_long_document_that_changes_all_the_time_is_read_a_part_of_it",
    38: "tests/adapters/generic/test_atif.py::test_embedded_trajectories_stand_in_lanes",
    39: "tests/sessions/test_uploads.py::test_a_shorter_copy_is_refused_and_what_is_stored_stays",
    40: f"{THERE}::test_two_exports_of_which_one_is_less_complete",
    41: f"{OPENCODE}/test_history.py::test_a_version_says_what_held_when_it_was_made",
    42: f"{CLAUDE}/test_history.py::test_a_boundary_whose_summary_never_came_hides_nothing",
    43: "tests/compaction/test_hybrid.py::test_one_message_larger_than_the_window",
    44: "tests/compaction/test_hybrid.py::test_chained_only_one_summary_stays_and_it_stands_for_all",
    45: "tests/compaction/test_runs.py::test_a_malformed_summary_is_refused",
    46: "tests/compaction/test_hybrid.py::test_larger_than_before_is_refused",
    47: "tests/compaction/test_tasks.py::test_a_worker_goes_on_where_its_connection_is_lost_and_where_its_run_is_cancelled",
    48: "tests/sessions/test_writing.py::test_installing_needs_the_setting_a_quiet_original_and_a_free_name",
    49: "tests/sessions/test_goals.py::test_an_open_item_that_vanishes_is_dropped",
    50: f"{THERE}::test_what_was_done_before_a_compaction_calls_it_pending_stays_done",
}

CLAUDE_CODEX = {
    1: f"{HERE}::test_of_one_answer_in_three_records_the_last_output_counts",
    2: f"{CLAUDE}/test_reader.py::test_usage_is_taken_once_and_a_placeholder_is_marked",
    3: f"{CLAUDE}/test_reader.py::test_only_a_persons_words_open_a_turn",
    4: f"{CLAUDE}/test_history.py::test_parallel_calls_are_no_rewind_in_any_order_of_their_results",
    5: f"{CLAUDE}/test_history.py::test_a_rewind_hides_the_branch_it_left_and_says_where_it_went_back_to",
    6: f"{CLAUDE}/test_reader.py::test_titles_the_persons_beats_the_generated_one_and_an_old_title_counts_only_for_its_own_file",
    7: f"{CLAUDE}/test_history.py::test_preserved_messages_follow_the_summary_although_they_stand_before_it",
    8: f"{CLAUDE}/test_reader.py::test_words_sent_while_the_agent_works_open_a_turn_and_its_queue_record_does_not",
    9: f"{CLAUDE}/test_history.py::test_what_hangs_between_is_bridged",
    10: f"{CLAUDE}/test_history.py::test_a_large_file_is_read_from_its_last_boundary_on",
    11: f"{HERE}::test_the_files_of_a_session_are_no_sessions",
    12: f"{HERE}::test_what_no_database_holds_is_shown_as_a_sign_and_kept_as_it_was",
    13: f"{CODEX}/test_reading.py::test_flat",
    14: f"{CODEX}/test_reading.py::test_paginated",
    15: f"{CODEX}/test_reading.py::test_no_text_stands_twice",
    16: f"{CODEX}/test_usage.py::test_a_repeated_count_is_one_request",
    17: f"{CODEX}/test_usage.py::test_cached_is_part_of_the_input",
    18: f"{CODEX}/test_family.py::test_a_fork_that_copies",
    19: f"{CODEX}/test_family.py::test_a_child_that_inherits",
    20: "tests/sessions/test_chains.py::test_a_fork_by_reference_is_read_through_its_base_whatever_the_names",
    21: f"{CODEX}/test_shortening.py::test_the_newest_messages_are_kept_and_the_one_that_does_not_fit_is_cut",
    22: f"{CODEX}/test_rebuilding.py::test_old_versions_lose_history_where_a_rollback_crosses_a_compaction",
    23: f"{CODEX}/test_reading.py::test_context_is_not_a_person",
    24: f"{CODEX}/test_plans.py::test_a_plan_that_is_no_json_changes_nothing",
    25: f"{CODEX}/test_plans.py::test_a_call_that_failed_changes_nothing",
    26: f"{HERE}::test_a_line_separator_inside_a_text_is_no_line_end",
    27: f"{CODEX}/test_claims.py::test_the_name_does_not_matter",
}

OTHERS = {
    1: f"{GEMINI}/test_history.py::test_an_answer_is_in_the_log_once_however_often_it_is_written",
    2: f"{GEMINI}/test_history.py::test_the_versions_of_a_log",
    3: f"{GEMINI}/test_laws.py::test_the_context_is_what_a_plain_replay_sends",
    4: f"{GEMINI}/test_laws.py::test_no_result_stands_twice",
    5: f"{GEMINI}/test_recorded.py::test_sub_agents_find_their_parents_and_copies_do_not_double",
    6: f"{THERE}::test_a_written_session_of_gemini_has_no_namesake_by_its_end",
    7: "tests/sessions/test_writing.py::test_ids_that_collide_are_made_anew",
    8: f"{OPENCODE}/test_history.py::test_a_tail_stands_behind_the_summary_that_stands_for_what_went",
    9: f"{OPENCODE}/test_documents.py::test_order_is_of_time_then_id_and_of_part_ids",
    10: f"{OPENCODE}/test_history.py::test_pruned_results_are_one_version_for_each_time",
    11: f"{HERE}::test_what_no_database_holds_is_shown_as_a_sign_and_kept_as_it_was",
    12: "tests/sessions/test_expansion.py::test_no_secret_of_the_database_is_kept",
    13: f"{HERE}::test_a_line_of_a_hundred_megabytes_is_kept_and_said",
    14: "tests/adapters/generic/test_messages.py::test_times_are_told_apart_by_their_size",
}


@cache
def _tests_of(path: str) -> frozenset[str]:
    tree = ast.parse((CHECKOUT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(
    ("table", "size"), [(FIELD, 50), (CLAUDE_CODEX, 27), (OTHERS, 14)], ids=["field", "claude-codex", "others"]
)
def test_each_has_its_test(table: dict[int, str], size: int) -> None:
    assert sorted(table) == list(range(1, size + 1))
    for where in table.values():
        path, name = where.split("::")
        assert name in _tests_of(path), where


# -- what the tests here share ---------------------------------------------------------------------------------------

NAME = "11111111-2222-4333-8444-555555555555"
FIGURES = {"input_tokens": 4, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 90, "output_tokens": 9}

type Take = Callable[..., Session]


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def take(workspace: Workspace, tmp_path: Path) -> Take:
    """Take in bytes as a file of that name; the session, whose bytes came back."""

    def taking(data: bytes, name: str = f"{NAME}.jsonl") -> Session:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        taken = take_file(workspace, path)
        assert taken.session is not None, taken
        session = Session.objects.get(pk=taken.session)
        assert b"".join(stored(session.source)) == data
        return session

    return taking


def kinds(session: Session) -> list[str]:
    return list(session.entries.order_by("seq").values_list("kind", flat=True))


def context(session: Session) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = context_of(session)["items"]
    return items


def said(session: Session) -> list[str]:
    return [part.get("text", "") for item in context(session) for part in item["parts"]]


# -- lines -----------------------------------------------------------------------------------------------------------


def test_a_line_separator_inside_a_text_is_no_line_end(take: Take) -> None:
    lines = ClaudeLines()
    lines.prompt("one\u2028two\u2029three\x85four")
    lines.says("five")
    session = take(bytes(lines))
    assert said(session) == ["one\u2028two\u2029three\x85four", "five"]
    assert session.malformed == 0


def test_lines_of_nul_are_counted_and_the_rest_is_there(take: Take) -> None:
    lines = turns(1)
    good = len(lines.lines)
    lines.raw(b"\0" * 9_216)
    lines.prompt("and on")
    session = take(bytes(lines) + b"\0" * 143_000)
    assert (session.entries_count, session.malformed, session.turns) == (good + 3, 2, 2)
    bad = session.entries.filter(kind="malformed").order_by("seq")
    assert [entry.problem for entry in bad] == [
        "line 5: 9216 NUL bytes",
        "line 7: 143000 NUL bytes; the line has no end yet",
    ]
    assert said(session)[-1] == "and on"


@pytest.mark.parametrize("value", ["[1, 2]", "17", "null", '"text"', "true"])
def test_json_that_is_no_record_is_said_and_passed(take: Take, value: str) -> None:
    lines = turns(1)
    lines.raw(value.encode())
    lines.says("after it")
    session = take(bytes(lines))
    assert (session.malformed, said(session)[-1]) == (1, "after it")
    assert "where an object is expected" in (session.entries.get(kind="malformed").problem or "")


def test_what_no_database_holds_is_shown_as_a_sign_and_kept_as_it_was(take: Take) -> None:
    lines = ClaudeLines()
    lines.prompt("go")
    lines.calls("toolu_1", "Bash", {"command": "cat it"})
    raw = bytes(lines)
    lines.result("toolu_1", "NUL SURROGATE end")
    row = lines.lines[-1].replace(b"NUL", b"\\u0000").replace(b"SURROGATE", b"\\ud83d")
    session = take(raw + row + b"\n")
    result = session.entries.get(kind="tool_result")
    assert result.text == "\u2400 \ufffd end"
    assert result.sent
    assert session.malformed == 0


def test_a_line_of_a_hundred_megabytes_is_kept_and_said(workspace: Workspace, tmp_path: Path) -> None:
    """It is kept and not parsed, in little memory; what stands before and behind it is read."""
    lines = turns(1)
    path = tmp_path / f"{NAME}.jsonl"
    size = 100 << 20
    with path.open("wb") as file:
        file.write(bytes(lines))
        file.write(b'{"type":"user","message":{"role":"user","content":"')
        for _ in range(size >> 20):
            file.write(b"x" * (1 << 20))
        file.write(b'"}}\n')
        lines.lines.clear()
        lines.prompt("after it")
        file.write(bytes(lines))
    taken = take_file(workspace, path)
    session = Session.objects.get(pk=taken.session)
    assert (taken.outcome, taken.malformed, session.turns) == ("added", 1, 2)
    entry = session.entries.get(kind="malformed")
    assert f"longer than the {sourcebytes.LONGEST:,} that are read" in (entry.problem or "")
    assert entry.byte_length == size + 55
    assert sum(len(block) for block in stored(session.source)) == path.stat().st_size
    assert said(session)[-1] == "after it"


def test_a_result_of_twelve_million_characters(take: Take) -> None:
    lines = ClaudeLines()
    lines.prompt("show it")
    lines.calls("toolu_1", "Bash", {"command": "cat it"})
    lines.result("toolu_1", "word " * 2_560_000)
    lines.says("long")
    session = take(bytes(lines))
    result = session.entries.get(kind="tool_result")
    assert (result.chars, session.malformed) == (12_800_000, 0)
    assert abs(result.tokens - 2_560_000) < 50
    assert len(result.text) == 4_000


# -- counting --------------------------------------------------------------------------------------------------------


def test_of_one_answer_in_three_records_the_last_output_counts(take: Take) -> None:
    lines = ClaudeLines()
    lines.prompt("go")
    for n, output in enumerate((9, 9, 159)):
        lines.calls(
            f"toolu_{n}", "Read", {"file_path": "x"}, message="msg_one", usage={**FIGURES, "output_tokens": output}
        )
    session = take(bytes(lines))
    assert (session.steps_count, session.totals["output"], session.totals["cache_read"]) == (1, 159, 90)


def test_an_answer_without_its_requests_id_is_one_answer(take: Take) -> None:
    lines = ClaudeLines()
    lines.prompt("go")
    for n in range(3):
        lines.calls(f"toolu_{n}", "Read", {"file_path": "x"}, message="msg_one", usage=FIGURES)
    records = [json.loads(line) for line in lines.lines]
    for record in records:
        record.pop("requestId", None)
    session = take(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    assert (session.steps_count, session.totals["output"]) == (1, 9)


def rollout(name: str, *, turn_count: int, **more: Any) -> bytes:
    """A child's own requests, with figures that another child may have too."""
    records = codex.meta(name, **more)
    for n in range(1, turn_count + 1):
        counts = {"input_tokens": 100 * n, "cached_input_tokens": 0, "output_tokens": 10 * n, "total_tokens": 110 * n}
        last = {"input_tokens": 100, "cached_input_tokens": 0, "output_tokens": 10, "total_tokens": 110}
        records += [*codex.user(f"turn {n}"), *codex.says("yes")]
        records += codex.event("token_count", info={"total_token_usage": counts, "last_token_usage": last})
    return codex.data(records)


def test_two_children_with_equal_counters_count_both(take: Take) -> None:
    names = ("01a22af3-fd5a-7913-af5a-df87f641d0a1", "01a22af3-fd5a-7913-af5a-df87f641d0a2")
    made = [take(rollout(name, turn_count=3), f"rollout-2026-11-30T05-36-02-{name}.jsonl") for name in names]
    assert [session.totals["output"] for session in made] == [30, 30]
    assert [session.steps.filter(copied=True).count() for session in made] == [0, 0]


@pytest.mark.parametrize("first", ["original", "fork"])
def test_a_fork_that_repeats_its_parent_doubles_nothing(
    take: Take, workspace: Workspace, tmp_path: Path, first: str
) -> None:
    """Whichever is read first, the answers count where they were given."""
    original = turns(2)
    forked = ClaudeLines("22222222-2222-4333-8444-555555555555")
    records = [json.loads(line) for line in original.lines]
    for record in records:
        record |= {"sessionId": forked.session_id, "forkedFrom": {"sessionId": NAME, "messageUuid": record["uuid"]}}
    forked.lines = [json.dumps(record).encode() for record in records]
    forked.leaf = records[-1]["uuid"]
    forked.prompt("another way")
    forked.says("so be it")
    files = {f"{NAME}.jsonl": bytes(original), f"{forked.session_id}.jsonl": bytes(forked)}
    for name in sorted(files, reverse=first == "fork"):
        (tmp_path / name).write_bytes(files[name])
        ingest_paths(workspace, [tmp_path / name])
    one, other = (Session.objects.get(native_id=name.removesuffix(".jsonl")) for name in sorted(files))
    assert other.parent == one
    assert (one.totals["steps"], one.totals["output"]) == (4, 80)
    assert (other.totals["steps"], other.totals["output"]) == (1, 20)


def test_ninety_six_compactions_of_one_rollout(take: Take) -> None:
    records = codex.meta()
    for n in range(96):
        records += [*codex.user(f"turn {n}"), *codex.says("yes")]
        history = [*codex.message("user", f"turn {n}"), *codex.summary(f"all of {n}")]
        records += codex.compacted(f"all of {n}", history)
    session = take(codex.data(records), codex.NAME.name)
    natives = session.versions.filter(origin="native")
    assert [version.kind for version in natives.order_by("n")] == ["compaction"] * 96
    assert said(session)[-1].endswith("all of 95")


# -- what is no conversation -----------------------------------------------------------------------------------------


def test_thousands_of_progress_records_are_no_conversation(take: Take) -> None:
    lines = ClaudeLines()
    for n in range(190):
        lines.prompt(f"part {n}")
        call = lines.calls(f"toolu_{n}", "Bash", {"command": "make"})
        for step in range(21):
            data = {"type": "bash_progress", "output": f"{step} %"}
            lines.record({"type": "progress", "data": data, "toolUseID": f"toolu_{n}"}, parent=call)
        lines.result(f"toolu_{n}", "made")
        lines.says("done")
    session = take(bytes(lines))
    assert kinds(session).count("event") == 190 * 21
    assert len(context(session)) == 190 * 4
    assert not session.versions.filter(origin="native").exists()


def test_records_of_no_account_are_no_errors(take: Take) -> None:
    lines = turns(1)
    for kind in ("mode", "atis-latch", "last-prompt", "bridge-session", "a-type-of-tomorrow"):
        lines.raw(json.dumps({"type": kind, "sessionId": lines.session_id, "value": "x"}).encode())
    session = take(bytes(lines))
    assert kinds(session)[-5:] == ["meta"] * 4 + ["other"]
    assert session.malformed == 0
    assert len(context(session)) == 4


def test_pictures_are_told_by_their_size_and_never_stand_in_a_row(take: Take) -> None:
    picture = base64.b64encode(random.Random(1).randbytes(400_000)).decode()
    lines = ClaudeLines()
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    lines.record(
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"type": "text", "text": "see"}, {"type": "image", "source": source}],
            },
        }
    )
    lines.says("seen")
    session = take(bytes(lines))
    entry = session.entries.get(seq=0)
    assert entry.images == 1
    assert entry.tokens < 20
    assert len(bytes(entry.parts)) < 500
    (part,) = [part for part in context(session)[0]["parts"] if part["kind"] == "media"]
    assert (part["media_type"], part["media_bytes"]) == ("image/png", 400_000)


def test_the_time_is_the_sessions_own_whatever_was_done_to_the_file(
    take: Take, workspace: Workspace, tmp_path: Path
) -> None:
    lines = turns(2)
    session = take(bytes(lines))
    os.utime(tmp_path / f"{NAME}.jsonl", (1, 1))
    take_file(workspace, tmp_path / f"{NAME}.jsonl")
    session.refresh_from_db()
    assert session.last_at == datetime(2026, 3, 2, 9, 0, 8, tzinfo=UTC)


def test_a_record_of_the_year_9999_keeps_no_session_on_top(take: Take) -> None:
    lines = turns(1)
    lines.record({"type": "user", "message": {"role": "user", "content": "late"}, "timestamp": "9999-12-31T23:59:59Z"})
    session = take(bytes(lines))
    assert session.last_at == datetime(2026, 3, 2, 9, 0, 4, tzinfo=UTC)
    assert session.problems == [
        "a record is dated 9999-12-31: its time is shown and does not count as the session's last"
    ]
    late = session.entries.get(text="late").at
    assert late is not None
    assert late.year == 9999


# -- families --------------------------------------------------------------------------------------------------------


def agent_file(name: str, child: str | None) -> bytes:
    """A sub-agent's file; its only call starts the next one."""
    lines = ClaudeLines()
    more = {"isSidechain": True, "agentId": name}
    lines.record({"type": "user", "message": {"role": "user", "content": f"do the part of {name}"}, **more})
    if child is not None:
        start(lines, child, **more)
    return bytes(lines)


def start(lines: ClaudeLines, child: str, **more: Any) -> None:
    call = f"toolu_{child}"
    block = {"type": "tool_use", "id": call, "name": "Task", "input": {"prompt": f"do the part of {child}"}}
    message = {"id": f"msg_{child}", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block]}
    lines.record({"type": "assistant", "requestId": f"req_{child}", "message": message, **more})
    lines.result(call, "done", toolUseResult={"agentId": child, "status": "completed"}) if not more else lines.record(
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "done"}]},
            "toolUseResult": {"agentId": child, "status": "completed"},
            **more,
        }
    )


def test_sub_agents_five_levels_deep_hang_on_the_one_that_called_them(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / NAME / "subagents"
    folder.mkdir(parents=True)
    lines = ClaudeLines()
    lines.prompt("go")
    start_result = {"agentId": "a1", "status": "completed"}
    lines.calls("toolu_a1", "Task", {"prompt": "do the part of a1"})
    lines.record(
        {
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_a1", "content": "done"}],
            },
            "toolUseResult": start_result,
        }
    )
    (tmp_path / f"{NAME}.jsonl").write_bytes(bytes(lines))
    names = [f"a{n}" for n in range(1, 6)]
    for name, child in zip(names, [*names[1:], None], strict=True):
        (folder / f"agent-{name}.jsonl").write_bytes(agent_file(name, child))
    ingest_paths(workspace, [tmp_path])
    above = Session.objects.get(native_id=NAME)
    assert above.parent is None
    for name in names:
        session = Session.objects.get(native_id=name)
        assert (session.parent, session.parent_call_id) == (above, f"toolu_{name}")
        assert session.turns == 0
        above = session


def test_the_files_of_a_session_are_no_sessions(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.jsonl").write_bytes(bytes(turns(1)))
    for n in range(30):
        path = tmp_path / NAME / "tool-results" / f"toolu_{n}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the whole output of call {n}\n" * 20)
    outcomes = [taken.outcome for taken in ingest_paths(workspace, [tmp_path])]
    assert sorted(outcomes) == ["added", *["kept"] * 30]
    session = Session.objects.get()
    assert session.sidecars.count() == 30
    kept = session.sidecars.order_by("path").first()
    assert kept is not None
    assert b"the whole output" in b"".join(stored(kept))


# -- trees and calls -------------------------------------------------------------------------------------------------


def test_where_parents_are_missing_every_record_is_there(take: Take) -> None:
    lines = ClaudeLines()
    for n in range(40):
        lines.prompt(f"part {n}", parent=f"00000000-0000-4000-8000-{n:012d}" if n % 2 else True)
        lines.says(f"answer {n}")
    session = take(bytes(lines))
    assert (session.entries_count, session.turns, session.malformed) == (80, 40, 0)
    assert said(session)[-2:] == ["part 39", "answer 39"]


def test_of_two_writers_each_ones_answers_stay_readable(take: Take) -> None:
    lines = ClaudeLines()
    shared = lines.prompt("begin")
    lines.says("one begins")
    one = lines.prompt("one goes on")
    lines.says("two answers", message="msg_two")
    lines.record({"type": "user", "message": {"role": "user", "content": "two goes on"}}, parent=shared)
    lines.says("two ends")
    session = take(bytes(lines))
    assert one
    assert session.entries.filter(kind="message").count() == 3
    assert said(session) == ["begin", "two goes on", "two ends"]
    (version,) = session.versions.filter(origin="native")
    assert version.kind == "rewind"


def test_hundreds_of_calls_without_results_make_no_context_that_is_refused(take: Take) -> None:
    lines = ClaudeLines()
    lines.prompt("go")
    for n in range(311):
        lines.calls(f"toolu_{n}", "Read", {"file_path": "x"})
        lines.says("again")
    session = take(bytes(lines))
    assert kinds(session).count("tool_call") == 311
    calls = [part["call_id"] for item in context(session) for part in item["parts"] if part["kind"] == "tool_call"]
    results = [part["call_id"] for item in context(session) for part in item["parts"] if part["kind"] == "tool_result"]
    assert calls == results


# -- files -----------------------------------------------------------------------------------------------------------


def test_a_file_truncated_and_regrown_is_another_revision(take: Take, workspace: Workspace, tmp_path: Path) -> None:
    """In place, so that the file is the same one by its number, and longer than it was: only its bytes tell."""
    session = take(bytes(turns(40)))
    path = tmp_path / f"{NAME}.jsonl"
    other = ClaudeLines()
    other.prompt("something else")
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(bytes(turns(60, other)))
    taken = take_file(workspace, path)
    assert taken.outcome == "rewritten"
    old = Source.objects.get(pk=session.source_id)
    assert (old.superseded, b"".join(stored(old))) == (True, bytes(turns(40)))
    assert Session.objects.get(pk=taken.session).entries_count == 241


def test_a_change_in_the_middle_is_found_while_the_file_grows_on(
    workspace: Workspace, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(sourcebytes, "CHUNK", 16_384)
    monkeypatch.setattr(sourcebytes, "SMALL", 1024)
    lines = turns(60)
    path = tmp_path / f"{NAME}.jsonl"
    path.write_bytes(bytes(lines))
    assert take_file(workspace, path).outcome == "added"
    changed = bytes(lines).replace(b"part 30 of", b"PART 30 of", 1)
    with path.open("r+b") as file:
        file.write(changed)
    outcomes = []
    for _ in range(40):
        lines.lines.clear()
        lines.prompt("more")
        with path.open("ab") as file:
            file.write(bytes(lines))
        outcomes.append(take_file(workspace, path).outcome)
        if outcomes[-1] == "rewritten":
            break
    assert outcomes[-1] == "rewritten"
    assert b"".join(stored(Source.objects.get(superseded=False))) == path.read_bytes()


def test_a_file_that_another_process_rewrites_is_taken_as_it_was_at_one_time(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / f"{NAME}.jsonl"
    path.write_bytes(bytes(turns(3)))
    take_file(workspace, path)
    shorter = bytes(turns(1))
    path.write_bytes(shorter)
    taken = take_file(workspace, path)
    assert (taken.outcome, taken.entries) == ("rewritten", 4)
    path.write_bytes(b"")
    assert (take_file(workspace, path).reason, Session.objects.count()) == ("an empty file", 2)
    path.write_bytes(shorter)
    assert take_file(workspace, path).outcome == "unchanged"


def test_bombs_give_what_fits_and_end(workspace: Workspace, tmp_path: Path, monkeypatch) -> None:
    """A zstd file that unpacks to far more than it has is read in small pieces; a zip is nobody's session."""
    monkeypatch.setattr(sourcebytes, "LONGEST", 1 << 20)
    bomb = tmp_path / f"{NAME}.jsonl.zst"
    bomb.write_bytes(compress(bytes(turns(1)) + b"\0" * (64 << 20) + b"\n" + bytes(turns(1)).splitlines()[0] + b"\n"))
    assert bomb.stat().st_size < 1 << 20
    taken = take_file(workspace, bomb)
    assert (taken.outcome, taken.malformed, taken.turns) == ("added", 1, 2)
    archive = tmp_path / "sessions.zip"
    archive.write_bytes(b"PK\x03\x04" + b"\0" * 1000)
    assert take_file(workspace, archive).outcome == "skipped"


def test_a_folder_with_very_many_files(workspace: Workspace, tmp_path: Path, client: Client) -> None:
    """Each is looked at and said; a loop of links among them ends; the page shows what was taken, what was not, and why."""
    for n in range(1_000):
        (tmp_path / f"{n}.txt").write_bytes(b"nothing of anybody's\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / f"{NAME}.jsonl").write_bytes(bytes(turns(1)))
    told: list[Taken] = []
    taken = ingest_paths(workspace, [tmp_path], told=told.append)
    assert told == taken
    outcomes = [one.outcome for one in taken]
    assert outcomes.count("added") == 1
    assert outcomes.count("skipped") == len(outcomes) - 1
    assert Intake.objects.filter(outcome="added").count() == 1
    user = User.objects.create_user("ada")
    Membership.objects.create(workspace=workspace, user=user, role=Role.ADMIN)
    client.force_login(user)
    page = client.get(reverse("sessions:intake"), {"outcome": "added"}).content.decode()
    assert f"{NAME}.jsonl" in page
    page = client.get(reverse("sessions:intake"), {"outcome": "skipped"}).content.decode()
    assert "no records of an agent known here" in page
