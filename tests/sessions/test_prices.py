"""Prices and costs: by the part, by the day, by the length of the prompt; unknown where nobody knows."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions import limits, versions
from sessions.contexts import Hide, Insert, InsertKind, Replace
from sessions.costs import broken, cost_of, cost_of_step, costs_of, first_change
from sessions.entries import Part, PartKind, Role
from sessions.gauge import window_of
from sessions.ingest import take_file
from sessions.meters import by_id
from sessions.models import Session
from sessions.prices import Price, Rates, Spent, break_of, cost_at, price_of
from sessions.ranges import Ranges
from sessions.reckonings import broken_row, cost_row
from sessions.versions import Refused
from sessions.windows import Limits
from sessions.windows.overrides import Override, chosen, over
from tests.claude_lines import ClaudeLines, turns
from webapp.models import Workspace

RATES = Rates(Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"))
DAY = date(2026, 3, 2)


def test_each_part_has_its_own_price():
    cost = cost_at(RATES, Spent(fresh=1_000, cache_read=100_000, cache_write=2_000, output=500))
    assert (cost.fresh, cost.cache_read, cost.cache_write, cost.output) == (
        Decimal("0.003"),
        Decimal("0.03"),
        Decimal("0.0075"),
        Decimal("0.0075"),
    )
    assert cost.total == Decimal("0.048")
    assert cost.uncached == Decimal("0.3165")  # 103,000 × 3 + 500 × 15, a million


def test_where_the_cache_has_no_price_it_is_charged_as_input():
    cost = cost_at(Rates(Decimal(2), Decimal(10)), Spent(cache_read=500_000, cache_write=500_000))
    assert cost.total == cost.uncached == Decimal(2)


def test_a_long_prompt_costs_more_as_a_whole():
    price = Price("m", RATES, ((200_000, Rates(Decimal(6), Decimal("22.5"))),), "test", None)
    assert price.at(200_000) is RATES
    assert price.at(200_001).input == 6


@pytest.mark.parametrize(
    ("model", "given", "output", "read", "write"),
    [
        ("claude-opus-4-5-20251101", "5", "25", "0.5", "6.25"),
        ("claude-sonnet-4-20250514", "3", "15", "0.3", "3.75"),
        ("claude-sonnet-4-5-20250929[1m]", "3", "15", "0.3", "3.75"),
        ("gpt-5-codex", "1.25", "10", "0.125", None),
        ("gemini-2.5-pro", "1.25", "10", "0.125", None),
    ],
)
def test_the_package_knows_what_makers_ask(model, given, output, read, write):
    price = price_of(model, DAY)
    assert price is not None
    assert price.rates == Rates(Decimal(given), Decimal(output), Decimal(read), write and Decimal(write))
    assert price.source.startswith("genai-prices ")
    assert price.date == "2026-03-02"


def test_prices_are_those_of_the_day():
    before, after = price_of("gpt-5.6-sol", date(2026, 8, 20)), price_of("gpt-5.6-sol", date(2026, 8, 21))
    assert before is not None
    assert after is not None
    assert (before.rates.input, after.rates.input) == (5, 4)
    assert [above for above, _ in before.long] == [272_000]


@pytest.mark.parametrize("model", ["a-model-of-my-own", "<synthetic>", "mock-large", "", None])
def test_a_model_nobody_sells_has_no_price(model):
    assert price_of(model, DAY) is None


def test_a_broken_prefix():
    price = Price("m", RATES, (), "test", None)
    found = break_of(price, kept=20_000, anew=30_000, before=150_000)
    assert found.intact == Decimal("0.045")
    assert found.following == Decimal("0.1185")  # 20,000 × 0.3 + 30,000 × 3.75, a million
    assert found.extra == Decimal("0.0735")
    assert found.later == Decimal("0.03")  # 100,000 fewer to read
    assert found.even == 3
    assert break_of(price, kept=0, anew=160_000, before=150_000).even is None
    assert break_of(price, kept=150_000, anew=0, before=150_000).even == 0


# -- what a workspace says itself ----------------------------------------------------------------------------------------


def test_the_pattern_with_most_of_its_own_letters_holds():
    said = [Override("*", context=1), Override("claude-*", context=2), Override("claude-opus-4-?", context=3)]
    assert [chosen(said, name).context for name in ("gpt-5", "claude-x", "Claude-Opus-4-6")] == [1, 2, 3]
    assert chosen([Override("a[1m]", context=1)], "a1") is None
    assert chosen([Override("a[1m]", context=1)], "a[1m]") is not None


def test_what_is_not_said_stays_the_catalogues():
    limits_ = Limits("m", 400_000, 272_000, 128_000, "the catalogue", "2026-08-18", ("a note",))
    whole = over(limits_, Override("m", 100_000, None, 8_000, source="our gateway", date="2026-11-01"))
    assert (whole.context, whole.input, whole.output) == (100_000, None, 8_000)
    assert (whole.source, whole.date, whole.notes) == ("set in this workspace (our gateway)", "2026-11-01", ())
    part = over(limits_, Override("m", output=8_000, source="our gateway"))
    assert (part.context, part.input, part.output) == (400_000, 272_000, 8_000)
    assert part.source == "set in this workspace (our gateway); the rest: the catalogue"
    assert over(limits_, Override("m", price_input=Decimal(1), price_output=Decimal(2))) is limits_
    assert over(limits_, None) is limits_


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def taken(workspace: Workspace, folder: Path, made: ClaudeLines) -> Session:
    path = folder / f"{made.session_id}.jsonl"
    path.write_bytes(bytes(made))
    return Session.objects.get(pk=take_file(workspace, path).session)


def test_what_is_recorded_wins_over_the_workspace_and_that_over_the_catalogue(workspace, tmp_path):
    session = taken(workspace, tmp_path, turns(1))
    assert window_of(session).total == 200_000
    limits.put(workspace, "claude-sonnet-*", {"context": 500_000, "output": 32_000}, source="our contract")
    found = window_of(session)
    assert (found.total, found.limits.output) == (500_000, 32_000)
    assert found.limits.source == "set in this workspace (our contract)"
    session.window = 150_000
    found = window_of(session)
    assert (found.total, found.limits.source) == (150_000, "recorded in the session")
    other = Workspace.objects.create(name="Other", slug="other")
    assert limits.overrides_of(other.pk) == ()


def test_saying_it_again_replaces_it_and_dropping_it_brings_the_catalogue_back(workspace):
    limits.put(workspace, "m", {"context": 1_000}, source="one")
    limits.put(workspace, "m", {"context": 2_000}, source="two", date=DAY)
    rows = limits.rows_of(workspace.pk)
    assert [(row.context, row.source, row.date) for row in rows] == [(2_000, "two", DAY)]
    limits.drop(workspace, "m")
    assert limits.rows_of(workspace.pk) == []
    with pytest.raises(Refused, match="Nothing is set"):
        limits.drop(workspace, "m")


@pytest.mark.parametrize(
    ("pattern", "given", "source", "words"),
    [
        ("", {"context": 1}, "x", "Name a model"),
        ("m", {}, "x", "at least one"),
        ("m", {"context": 1}, " ", "whose word"),
        ("m", {"context": 0}, "x", "above 0"),
        ("m", {"context": 1 << 40}, "x", "above 0"),
        ("m", {"context": 10, "input": 11}, "x", "more than the window"),
        ("m", {"price_input": 1}, "x", "both"),
        ("m", {"price_cache_read": 1}, "x", "beside them"),
        ("m", {"price_input": -1, "price_output": 1}, "x", "0 or more"),
        ("m", {"price_input": "NaN", "price_output": 1}, "x", "0 or more"),
        ("m", {"price_input": "dear", "price_output": 1}, "x", "0 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(workspace, pattern, given, source, words):
    with pytest.raises(Refused, match=words):
        limits.put(workspace, pattern, given, source=source)
    assert limits.rows_of(workspace.pk) == []


# -- sessions -------------------------------------------------------------------------------------------------------------


def priced() -> ClaudeLines:
    made = ClaudeLines()
    figures = {"input_tokens": 1_000, "cache_read_input_tokens": 100_000, "cache_creation_input_tokens": 2_000}
    for n in range(3):
        made.prompt(f"Part {n}.")
        made.says("Done.", usage={**figures, "output_tokens": 500})
    return made


def test_a_session_costs_the_sum_of_its_steps(workspace, tmp_path):
    session = taken(workspace, tmp_path, priced())
    found = cost_of(session)
    assert found.usd == 3 * Decimal("0.048")
    assert found.complete
    assert found.usd == sum(cost_of_step(step).total for step in session.steps.all())
    row = cost_row(found)
    assert (row["usd"], row["uncached_usd"], row["saved_by_cache_usd"]) == (0.144, 0.9495, 0.8055)
    assert row["models"][0]["since"] == "2026-03-02"
    assert row["models"][0]["source"].endswith("anthropic: claude-sonnet-4-5")
    assert any("five minutes" in note for note in row["notes"])


def test_long_prompts_are_priced_apart(workspace, tmp_path):
    session = taken(workspace, tmp_path, priced())
    session.steps.filter(n=2).update(cache_read=200_000)
    long = Spent(1_000, 200_000, 2_000, 500)
    rates = price_of("claude-sonnet-4-5", DAY).at(long.prompt)
    assert rates.input == 6
    assert cost_of(session).usd == 2 * Decimal("0.048") + cost_at(rates, long).total
    assert cost_of_step(session.steps.get(n=2)).total == cost_at(rates, long).total


def test_what_has_no_price_is_said_and_not_guessed(workspace, tmp_path):
    session = taken(workspace, tmp_path, priced())
    session.steps.filter(n=3).update(model="a-model-of-my-own")
    row = cost_row(cost_of(session))
    assert (row["usd"], row["complete"], row["unknown"]) == (0.096, False, ["a-model-of-my-own"])
    assert any("No price is known for a-model-of-my-own" in note for note in row["notes"])
    session.steps.update(model=None)
    row = cost_row(cost_of(session))
    assert (row["usd"], row["parts"], row["saved_by_cache_usd"]) == (None, None, None)
    assert cost_of_step(session.steps.get(n=1)) is None


def test_a_price_of_the_workspaces_own(workspace, tmp_path):
    session = taken(workspace, tmp_path, priced())
    limits.put(workspace, "claude-*", {"price_input": 1, "price_output": "2.5"}, source="our contract")
    found = cost_of(session)
    assert found.usd == 3 * (Decimal(103_000) + Decimal(1_250)) / 1_000_000
    assert cost_row(found)["models"][0]["source"] == "set in this workspace (our contract)"


def test_copied_requests_and_placeholders(workspace, tmp_path):
    session = taken(workspace, tmp_path, priced())
    session.steps.filter(n=1).update(copied=True)
    session.steps.filter(n=2).update(estimated=True)
    found = cost_of(session)
    assert found.usd == 2 * Decimal("0.048")
    assert found.lower
    assert cost_of_step(session.steps.get(n=1)).total == 0


def test_a_step_without_a_time_has_todays_price(workspace, tmp_path):
    session = taken(workspace, tmp_path, priced())
    session.steps.update(at=None)
    assert cost_row(cost_of(session))["models"][0]["since"] is None
    assert cost_of(session).usd == 3 * Decimal("0.048")
    step = session.steps.get(n=1)
    step.at = datetime(2026, 3, 2, 23, 59, tzinfo=UTC)
    assert cost_of_step(step).total == Decimal("0.048")


def test_many_sessions_are_priced_by_one_query(workspace, tmp_path):
    sessions = [
        taken(workspace, tmp_path, turns(2, ClaudeLines(f"{n}1111111-2222-4333-8444-555555555555"))) for n in range(3)
    ]
    with CaptureQueriesContext(connection) as queries:
        found = costs_of(sessions, overrides=())
    assert len(queries) == 1
    assert all(cost.usd is not None for cost in found.values())
    assert costs_of([]) == {}


def test_the_first_change_of_two_contexts():
    masked = Replace(4, (Part(PartKind.TEXT, "less"),))
    added = Insert(7, Role.USER, InsertKind.SUMMARY, (Part(PartKind.TEXT, "in short"),))
    assert first_change([], []) is None
    assert first_change([], [Hide(Ranges.of([(2, 5)]))]) == 2
    assert first_change([Hide(Ranges.of([(2, 5)]))], [Hide(Ranges.of([(2, 6)]))]) == 5
    assert first_change([masked], []) == first_change([], [masked]) == 4
    assert first_change([masked], [masked, added]) == 8


def test_what_a_change_of_version_costs_at_the_cache(workspace, tmp_path):
    session = taken(workspace, tmp_path, turns(6))
    meter = by_id("o200k")
    folded = Ranges.of([(8, 16)])
    summary = Insert(7, Role.USER, InsertKind.SUMMARY, (Part(PartKind.TEXT, "Two parts were read."),), folded)
    now = versions.make(
        session,
        parent=session.current,
        edits=[Hide(folded), summary],
        origin="person",
        kind="test",
        label="test",
        at_seq=session.entries_count - 1,
    )
    found = broken(session, session.current, now, meter)
    entries = list(session.entries.filter(sent=True).order_by("seq"))
    assert found.first == 8
    assert found.tokens[0] == sum(row.tokens for row in entries if row.seq < 8)
    assert found.tokens[0] + found.tokens[1] == now.tokens
    assert found.tokens[2] == sum(row.tokens for row in entries)
    row = broken_row(found)
    assert row["usd_extra"] == pytest.approx(row["usd_next"] - row["usd_intact"], abs=2e-6)
    assert "read anew" in row["sentence"]
    same = broken_row(broken(session, now, now, meter))
    assert (same["first_seq"], same["anew"], same["sentence"]) == (
        None,
        0,
        "Both contexts are the same: the cache holds.",
    )


def test_the_commands(workspace, tmp_path):
    session = taken(workspace, tmp_path, priced())
    versions.roll_back(session.pk, to_turn=2)

    def run(*args: str) -> str:
        out = io.StringIO()
        call_command(*args, stdout=out)
        return out.getvalue()

    found = json.loads(run("cost", str(session.pk), "--steps", "--to", "1", "--json"))
    assert found["usd"] == 0.144
    assert [step["usd"] for step in found["steps"]] == [0.048] * 3
    assert found["cache_break"]["from"] == 0
    assert "$0.1440" in run("cost", str(session.pk), "--to", "1", "--steps")
    said = ("limits", "--workspace", "scriptorium")
    run(
        *said, "--set", "claude-*", "--context", "300000", "--price-input", "1", "--price-output", "2", "--source", "us"
    )
    listed = json.loads(run(*said, "--json"))["limits"]
    assert [(row["pattern"], row["context"], row["price_output"]) for row in listed] == [("claude-*", 300_000, 2.0)]
    assert "claude-*: context 300,000" in run(*said)
    shown = json.loads(run(*said, "--show", "claude-sonnet-4-5", "--json"))["model"]
    assert (shown["context"], shown["price_source"]) == (300_000, "set in this workspace (us)")
    assert "dropped: claude-*" in run(*said, "--drop", "claude-*")
    assert "says nothing" in run(*said)
    assert "200,000" in run(*said, "--show", "claude-sonnet-4-5")
