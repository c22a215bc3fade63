"""As if: when another rule would have compacted. Worked by hand, and on sessions taken in."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions import versions
from sessions.answers import as_if_of, gauge_of
from sessions.asif import Taken, as_if, assumptions
from sessions.growth import growth_of
from sessions.ingest import take_file
from sessions.meters import by_id
from sessions.models import Session
from sessions.supposing import window_as
from sessions.versions import Refused
from sessions.windows import Limits, Name, Settings, rules, window
from tests.claude_lines import ClaudeLines, turns
from webapp.models import Workspace

CLAUDE = window(rules()["claude-code-2.1"], Limits("m", 200_000, None, 64_000))
CODEX = window(rules()["codex-0.148"], Limits("m", 272_000))
GEMINI = window(rules()["gemini-0.56"], Limits("m", 200_000))


def growing(
    count: int, *, first: int = 20_000, entered: int = 9_000, answered: int = 1_000, **more: int
) -> list[Taken]:
    return [Taken(n + 1, n + 1, 10 * n, first if n == 0 else entered, answered, **more) for n in range(count)]


def test_below_the_threshold_nothing_happens_and_the_context_is_the_recorded_one():
    found = as_if(CLAUDE, growing(15))
    assert (found.compactions, found.marks, found.beyond) == (0, [], 0)
    assert found.points == [(n + 1, 21_000 + 10_000 * n) for n in range(15)]
    assert found.sentence == "Claude Code 2.1 would have compacted never in 15 requests."


def test_a_compaction_comes_before_the_request_that_reaches_the_threshold():
    found = as_if(CLAUDE, growing(16))
    # Before request 16: 161,000 held, 9,000 entered. It leaves the beginning (20,000), a summary (3,000) and files (25,000).
    assert [(mark.n, mark.name, mark.before, mark.after) for mark in found.marks] == [
        (16, Name.COMPACTION, 170_000, 48_000)
    ]
    assert found.points[-1] == (16, 49_000)
    assert "once in 16 requests, first before request 16 at 170,000 tokens" in found.sentence


def test_after_a_compaction_the_context_goes_on_growing_as_recorded():
    found = as_if(CLAUDE, growing(60))
    assert [mark.n for mark in found.marks] == [16, 28, 40, 52]
    assert found.compactions == 4
    # 49,000 after request 16, and 10,000 more each; 159,000 + 9,000 before request 28
    assert [mark.before for mark in found.marks] == [170_000, 168_000, 168_000, 168_000]


def test_another_agent_compacts_at_another_place():
    found = as_if(CODEX, growing(60, said=100))
    assert [mark.n for mark in found.marks][:1] == [24]
    assert found.marks[0].before == 250_000
    assert found.marks[0].after == 20_000 - 100 + 3_000 + 24 * 100


def test_a_rule_of_the_last_prompt_notices_one_request_later():
    by_prompt = as_if(GEMINI, growing(10))
    # The threshold is 100,000. The prompt of request 9 is 100,000: held before request 10.
    assert [mark.n for mark in by_prompt.marks] == [10]


def test_what_a_rewind_took_away_is_taken_away():
    requests = [*growing(12), Taken(13, 13, 130, -60_000, 1_000), *growing(3, first=9_000)]
    found = as_if(CLAUDE, requests)
    assert found.points[12] == (13, 131_000 - 60_000 + 1_000)
    deep = as_if(CLAUDE, [*growing(3), Taken(4, 4, 40, -900_000, 10)])
    assert deep.points[-1] == (4, 20_010), "never below the first prompt"


def test_masking_takes_old_results_beyond_the_newest():
    requests = growing(12, entered=9_000, results=8_000)
    found = as_if(window(rules()["gemini-0.56"], Limits("m", 1_048_576)), requests)
    # 6 × 8,000 newest are kept; beyond them at least 30,000 are four more: before request 10.
    masks = [(mark.n, mark.before - mark.after) for mark in found.marks]
    assert masks == [(10, 32_000)]
    assert found.counts == {Name.MASKING: 1}
    assert "masked once" in found.sentence


def test_where_compaction_is_off_requests_are_refused_or_do_not_fit():
    off = window(CLAUDE.rule, CLAUDE.limits, Settings(automatic=False))
    found = as_if(off, growing(20))
    assert found.compactions == 0
    assert found.counts[Name.BLOCK] == 1
    by_hand = as_if(window(rules()["universal-ai-client"], Limits("m", 100_000)), growing(20))
    assert (by_hand.compactions, by_hand.first_beyond, by_hand.beyond) == (0, 10, 11)
    assert by_hand.sentence.startswith("UniversalAIClient compacts only when it is told to; 11 requests")


def test_a_window_too_small_for_the_beginning_is_said():
    small = window(CLAUDE.rule, Limits("m", 40_000, None, 64_000))
    found = as_if(small, growing(5))
    assert found.compactions == 4
    assert found.stuck > 0


def test_an_unknown_window_supposes_nothing():
    found = as_if(window(CLAUDE.rule, Limits("of-my-own", None)), growing(5))
    assert found.points == []
    assert "not known" in found.sentence


def test_a_hundred_thousand_requests_are_told_in_a_chartful():
    found = as_if(CLAUDE, growing(100_000))
    assert len(found.points) == 100_000
    assert len(found.sampled()) <= 2_000
    assert max(point[1] for point in found.sampled()) == max(point[1] for point in found.points)
    assert found.compactions > len(found.marks) == 1_000


def test_a_long_first_message_is_history_and_not_part_of_the_fixed_beginning():
    pasted = [Taken(1, 1, 0, 150_000, 1_000, said=130_000), *growing(4, first=9_000)]
    found = as_if(CLAUDE, pasted)
    assert found.marks[0].after == 20_000 + 3_000 + 25_000
    assert found.stuck == 0


def test_the_model_is_stated():
    said = " ".join(assumptions(CLAUDE))
    assert "taken from the record" in said
    assert CLAUDE.rule.leaves in said


# -- from the database --------------------------------------------------------------------------------------------------


def taken(folder: Path, made: ClaudeLines) -> Session:
    workspace = Workspace.objects.get_or_create(name="Scriptorium", slug="scriptorium")[0]
    path = folder / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(bytes(made))
    return Session.objects.get(pk=take_file(workspace, path).session)


def usage(fresh: int, read: int, output: int) -> dict[str, int]:
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": 0,
        "output_tokens": output,
    }


def long_session() -> ClaudeLines:
    """Thirty requests whose prompts grow from 20,000 by 10,000 each, with a compaction of the agent's own after the fifteenth."""
    made = ClaudeLines()
    prompt = 20_000
    for n in range(30):
        made.prompt(f"Go on with part {n}.")
        if n == 15:
            made.compact("Fifteen parts are done.")
            prompt = 30_000
            made.prompt("x" * 3_000)
        made.says(f"Done with {n}.", usage=usage(10, prompt - 10, 1_000))
        prompt += 10_000
    return made


@pytest.mark.django_db
def test_growth_is_what_the_record_says_and_estimated_behind_the_agents_own_compaction(tmp_path):
    session = taken(tmp_path, long_session())
    found = growth_of(session, by_id("claude-rough"))
    assert (found.recorded, found.estimated, found.folds) == (30, 0, 1)
    assert [one.entered for one in found.requests[:4]] == [20_000, 9_000, 9_000, 9_000]
    # Two prompts came in: "Go on with part 15." and 3,000 letters, a third of a token each; the summary is the agent's own.
    assert found.requests[15].entered == 1_000 + 7
    assert found.requests[16].entered == 9_000
    assert {one.answered for one in found.requests} == {1_000}


@pytest.mark.django_db
def test_a_session_under_its_own_and_under_another_rule(tmp_path):
    session = taken(tmp_path, long_session())
    own = as_if_of(session)
    assert own["rule"] == "claude-code-2.1"
    # 161,000 after request 15, 1,007 and 1,000 by request 16, 9,000 more; then 48,000 less the
    # six of the first message are left, and 10,000 come with each request.
    assert [(mark["step"], mark["before"]) for mark in own["marks"]] == [(17, 172_007), (29, 167_994)]
    assert own["own_compactions"] == 1
    assert any("own compaction" in line for line in own["assumes"])
    codex = as_if_of(session, rule="codex-272k")
    assert (codex["compactions"], codex["window"]["context"]) == (1, 272_000)
    assert as_if_of(session, rule="gemini-0.56", tokens=1_048_576)["compactions"] == 0
    tight = as_if_of(session, tokens=100_000)
    assert tight["compactions"] > own["compactions"]
    assert tight["window"]["limits_source"] == "the window asked for"


@pytest.mark.django_db
def test_a_rewind_counts_as_recorded(tmp_path):
    session = taken(tmp_path, turns(4))
    assert growth_of(session, by_id("claude-rough")).folds == 0
    versions.roll_back(session.pk, to_turn=2)
    assert growth_of(session, by_id("claude-rough")).folds == 0


@pytest.mark.django_db
def test_a_rule_that_estimates_for_itself_estimates_here_too(tmp_path):
    session = taken(tmp_path, long_session())
    found = as_if_of(session, rule="j-cli-12.9")
    assert found["requests_estimated"] == 30
    assert found["points"][-1][1] < 5_000
    assert any("estimated" in line for line in found["assumes"])


@pytest.mark.django_db
def test_sessions_without_usage_are_estimated_whole(tmp_path):
    session = taken(tmp_path, turns(3))
    session.steps.update(fresh=None, cache_read=None, cache_write=None, output=None, total=None)
    found = growth_of(session, by_id("claude-rough"))
    assert (found.recorded, found.estimated) == (0, 6)
    whole = sum(by_id("claude-rough").of(size_of(row)) for row in session.entries.filter(sent=True))
    assert abs(sum(one.entered + one.answered for one in found.requests) - whole) <= 2
    assert sum(one.said for one in found.requests) > 0
    assert sum(one.results for one in found.requests) > 0


def size_of(row):
    from sessions.store import sizes_of

    return sizes_of(row)


@pytest.mark.django_db
def test_supposing_asks_the_database_as_often_for_many_steps_as_for_few(tmp_path):
    asked = []
    for count in (3, 30):
        session = taken(tmp_path, turns(count))
        with CaptureQueriesContext(connection) as queries:
            as_if_of(session, rule="opencode-1.18")
        asked.append(len(queries))
    assert asked[0] == asked[1] <= 10


@pytest.mark.django_db
def test_a_window_is_the_recorded_one_unless_another_is_asked_for(tmp_path):
    session = taken(tmp_path, turns(1))
    assert window_as(session).total == 200_000
    assert window_as(session, rule="opencode-1.18").compaction == 168_000
    assert window_as(session, model="gpt-5", rule="codex-0.148").total == 272_000
    assert window_as(session, model="gpt-5", rule="opencode-1.18").total == 400_000
    session.window = 150_000
    session.save(update_fields=["window"])
    assert window_as(session, rule="opencode-1.18").total == 150_000
    assert window_as(session, rule="opencode-1.18", tokens=300_000).total == 300_000
    with pytest.raises(Refused, match="There is no rule 'nobody'"):
        window_as(session, rule="nobody")
    session.agent = "of-tomorrow"
    with pytest.raises(Refused, match="name another"):
        window_as(session)
    assert window_as(session, rule="codex-0.148").total == 150_000


@pytest.mark.django_db
def test_the_gauge_by_another_rule(tmp_path):
    session = taken(tmp_path, long_session())
    own, other = gauge_of(session), gauge_of(session, rule="opencode-500k")
    assert own["used"]["tokens"] == other["used"]["tokens"]
    assert (own["rule"], other["rule"]) == ("claude-code-2.1", "opencode-1.18")
    assert other["screen"]["denominator"] == 500_000
    assert gauge_of(session, step=3)["used"]["tokens"] == 41_000


@pytest.mark.django_db
def test_the_command_says_what_the_api_answers(tmp_path):
    session = taken(tmp_path, long_session())
    out = io.StringIO()
    call_command("asif", str(session.pk), "--rule", "opencode-500k", "--json", stdout=out)
    assert json.loads(out.getvalue()) == as_if_of(session, rule="opencode-500k")
    plain = io.StringIO()
    call_command("asif", str(session.pk), "--window", "100000", stdout=plain)
    assert "would have compacted" in plain.getvalue()
    with pytest.raises(CommandError, match="There is no rule"):
        call_command("asif", str(session.pk), "--rule", "nobody", stdout=out)
