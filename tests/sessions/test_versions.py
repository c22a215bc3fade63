"""The head moves and nothing else does: undo, redo, roll back return to contexts that are identical, by hash."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions import versions
from sessions.contexts import Hide, Insert, InsertKind
from sessions.entries import Part, PartKind, Role
from sessions.ingest import take_file
from sessions.models import Event, Session, Source, Version
from sessions.projection import context_items, measure
from sessions.ranges import Ranges
from sessions.store import edits_of
from sessions.versions import Refused
from tests.claude_lines import ClaudeLines, turns
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


def taken(folder: Path, made: ClaudeLines, workspace: Workspace | None = None) -> Session:
    workspace = workspace or Workspace.objects.get_or_create(name="Scriptorium", slug="scriptorium")[0]
    path = folder / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(bytes(made))
    return Session.objects.get(pk=take_file(workspace, path).session)


def hash_at(session: Session) -> str:
    session.refresh_from_db()
    assert session.current is not None
    return measure(session.pk, edits_of(session.current))[0]


def texts(session: Session) -> list[str]:
    session = Session.objects.get(pk=session.pk)
    return [item.text for item in context_items(session)]


def compacted() -> ClaudeLines:
    made = turns(2)
    made.compact("Two parts were read.")
    made.prompt("go on")
    made.calls("toolu_x", "Bash", {"command": "ls"})
    made.result("toolu_x", "a b c")
    made.says("There are three.")
    return made


def test_undo_of_a_native_compaction_brings_its_entries_back_and_redo_takes_them(tmp_path: Path) -> None:
    session = taken(tmp_path, compacted())
    before = texts(session)
    moved = versions.undo(session.pk)
    assert (moved.was.n, moved.now.n, moved.kept) == (1, 0, 4)
    assert texts(session)[0] == "Please look at part 1 of the ledger"
    versions.redo(session.pk)
    assert texts(session) == before
    session.refresh_from_db()
    assert session.head is None, "back at the native head, it is followed again"


def test_nothing_to_undo_and_nothing_to_redo_are_refused_and_move_nothing(tmp_path: Path) -> None:
    session = taken(tmp_path, turns(1))
    with pytest.raises(versions.Refused) as undoing:
        versions.undo(session.pk)
    with pytest.raises(versions.Refused) as redoing:
        versions.redo(session.pk)
    assert (undoing.value.code, redoing.value.code) == ("nothing_to_undo", "nothing_to_redo")
    assert Event.objects.count() == 0


def test_roll_back_to_a_turn_hides_what_came_after_and_is_undoable(tmp_path: Path) -> None:
    session = taken(tmp_path, turns(3))
    before = hash_at(session)
    moved = versions.roll_back(session.pk, to_turn=1, reason="wrong file")
    assert moved.now.facts["reason"] == "wrong file"
    assert texts(session)[-1] == "Part 1 prints its own number."
    versions.undo(session.pk)
    assert hash_at(session) == before


def test_roll_back_never_parts_a_call_from_its_result(tmp_path: Path) -> None:
    session = taken(tmp_path, turns(2))
    moved = versions.roll_back(session.pk, to_entry=5)
    assert moved.notes == ("moved back to entry 4, so that no call stands without its result",)
    assert texts(session)[-1] == "Please look at part 2 of the ledger"


def test_roll_back_into_a_fold_brings_the_history_before_it_back(tmp_path: Path) -> None:
    session = taken(tmp_path, compacted())
    moved = versions.roll_back(session.pk, to_turn=1)
    assert "a fold" in moved.notes[0]
    assert texts(session)[0] == "Please look at part 1 of the ledger"
    assert texts(session)[-1] == "Part 1 prints its own number."
    versions.undo(session.pk)
    assert "Two parts were read." in texts(session)[0]


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ({"to_turn": 9}, "no_such_turn"),
        ({"to_entry": 99}, "no_such_entry"),
        ({"to_turn": 2}, "nothing_to_roll_back"),
        ({}, "usage"),
        ({"to_turn": 1, "to_entry": 1}, "usage"),
    ],
)
def test_roll_backs_that_cannot_be_say_why(tmp_path: Path, place: dict[str, int], code: str) -> None:
    session = taken(tmp_path, turns(2))
    with pytest.raises(versions.Refused) as refused:
        versions.roll_back(session.pk, **place)
    assert refused.value.code == code
    assert Version.objects.filter(session=session).count() == 1


def test_what_arrives_after_an_undo_is_kept_and_both_heads_are_told(tmp_path: Path) -> None:
    made = compacted()
    session = taken(tmp_path, made)
    versions.undo(session.pk)
    made.prompt("one more")
    session = taken(tmp_path, made)
    session.refresh_from_db()
    assert session.head is not None
    assert session.native_head is not None
    assert (session.head.n, session.native_head.n) == (0, 1)
    assert texts(session)[-1] == "one more"
    assert texts(session)[0] == "Please look at part 1 of the ledger"


def test_a_new_version_clears_what_redo_would_bring(tmp_path: Path) -> None:
    session = taken(tmp_path, turns(3))
    versions.roll_back(session.pk, to_turn=2)
    versions.undo(session.pk)
    versions.roll_back(session.pk, to_turn=1)
    with pytest.raises(versions.Refused):
        versions.redo(session.pk)


def test_the_head_moves_to_any_version(tmp_path: Path) -> None:
    session = taken(tmp_path, compacted())
    versions.move_head(session.pk, 0)
    assert versions.move_head(session.pk, 1).now.n == 1
    with pytest.raises(versions.Refused):
        versions.move_head(session.pk, 7)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=st.lists(st.sampled_from(["undo", "redo", "back1", "back2", "fold"]), max_size=10))
def test_any_chain_of_moves_gives_the_same_hash_at_the_same_version(tmp_path: Path, moves: list[str]) -> None:
    Session.objects.all().delete()
    Source.objects.all().delete()
    session = taken(tmp_path, turns(3))
    seen: dict[int, str] = {}
    for move in moves:
        try:
            match move:
                case "undo":
                    versions.undo(session.pk)
                case "redo":
                    versions.redo(session.pk)
                case "fold":
                    fold(session)
                case _:
                    versions.roll_back(session.pk, to_turn=int(move[-1]))
        except versions.Refused:
            continue
        digest = hash_at(session)
        current = Session.objects.get(pk=session.pk).current
        assert current is not None
        assert seen.setdefault(current.n, digest) == digest
        assert current.at_seq < 0 or current.content_hash == digest


def fold(session: Session) -> None:
    session.refresh_from_db()
    span = Ranges.of([(0, 4)])
    edits = [Hide(span), Insert(3, Role.USER, InsertKind.SUMMARY, (Part(PartKind.TEXT, "part 1 was read"),), span)]
    version = versions.make(
        session,
        parent=session.current,
        edits=edits,
        origin="person",
        kind="fold",
        label="Fold",
        at_seq=session.entries_count - 1,
    )
    versions.set_head(session, version, by=None, what="folded", redo=[])


def test_a_version_is_named_and_nothing_else_of_it_changes(tmp_path: Path) -> None:
    sample = taken(tmp_path, turns(2))
    before = Version.objects.filter(session=sample).values_list("content_hash", "label", "at_seq")
    was = list(before)
    named = versions.name_version(sample.pk, 0, "  before \n the storm ")
    assert named.name == "before the storm"
    assert list(before) == was
    assert versions.name_version(sample.pk, 0, "").name == ""
    with pytest.raises(Refused, match="no version 99"):
        versions.name_version(sample.pk, 99, "x")
    with pytest.raises(Refused, match="at most"):
        versions.name_version(sample.pk, 0, "x" * 81)
