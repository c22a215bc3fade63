"""A context edited by hand: what each change does, what it gives way to, and that every one is undone by undo."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from compaction.editing import edit, foresee
from compaction.eligible import eligible
from compaction.handforms import TAKES, VERBS, change_of, ranges_of
from compaction.handwork import Drop, Fold, Impossible, Mask, Note, Rewrite, TakeOut, Unfold, Unmask
from sessions import versions
from sessions.contexts import unpaired
from sessions.entries import Kind
from sessions.models import Entry, Pin, Session
from sessions.projection import context_items
from sessions.ranges import Ranges
from sessions.versions import Refused
from tests.compaction.stage import a_workspace, everything, member_of, taken_in
from webapp.models import Role, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return a_workspace()


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> Session:
    return taken_in(workspace, tmp_path, entries=80, bulk=20)


def a_result(session: Session) -> int:
    found = Entry.objects.filter(session=session, kind=Kind.TOOL_RESULT, sent=True).order_by("-tokens", "seq")
    seqs = [item.seq for item in context_items(fresh(session))]
    return next(seq for seq in found.values_list("seq", flat=True) if seq in seqs)


def fresh(session: Session) -> Session:
    return Session.objects.select_related("head", "native_head").get(pk=session.pk)


def sent(session: Session) -> list[tuple[int | None, str]]:
    return [(item.seq, item.text) for item in context_items(fresh(session))]


def test_a_fold_takes_the_whole_call_and_an_unfold_brings_it_back(session: Session) -> None:
    before = sent(session)
    result = a_result(session)
    moved = edit(session.pk, Fold(Ranges.of([(result, result + 1)]), "Read the file; nothing there."))
    items = context_items(fresh(session))
    assert unpaired(items) == ([], [])
    assert result not in [item.seq for item in items]
    assert "Read the file; nothing there." in [item.text for item in items]
    assert "went along" in moved.notes[0]
    number = next(item.key for item in items if item.text == "Read the file; nothing there.")
    edit(session.pk, Unfold(int(number[1:])))
    assert sent(session) == before


def test_a_mask_leaves_a_line_a_drop_leaves_less_and_unmask_the_whole(session: Session) -> None:
    before = sent(session)
    result = a_result(session)
    weighed = foresee(session, Mask(result))
    edit(session.pk, Mask(result))
    masked = dict(sent(session))[result]
    assert masked.startswith("[output left out: ")
    assert weighed.after < weighed.before
    edit(session.pk, Drop(result))
    assert len(dict(sent(session))[result]) < len(masked)
    edit(session.pk, Unmask(result))
    assert sent(session) == before


def test_a_note_never_parts_a_call_from_its_result(session: Session) -> None:
    result = a_result(session)
    moved = edit(session.pk, Note(result - 1, "Mind the mount."))
    items = context_items(fresh(session))
    place = next(n for n, item in enumerate(items) if item.text == "Mind the mount.")
    assert unpaired(items[:place]) == ([], [])
    assert moved.notes
    key = items[place].key
    edit(session.pk, Rewrite(int(key[1:]), "Mind the other mount."))
    assert "Mind the other mount." in [text for _seq, text in sent(session)]
    edit(session.pk, TakeOut(int(key[1:])))
    assert all(seq is not None for seq, _text in sent(session))


def test_what_is_foreseen_is_what_is_made_and_undo_takes_it_back(session: Session) -> None:
    result = a_result(session)
    hashes = [fresh(session).current.content_hash]  # type: ignore[union-attr]
    for change in (Mask(result), Fold(Ranges.of([(result, result + 1)])), Note(-1, "First of all.")):
        rows = everything()
        seen = foresee(session, change)
        assert everything() == rows
        moved = edit(session.pk, change, expected_hash=seen.base.content_hash)
        assert [item.digest for item in context_items(fresh(session))] == [item.digest for item in seen.items]
        hashes.append(moved.now.content_hash)
    for was in reversed(hashes[:-1]):
        assert versions.undo(session.pk).now.content_hash == was
    for now in hashes[1:]:
        assert versions.redo(session.pk).now.content_hash == now


def test_what_cannot_be_done_is_refused_with_the_reason_and_nothing_is_written(session: Session) -> None:
    result = a_result(session)
    Pin.objects.create(session=session, seq=result)
    rows = everything()
    for change, words in (
        (Mask(result), "pinned"),
        (Fold(Ranges.of([(result, result + 1)])), "pinned"),
        (Fold(Ranges.of([(9_000, 9_001)])), "nothing to fold"),
        (Unmask(result), "not masked"),
        (Note(3, "  "), "no words"),
        (Rewrite(99, "x"), "insertions"),
        (Fold(Ranges.of([(0, 100_000)])), "."),
    ):
        with pytest.raises(Refused, match=words):
            edit(session.pk, change)
    with pytest.raises(Refused, match="moved on"):
        edit(session.pk, Note(3, "x"), expected_hash="other")
    assert everything() == rows


def test_fields_are_read_as_they_are_typed() -> None:
    assert ranges_of("12-40, e55 7") == Ranges.of([(7, 8), (12, 41), (55, 56)])
    assert set(TAKES) == set(VERBS)
    for wrong in ("", "x", "9-3", "-1"):
        with pytest.raises(Impossible):
            ranges_of(wrong)
    for verb in VERBS:
        with pytest.raises(Impossible):
            change_of(verb, {})


def test_the_page_counts_and_makes_the_version(session: Session, workspace: Workspace) -> None:
    client = Client()
    client.force_login(member_of(workspace, "quill", Role.OPERATOR))
    result = a_result(session)
    address = f"/s/{session.pk}/edit"
    page = client.get(f"{address}?do=mask&entry={result}").content.decode()
    assert f"Mask entry {result}" in page
    assert 'name="base_hash"' in page
    answer = client.post(address, {"do": "mask", "entry": result}, follow=True)
    assert "Undo brings" in answer.content.decode()
    assert dict(sent(session))[result].startswith("[output left out: ")
    again = client.post(address, {"do": "unmask", "entry": "999999"})
    assert again.status_code == 409
    assert "is not masked" in again.content.decode()
    reader = Client()
    reader.force_login(member_of(workspace, "reed", Role.VIEWER))
    assert reader.post(address, {"do": "unmask", "entry": result}).status_code == 403


@pytest.mark.parametrize("do", ["fold", "mask", "drop", "unmask"])
def test_what_the_page_offers_can_be_done(session: Session, workspace: Workspace, do: str) -> None:
    if do == "unmask":
        assert eligible(session, do) == []
        edit(session.pk, change_of("mask", {"entry": str(a_result(session))}))
    client = Client()
    client.force_login(member_of(workspace, "quill", Role.OPERATOR))
    found = eligible(fresh(session), do)
    assert found
    assert [one.tokens for one in found] == sorted((one.tokens for one in found), reverse=True)
    page = client.get(f"/s/{session.pk}/edit?do={do}").content.decode()
    assert f'href="/s/{session.pk}"' in page
    for one in found:
        assert f"={one.value}" in page
        foresee(fresh(session), change_of(do, {"entry": one.value, "entries": one.value}))


def test_command_and_api_do_the_same(session: Session, workspace: Workspace) -> None:
    result = a_result(session)
    out = StringIO()
    call_command("edit", str(session.pk), "drop", "--entry", str(result), "--preview", "--json", stdout=out)
    told = json.loads(out.getvalue())
    client = Client()
    client.force_login(member_of(workspace, "quill", Role.OPERATOR))
    address = f"/api/sessions/{session.pk}/edits"
    wanted = {"do": "drop", "entry": result}
    asked = client.post(address, {**wanted, "preview": True}, content_type="application/json").json()
    assert told == asked
    made = client.post(address, wanted, content_type="application/json").json()
    assert made["version"] == fresh(session).current.n  # type: ignore[union-attr]
    bad = client.post(address, {"do": "drop"}, content_type="application/json")
    assert (bad.status_code, "entry" in bad.content.decode()) == (422, True)
    reader = Client()
    reader.force_login(member_of(workspace, "reed", Role.VIEWER))
    assert reader.post(address, wanted, content_type="application/json").status_code == 403
