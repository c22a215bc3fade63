"""The measures of what a context still gives the work that followed, against figures worked out by hand; and what they say of Hybrid."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest

from compaction.measure import folder, tables
from compaction.measure.baselines import BASELINES
from compaction.measure.fitting import LEAST_SUMMARY, fitted, tokens_of
from compaction.measure.future import demand, recall, said
from compaction.measure.pieces import fit, worked_on
from compaction.measure.static import facts, static
from compaction.strategies import by_id, strategies
from compaction.summary.survey import survey
from sessions.contexts import Item
from sessions.meters.tokens import count
from tests.builders import call, items, prompt, read, result, say

OLD = "    rows = parse_ledger(source)\n    return sum_columns(rows)"
BEFORE = (
    prompt("Make the import faster; see docs/limits.md for the figures."),
    read("/home/ada/app/src/csv_reader.py", f"def load_rows(source):\n{OLD}\n"),
    call("Bash", command="make bench"),
    result("elapsed_total 41 s in chunk_cursor of the streaming importer"),
    say("The helper chunk_cursor copies every row before it is parsed."),
)
AFTER = (
    call("Grep", pattern="chunk_cursor"),
    result("writer_pool.py: writer_pool = open_pool()"),
    call("Edit", file_path="/home/ada/app/src/csv_reader.py", old_string=OLD, new_string="    return fast_sum(source)"),
    result("ok"),
    say("Now writer_pool and chunk_cursor agree with docs/limits.md."),
    prompt("What about parse_ledger?"),
    say("parse_ledger is gone."),
)


def split() -> tuple[list[Item], list[Item]]:
    before = items(BEFORE)
    return before, items(AFTER, before)[len(before) :]


def test_demand_is_what_is_used_from_memory_alone() -> None:
    before, after = split()
    wanted = demand(said(before), said(after))
    # writer_pool came from a result after the cut, fast_sum was never there before; parse_ledger was used in the edit before the person named it.
    assert wanted.needed == {
        "i:chunk_cursor": 2,
        "p:csv_reader.py": 1,
        "i:parse_ledger": 1,
        "i:sum_columns": 1,
        "p:limits.md": 1,
    }
    assert wanted.edits == [" ".join(OLD.split())]
    assert wanted.named == {"i:parse_ledger"}
    assert [len(one) for one in wanted.calls] == [1, 3]


def test_nothing_after_the_cut_is_seen_in_the_prefix_and_an_edit_shown_again_asks_for_nothing() -> None:
    before, after = split()
    again = items((*read("/home/ada/app/src/csv_reader.py", f"def load_rows(source):\n{OLD}\n"), *AFTER), before)
    assert demand(said(before), said(again[len(before) :])).edits == []
    assert demand(said(before), said(before[:0])).needed == {}
    assert not demand([], said(after)).needed


def test_recall_by_hand() -> None:
    before, after = split()
    wanted = demand(said(before), said(after))
    all_of_it = 1 + log(2)  # chunk_cursor, used twice
    total = all_of_it + 2 + 1 + 1 + 2
    whole = recall(wanted, [event.text for event in said(before)])
    assert (whole.plain, whole.supported, whole.calls, whole.edits, whole.messages) == (1.0, 1.0, 1.0, 1.0, 1.0)
    some = recall(wanted, ["The helper chunk_cursor copies every row", "docs/limits.md"])
    assert some.supported == pytest.approx((all_of_it + 2) / total)
    assert (some.calls, some.edits, some.messages) == (0.5, 0.0, 0.0)
    assert recall(wanted, []).supported == 0.0


def test_bare_names_are_recalled_and_not_supported() -> None:
    before, after = split()
    wanted = demand(said(before), said(after))
    bag = recall(wanted, ["chunk_cursor sum_columns parse_ledger csv_reader.py limits.md"])
    assert bag.plain == 1.0
    assert bag.supported == pytest.approx(4 / (1 + log(2) + 6))  # the two paths, which say themselves
    assert bag.edits == 0.0


def test_static_recall_by_hand() -> None:
    before, _ = split()
    surveyed = survey(before)
    known = facts(surveyed.findings, said(before))
    whole = static(known, [event.text for event in said(before)])
    assert whole["all"] == 1.0
    kept = static(known, ["Make the import faster; see docs/limits.md for the figures."])
    assert kept["user"] == 1.0
    assert kept["read"] == 0.0
    assert 0 < kept["last"] < 0.5
    assert static(known, ["src/csv_reader.py"])["read"] == 1.0
    weights = {"user": 3, "read": 1, "last": 2}
    shares = {kind: share for kind, share in kept.items() if kind in weights}
    assert set(kept) == {*shares, "all"}
    assert kept["all"] == pytest.approx(sum(weights[k] * s for k, s in shares.items()) / 6)


@pytest.mark.parametrize("budget", [700, 1_500, 3_000])
def test_nothing_is_scored_above_its_budget(budget: int) -> None:
    from tests.builders import session

    long = [
        group
        for n in range(40)
        for group in (
            prompt(f"Step {n}: never drop row_{n}."),
            *(read(f"/home/ada/app/src/part_{n}.py", f"def handler_{n}(value):\n    return value\n" * 12),),
            say(f"I decided on handler_{n} because it is simple."),
        )
    ]
    snapshot = session(*long)
    surveyed = survey(snapshot.items)
    for name, make in BASELINES.items():
        made = make(snapshot.items, snapshot.tokens, budget, count)
        assert made.tokens <= budget, name
        assert sum(tokens_of(made.items, count)) == made.tokens, name
    for name, strategy in strategies().items():
        if name in folder.LEFT_OUT:
            continue
        made = fitted(strategy, snapshot, budget, surveyed)
        assert LEAST_SUMMARY < made.tokens <= budget, name
        assert sum(tokens_of(made.items, count)) == made.tokens, name


def test_intervals_are_by_session_and_the_same_every_time() -> None:
    means = tables.by_session([("a", 1.0), ("a", 0.0), ("b", 1.0), ("c", None)])
    assert means == [0.5, 1.0]
    first = tables.interval([0.2, 0.4, 0.6, 0.8])
    assert first == tables.interval([0.2, 0.4, 0.6, 0.8])
    assert first["mean"] == 0.5
    assert first["low"] is not None
    assert first["high"] is not None
    assert 0.2 <= first["low"] < 0.5 < first["high"] <= 0.8


def test_fitted_weights_find_the_feature_that_tells() -> None:
    rows = [((float(n % 2), 1.0, 0.0, float(n % 3 == 0), float(n % 5), 0.0), n % 3 == 0) for n in range(120)]
    found = fit(rows)
    assert found is not None
    assert found.written > 2 > abs(found.log_size)
    assert fit([(row, False) for row, _ in rows]) is None


def test_a_text_over_two_pieces_is_worked_on_in_both() -> None:
    pieces = ["def one(): return 1", "", "def two(): return 2", "def three(): return 3"]
    assert worked_on(pieces, ["return 2"]) == {2}
    assert worked_on(pieces, ["return 1 def two():", "is nowhere"]) == {0, 2}
    assert worked_on(pieces, ["return"]) == {0, 2, 3}


def test_hybrid_beats_the_baselines_on_recorded_sessions(shared_data: Path) -> None:
    """A few sessions alone: what `bench retention` says of all of them stands in docs/retention.md."""
    found = folder.bench(shared_data / "retention", budgets=(4_000,), names=["hybrid"], processes=1, limit=6)
    rows = {row["method"]: row for row in found["rows"]}
    assert found["cases"] >= 3
    for other in ("last-n", "plain-mask", "bag-of-names"):
        for measure in ("supported", "static"):
            assert rows["hybrid"][measure]["mean"] > rows[other][measure]["mean"], (other, measure)
    assert rows["bag-of-names"]["recall"]["mean"] > 0.9 > 0.7 > rows["bag-of-names"]["supported"]["mean"]
    assert abs(rows["last-n"]["recall"]["mean"] - rows["last-n"]["supported"]["mean"]) < 0.01
    assert rows["hybrid"]["tokens"] <= 4_000


def test_a_folder_without_sessions_says_so(tmp_path: Path) -> None:
    with pytest.raises(folder.NoSessions, match="no recorded sessions"):
        folder.bench(tmp_path)
    assert by_id("hybrid").id == folder.OURS
