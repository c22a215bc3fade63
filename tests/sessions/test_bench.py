"""The measures run, say what they measured, and leave nothing behind."""

from __future__ import annotations

import io
import json
from pathlib import PurePath
from typing import Any

import pytest
from django.core.management import call_command

from sessions.adapters.claude_code import ADAPTER
from sessions.assembly import read_whole
from sessions.bench import corpus, likeness
from sessions.models import Entry, Session, Source, SourceChunk
from webapp.models import User, Workspace


def bench(*args: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("bench", *args, "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    call_command("bench", *args, stdout=out)  # and in words
    return found


@pytest.fixture
def leaves_nothing(db):
    yield
    for model in (Workspace, User, Session, Source, SourceChunk, Entry):
        assert not model.objects.exists(), model


def test_the_invented_session_hangs_together_and_is_the_same_every_time():
    made = list(corpus.lines(4_000))
    assert made == list(corpus.lines(4_000))
    assert made != list(corpus.lines(4_000, seed=2))
    read = read_whole(ADAPTER, PurePath("x.jsonl"), [(b"".join(made), False)])
    assert len(read.placed) == 4_000
    assert not [placed.entry.problem for placed in read.placed if placed.entry.problem]
    assert [version.kind for version in read.versions] == ["compaction"] * len(read.versions)
    assert len(read.versions) >= 1
    assert read.placed[-1].turn is not None
    assert read.placed[-1].turn > 100


def test_ingest(leaves_nothing):
    found = bench("ingest", "--mb", "1", "--processes", "1")
    assert 1_000_000 <= found["bytes"] < 1_300_000
    assert found["entries"] > 200
    assert found["seconds"] > 0
    assert found["floor"]["seconds"] > 0
    assert found["peak_memory"] >= 1 << 20


def test_ingest_of_given_files(leaves_nothing, tmp_path):
    """What is no session of its own is named, and why."""
    corpus.write(tmp_path, 300, seed=7)
    (tmp_path / "notes.md").write_text("# Not a session\n")
    found = bench("ingest", "--processes", "1", str(tmp_path))
    assert (found["files"], found["entries"]) == (1, 300)
    assert found["times_the_floor"] > 0
    (left,) = found["left_out"]
    assert left["path"].endswith("notes.md")
    assert left["reason"].startswith("skipped: ")


def test_invented_sessions_are_as_long_as_recorded_ones():
    made = list(likeness.lines(4_000))
    assert made == list(likeness.lines(4_000))
    sizes = sorted(map(len, made))
    for part, recorded in ((0.25, 718), (0.5, 1_064), (0.75, 1_878), (0.9, 6_156)):
        assert 0.6 * recorded < sizes[int(len(sizes) * part)] < 1.5 * recorded
    assert 2_500 < sum(sizes) / len(sizes) < 4_500
    read = read_whole(ADAPTER, PurePath("x.jsonl"), [(b"".join(made), False)])
    assert not [placed.entry.problem for placed in read.placed if placed.entry.problem]
    assert {version.kind for version in read.versions} == {"compaction"}


def test_an_appended_line(leaves_nothing):
    found = bench("append", "--mb", "1", "--lines", "2")
    (size,) = found["sizes"]
    assert size["entries"] > 200
    assert 0 < size["seconds"] <= size["most_seconds"]
    assert size["cpu_seconds"] > 0


def test_pages(leaves_nothing):
    found = bench(
        "pages", "--small", "60", "--large", "300", "--steps", "3000", "--sessions", "7", "--goals", "60", "--runs", "1"
    )
    assert [row["page"] for row in found["pages"]] == ["session", "entries"]
    assert all(row["small_bytes"] > 500 for row in found["pages"])
    assert found["ratio"] == found["pages"][0]["ratio"] > 0
    assert [row["window"] for row in found["chart"]] == ["all", "half", "1,000", "as if"]
    assert all(row["seconds"] > 0 and row["bytes"] > 5_000 for row in found["chart"])
    assert all(row["bytes"] > 5_000 for row in found["audit"])


def test_compaction(leaves_nothing):
    found = bench("compaction", "--entries", "200", "400", "--strategy", "mask", "hybrid", "--runs", "1")
    rows = [(row["entries"], row["strategy"], row["status"]) for row in found["sizes"]]
    assert rows == [
        (entries, strategy, status)
        for entries in (200, 400)
        for strategy, status in (("mask", "pruned_only"), ("hybrid", "completed"))
    ]
    assert all(row["tokens_after"] < row["tokens_before"] for row in found["sizes"])
    assert [(row["strategy"], row["times_entries"]) for row in found["growth"]] == [("mask", 2), ("hybrid", 2)]
