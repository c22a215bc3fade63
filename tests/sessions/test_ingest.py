"""Taking files in: exact bytes, every record, only what is new, nothing lost."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions.ingest import Taken, take, take_file
from sessions.ingesting import ingest_paths
from sessions.models import Entry, Session, Source, Version
from sessions.packing import compress
from sessions.projection import context_items, measure
from sessions.sourcebytes import stored
from sessions.store import edits_of
from tests.claude_lines import ClaudeLines, turns
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def write(folder: Path, data: bytes, name: str = "11111111-2222-4333-8444-555555555555.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def bytes_of(source: Source) -> bytes:
    return b"".join(stored(source))


def session_of(taken: Taken) -> Session:
    return Session.objects.get(pk=taken.session)


def rows(session: Session) -> list[tuple[Any, ...]]:
    names = (
        "seq",
        "turn",
        "step",
        "goal",
        "kind",
        "role",
        "native_id",
        "sent",
        "text",
        "tokens",
        "byte_offset",
        "byte_length",
        "problem",
    )
    return list(session.entries.order_by("seq").values_list(*names))


def test_a_file_comes_in_whole_and_its_bytes_come_back(workspace: Workspace, tmp_path: Path) -> None:
    data = bytes(turns(3))
    taken = take_file(workspace, write(tmp_path, data))
    assert (taken.outcome, taken.agent, taken.entries, taken.turns, taken.steps) == ("added", "claude-code", 12, 3, 6)
    session = session_of(taken)
    assert bytes_of(session.source) == data
    assert [
        data[e.byte_offset : e.byte_offset + e.byte_length] for e in session.entries.order_by("seq")
    ] == data.splitlines(keepends=True)
    assert session.totals == {
        "fresh": 60,
        "cache_read": 600,
        "cache_write": 30,
        "output": 120,
        "reasoning": None,
        "steps": 6,
    }
    assert session.title == "Please look at part 1 of the ledger"
    assert (session.project, session.branch, session.agent_version) == ("ledger", "main", "2.1.150")


def test_the_same_file_twice_changes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    path = write(tmp_path, bytes(turns(2)))
    first = take_file(workspace, path)
    before = rows(session_of(first))
    again = take_file(workspace, path)
    assert (again.outcome, again.added, again.session) == ("unchanged", 0, first.session)
    assert rows(session_of(first)) == before
    assert Source.objects.count() == 1


def test_one_file_by_two_paths_is_one_source(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    made = turns(1)
    path = write(tmp_path, bytes(made))
    take_file(workspace, path)
    made.prompt("more")
    path.write_bytes(bytes(made))
    assert take_file(workspace, tmp_path / "inner" / ".." / path.name).outcome == "grown"
    assert take_file(workspace, tmp_path / "link" / path.name).outcome == "unchanged"
    assert Source.objects.count() == 1


def test_the_same_bytes_under_another_name_are_not_taken_twice(workspace: Workspace, tmp_path: Path) -> None:
    data = bytes(turns(2))
    first = take_file(workspace, write(tmp_path, data))
    copy = take_file(workspace, write(tmp_path, data, "99999999-2222-4333-8444-555555555555.jsonl"))
    assert (copy.outcome, copy.added, copy.session) == ("same", 0, first.session)
    assert Session.objects.count() == 1


def test_a_grown_file_costs_what_was_appended_and_equals_one_read_whole(workspace: Workspace, tmp_path: Path) -> None:
    data = bytes(turns(6))
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    cuts = [len(data) // 3, len(data) // 2 + 7, len(data)]
    outcomes = []
    for stop in cuts:
        path.write_bytes(data[:stop])
        outcomes.append(take_file(workspace, path).outcome)
    grown = Session.objects.get()
    assert outcomes == ["added", "grown", "grown"]
    assert bytes_of(grown.source) == data
    whole = session_of(take_file(workspace, write(tmp_path, data + b'{"type":"mode","mode":"x"}\n', "whole.jsonl")))
    assert rows(grown) == rows(whole)[:-1]
    assert list(grown.steps.order_by("n").values_list("n", "first_seq", "last_seq", "fresh", "output")) == list(
        whole.steps.order_by("n").values_list("n", "first_seq", "last_seq", "fresh", "output")
    )


def test_a_half_written_last_line_is_read_again_when_it_is_whole(workspace: Workspace, tmp_path: Path) -> None:
    data = bytes(turns(2))
    path = write(tmp_path, data[:-40])
    torn = take_file(workspace, path)
    last = session_of(torn).entries.order_by("seq").last()
    assert last is not None
    assert last.kind == "malformed"
    assert last.problem
    assert torn.malformed == 1
    path.write_bytes(data)
    whole = take_file(workspace, path)
    assert (whole.outcome, whole.malformed, whole.entries) == ("grown", 0, 8)
    assert session_of(whole).entries.get(seq=7).kind == "message"


def test_a_rewritten_file_is_a_new_revision_and_the_old_one_stays(workspace: Workspace, tmp_path: Path) -> None:
    old = bytes(turns(3))
    path = write(tmp_path, old)
    first = take_file(workspace, path)
    new = bytes(turns(1))
    path.write_bytes(new)
    second = take_file(workspace, path)
    assert second.outcome == "rewritten"
    before, after = Session.objects.get(pk=first.session), Session.objects.get(pk=second.session)
    assert before.superseded_by == after
    assert (bytes_of(before.source), bytes_of(after.source)) == (old, new)
    assert (before.source.revision, after.source.revision) == (1, 2)


def test_a_compressed_file_is_kept_as_it_is_and_read(workspace: Workspace, tmp_path: Path) -> None:
    packed = compress(bytes(turns(2)))
    taken = take_file(workspace, write(tmp_path, packed, "11111111-2222-4333-8444-555555555555.jsonl.zst"))
    assert (taken.outcome, taken.entries) == ("added", 8)
    assert bytes_of(session_of(taken).source) == packed


def test_dirt_is_kept_and_said_and_the_rest_goes_on(workspace: Workspace, tmp_path: Path) -> None:
    made = turns(1)
    made.raw(b"not json")
    made.raw(b"[1,2]")
    made.raw(b"\x00\x00\x00")
    made.raw(b'{"type":"something-new","x":1}')
    made.says("NUL \x00 inside, lone \ud83d surrogate".encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
    made.raw(
        b'{"type":"user","uuid":"s","parentUuid":null,"message":{"role":"user","content":"lone \\ud83d and \\u0000"}}'
    )
    made.says("line\u2028separator")
    taken = take_file(workspace, write(tmp_path, bytes(made)))
    session = session_of(taken)
    kinds = list(session.entries.order_by("seq").values_list("kind", flat=True))[4:]
    assert kinds[:4] == ["malformed", "malformed", "malformed", "other"]
    assert taken.malformed == 3
    assert bytes_of(session.source) == bytes(made)
    assert "lone \ufffd and \u2400" in session.entries.get(seq=9).text
    assert session.entries.get(seq=10).text == "line\u2028separator"


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "an empty file"), (b"hello\n", "no records"), (b"\x00" * 5000, "no records"), (b"{}\n", "no records")],
)
def test_what_is_no_session_is_said(workspace: Workspace, tmp_path: Path, data: bytes, words: str) -> None:
    taken = take_file(workspace, write(tmp_path, data))
    assert taken.outcome == "skipped"
    assert words in taken.reason
    assert Source.objects.count() == 0


def test_a_database_is_never_kept_whole(workspace: Workspace) -> None:
    taken = take(workspace, "opencode.db", io.BytesIO(b"SQLite format 3\x00" + b"secret " * 200))
    assert (taken.outcome, Source.objects.count()) == ("skipped", 0)
    assert taken.reason.startswith("a database")


@pytest.mark.parametrize("type_", [[], {}, None, 7])
def test_a_type_that_is_no_word_is_nobodys(workspace: Workspace, tmp_path: Path, type_: object) -> None:
    line = json.dumps({"type": type_, "payload": {}, "timestamp": "x", "content": "", "id": "1"}).encode()
    assert take_file(workspace, write(tmp_path, line + b"\n", "odd.jsonl")).outcome == "skipped"


def test_folders_missing_files_and_loops_of_links(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    write(tmp_path / "a", bytes(turns(1)))
    taken = ingest_paths(workspace, [tmp_path, tmp_path / "nowhere.jsonl"])
    assert [(Path(t.path).name, t.outcome) for t in taken] == [
        ("11111111-2222-4333-8444-555555555555.jsonl", "added"),
        ("nowhere.jsonl", "failed"),
    ]


def test_copies_of_an_answer_are_counted_once_in_a_workspace(workspace: Workspace, tmp_path: Path) -> None:
    first = turns(2)
    fork = ClaudeLines(session_id="22222222-2222-4333-8444-555555555555")
    fork.lines = list(first.lines)
    fork.leaf, fork._n = first.leaf, first._n
    fork.prompt("another way")
    fork.says("a new answer", message="msg_new")
    take_file(workspace, write(tmp_path, bytes(first)))
    forked = session_of(
        take_file(workspace, write(tmp_path, bytes(fork), "22222222-2222-4333-8444-555555555555.jsonl"))
    )
    assert forked.totals["steps"] == 1
    assert sum(s.totals["output"] for s in Session.objects.all()) == 100


def test_a_native_compaction_is_a_version_and_its_context_is_what_is_sent(workspace: Workspace, tmp_path: Path) -> None:
    made = turns(2)
    made.compact("We looked at two parts.")
    made.prompt("go on")
    made.says("Going on.")
    session = session_of(take_file(workspace, write(tmp_path, bytes(made))))
    assert list(session.versions.order_by("n").values_list("n", "origin", "kind")) == [
        (0, "recorded", "recorded"),
        (1, "native", "compaction"),
    ]
    assert session.native_head is not None
    assert session.native_head.n == 1
    assert session.head is None
    texts = [item.text for item in context_items(session)]
    assert len(texts) == 3
    assert "We looked at two parts." in texts[0]
    assert texts[1:] == ["go on", "Going on."]


def test_growing_past_a_compaction_keeps_the_versions_there_are(workspace: Workspace, tmp_path: Path) -> None:
    made = turns(2)
    made.compact("Two parts.")
    path = write(tmp_path, bytes(made))
    session = session_of(take_file(workspace, path))
    kept = session.native_head
    made.prompt("go on")
    made.compact("Three things.")
    path.write_bytes(bytes(made))
    take_file(workspace, path)
    session.refresh_from_db()
    assert session.native_head is not None
    assert session.native_head.parent == kept
    assert Version.objects.filter(session=session).count() == 3


def test_a_versions_hash_and_tokens_are_those_of_its_context(workspace: Workspace, tmp_path: Path) -> None:
    made = turns(2)
    made.compact("Two parts.")
    session = session_of(take_file(workspace, write(tmp_path, bytes(made))))
    for version in session.versions.all():
        assert (version.content_hash, version.tokens) == measure(session.pk, edits_of(version), version.at_seq)
    assert session.native_head is not None
    assert session.native_head.tokens == sum(item.sizes.tokens for item in context_items(session))


_PIECES = st.lists(
    st.sampled_from([b'{"type":"user","uuid":"u","message":{"role":"user","content":"hi"}}', b"\x00\xff", b"{", b"\n", b"\r\n", b"[]", b"x\xe2\x80\xa8y"]),
    max_size=12,
).map(b"".join)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(dirt=_PIECES, cut=st.integers(0, 400))
def test_whatever_the_dirt_the_bytes_come_back_and_reading_in_two_goes_equals_one(
    workspace: Workspace, tmp_path: Path, dirt: bytes, cut: int
) -> None:
    Session.objects.all().delete()
    Source.objects.all().delete()
    data = bytes(turns(1)) + dirt
    path = write(tmp_path, data[: max(1200, len(data) - cut)])
    take_file(workspace, path)
    path.write_bytes(data)
    in_two = session_of(take_file(workspace, path))
    assert bytes_of(in_two.source) == data
    spans = list(in_two.entries.order_by("seq").values_list("byte_offset", "byte_length"))
    assert sum(length for _, length in spans) == len(data)
    two = rows(in_two)
    Session.objects.all().delete()
    Source.objects.all().delete()
    assert rows(session_of(take_file(workspace, path))) == two
    assert Entry.objects.filter(session=in_two).count() == 0


def test_steps_and_goals_are_written_on_the_way_and_come_to_the_same(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long log is written as it is read; in one go it comes to the same steps, goals and counts."""
    data = bytes(turns(120))

    def figures(session: Session) -> tuple[Any, ...]:
        goals = session.goals.order_by("position").values_list("path", "status", "entries_count", "tokens", "first_seq")
        steps = session.steps.order_by("n").values_list("n", "turn", "first_seq", "last_seq", "output")
        return list(goals), list(steps), session.totals

    whole = figures(session_of(take_file(workspace, write(tmp_path, data))))
    Session.objects.all().delete()
    Source.objects.all().delete()
    monkeypatch.setattr("sessions.reading._STEPS", 70)
    assert figures(session_of(take_file(workspace, write(tmp_path, data)))) == whole
    assert len(whole[0]) == 120
