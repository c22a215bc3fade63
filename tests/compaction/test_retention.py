"""The retention report against figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compaction.plan import Budget, Snapshot
from compaction.preview import preview
from compaction.retention import Retention, State, retention
from compaction.strategies import by_id
from compaction.strategies.base import settled
from compaction.summary.items import weight
from compaction.summary.need import TYPICAL_ERROR
from compaction.summary.survey import survey
from sessions.contexts import InsertKind, Item
from sessions.entries import Part, PartKind
from sessions.meters.tokens import count
from tests.builders import call, prompt, read, result, say, session

RULE = "Never touch the parse_ledger function, and always run the linter before you commit."


def story() -> Snapshot:
    return session(
        prompt(RULE),
        call("Edit", file_path="/home/ada/app/src/csv.py", old_string="x", new_string="def chunk_cursor(): pass"),
        result("ok"),
        call("Bash", command="make check"),
        result("Exit code 2\nerror: missing symbol WriterQueue in build", error=True),
        *read("/home/ada/app/src/other.py", "def helper_one(): pass\n"),
        say("I decided to use chunk_cursor because parse_ledger reads everything at once."),
        prompt("thanks"),
        say("You are welcome, see handle_rows."),
    )


def inserted(text: str, kind: InsertKind = InsertKind.SUMMARY) -> Item:
    start = story().items[0]
    return replace(start, key="i0", seq=None, kind=kind, parts=(Part(PartKind.TEXT, text),))


def report(after: list[Item], start: Snapshot | None = None) -> Retention:
    before = (start or story()).items
    return retention(survey(before), before, after)


def kind(made: Retention, name: str) -> tuple[int, int, int, int]:
    found = next(k for k in made.kinds if k.kind == name)
    return found.verbatim, found.part, found.pointer, found.lost


def test_all_kept_is_all_verbatim() -> None:
    made = report(list(story().items))
    assert made.future_use == 1.0
    assert made.static == 1.0
    assert made.losses == ()
    assert made.names == made.names_kept
    assert (made.instructions, made.instructions_kept) == (1, 1)


def test_all_gone_is_all_lost() -> None:
    made = report([inserted("nothing of it")])
    assert made.future_use == 0.0
    assert {k.kind: k.lost for k in made.kinds} == {k.kind: k.total for k in made.kinds}
    assert {loss.state for loss in made.losses} == {State.LOST}


def test_the_headline_is_the_worth_of_what_survives() -> None:
    start = story()
    surveyed = survey(start.items)
    p = surveyed.needs.p
    made = report([inserted("parse_ledger and csv.py stay known"), *start.items[8:]])
    there = {"i:parse_ledger", "p:csv.py", "i:handle_rows"}
    worth = {term: p[term] * weight(term) for term in p}
    assert made.future_use == pytest.approx(sum(worth[term] for term in there) / sum(worth.values()))
    assert made.names_kept == 3
    assert made.names == len(p)
    assert made.expected_names == pytest.approx(sum(p.values()), abs=0.05)
    assert made.future_use_error == TYPICAL_ERROR == 0.15


def test_verbatim_part_pointer_lost() -> None:
    start = story()
    rest = list(start.items[8:])
    assert kind(report([inserted(f"- {RULE}"), *rest]), "instruction") == (1, 0, 0, 0)
    assert kind(
        report([inserted("Never touch the parse_ledger function, and always run the linter"), *rest]), "instruction"
    ) == (0, 1, 0, 0)
    assert kind(report([inserted("something about parse_ledger"), *rest]), "instruction") == (0, 0, 1, 0)
    assert kind(report([inserted("be careful"), *rest]), "instruction") == (0, 0, 0, 1)


def test_a_masked_result_is_a_pointer_unless_its_line_says_the_error() -> None:
    start = story()

    def masked(text: str) -> Retention:
        items = list(start.items)
        items[4] = replace(items[4], parts=(replace(items[4].parts[0], text=text),), masked=True)
        return report(items)

    assert kind(masked("[output left out]"), "error") == (0, 0, 1, 0)
    assert kind(masked("[output left out; error: missing symbol WriterQueue in build]"), "error") == (1, 0, 0, 0)


def test_files_are_kept_when_named() -> None:
    made = report([inserted("edited /home/ada/app/src/csv.py"), *story().items[8:]])
    assert kind(made, "edited") == (1, 0, 0, 0)
    assert kind(made, "read") == (0, 0, 0, 1)


def test_losses_are_sorted_by_weight_and_need_and_name_their_entries() -> None:
    made = report([inserted("nothing"), *story().items[8:]])
    assert made.losses[0].kind == "instruction"
    assert made.losses[0].seq == 0
    values = [loss.weight * loss.need * (0.5 if loss.state is State.POINTER else 1) for loss in made.losses]
    assert values == sorted(values, reverse=True)
    error = next(loss for loss in made.losses if loss.kind == "error")
    assert error.seqs == (3, 4)
    assert "WriterQueue" in error.text
    assert all(loss.seq is None or 0 <= loss.seq <= 9 for loss in made.losses)


def test_a_pin_takes_its_fact_out_of_the_losses() -> None:
    filler = [draft for n in range(30) for draft in (prompt(f"step {n}"), say(f"worked on part_number_{n} " * 20))]
    start = session(
        prompt("go"),
        call("Bash", command="run.sh"),
        result("Exit code 1\nfatal: very_special_failure in qux", error=True),
        *filler,
    )
    hybrid = by_id("hybrid")

    def made(*pins: int) -> Any:
        values = settled(hybrid.params, {"keep": 200, "aim": 700, "summary": 250})
        return preview(hybrid, start, Budget("o200k", count), values, pins=pins).retention

    lost = {loss.text for loss in made().losses}
    kept = {loss.text for loss in made(2).losses}
    assert "very_special_failure" in " ".join(lost) or not lost
    assert "very_special_failure" not in " ".join(kept)


def test_chinese_instructions_are_compared_by_pairs_of_characters() -> None:
    rule = "必须保留所有数据库接口，不要修改表结构，务必运行测试。"
    start = session(prompt(rule), say("好"), prompt("继续"), say("完成"))
    rest = list(start.items[2:])
    assert kind(report([inserted(f"- {rule}"), *rest], start), "instruction") == (1, 0, 0, 0)
    assert kind(report([inserted("必须保留所有数据库接口，不要修改表结构"), *rest], start), "instruction") == (
        0,
        1,
        0,
        0,
    )
    assert kind(report([inserted("另一件事"), *rest], start), "instruction") == (0, 0, 0, 1)


def test_it_goes_into_json() -> None:
    import orjson

    assert orjson.loads(orjson.dumps(report([inserted("x")]).to_json()))["names_kept"] == 0
