"""Buttons pressed twice, on pages that have grown old, with figures that are none: what is asked happens once or is refused, and nothing fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from compaction import runs
from compaction.models import Run
from sessions import versions
from sessions.models import Session
from tests.compaction.stage import a_workspace, everything, head_of, member_of, taken_in
from tests.compaction.test_views import PARAMS, SMALL, Form
from webapp.models import Role

NO_NUMBERS = ("²", "9" * 5_000, "-7", "1e400", "NaN", "\x00", "")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return taken_in(a_workspace(), tmp_path, entries=150, bulk=40)


@pytest.fixture
def operator(session: Session) -> Client:
    client = Client()
    client.force_login(member_of(session.workspace, "quill", Role.OPERATOR))
    return client


def compacted(session: Session) -> Run:
    run = runs.request(session.pk, strategy="hybrid", params=PARAMS)
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == Run.State.COMPLETED, run.reason
    return run


@pytest.mark.django_db
def test_figures_that_are_none_are_refused_and_fail_nowhere(operator: Client, session: Session) -> None:
    compacted(session)
    before = everything()
    for word in NO_NUMBERS:
        for what, field in (
            ("head", "version"),
            ("restore", "version"),
            ("pin", "seq"),
            ("bookmark", "seq"),
            ("comment", "seq"),
        ):
            answer = operator.post(f"/s/{session.pk}/{what}", {field: word, "text": "words"})
            assert answer.status_code == 409, (what, word)
        answer = operator.post(f"/s/{session.pk}/rollback", {"to": f"t{word}", "base": word})
        assert answer.status_code == 409, word
        for do, field in (
            ("mask", "entry"),
            ("drop", "entry"),
            ("unfold", "insertion"),
            ("rewrite", "insertion"),
            ("note", "after"),
        ):
            answer = operator.post(f"/s/{session.pk}/edit", {"do": do, field: word, "text": "words"})
            assert answer.status_code == 409, (do, word)
    assert everything() == before
    for what in ("undo", "redo"):
        operator.post(f"/s/{session.pk}/{what}", {"base": "²"})


@pytest.mark.django_db(transaction=True)
def test_undo_pressed_twice_undoes_once(operator: Client, session: Session) -> None:
    compacted(session)
    versions.roll_back(session.pk, to_turn=2)
    base = str(head_of(session).n)  # type: ignore[union-attr]  # there are two versions
    gate = threading.Barrier(2)
    found: list[int] = []

    def press() -> None:
        try:
            gate.wait()
            found.append(operator.post(f"/s/{session.pk}/undo", {"base": base}).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [302, 409]
    assert head_of(session).n == int(base) - 1  # type: ignore[union-attr]  # as above


@pytest.mark.django_db
def test_words_applied_on_a_page_that_has_grown_old_are_not_blamed_and_not_lost(
    operator: Client, session: Session
) -> None:
    page = operator.get(f"/s/{session.pk}/compact?{SMALL}").content.decode()
    fields = {**dict(Form(page, "apply").fields), "do": "apply", "section-1": "- These are my own words."}
    versions.roll_back(session.pk, to_turn=1)
    answer = operator.post(f"/s/{session.pk}/compact", fields)
    shown = answer.content.decode()
    assert answer.status_code == 409
    assert "Apply was refused: the head has moved" in shown
    assert "These are my own words." in shown
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_a_run_that_is_followed_says_what_state_it_is_in(operator: Client, session: Session) -> None:
    run = runs.request(session.pk, strategy="hybrid", params=PARAMS)
    Run.objects.filter(pk=run.pk).update(state=Run.State.RUNNING, phase="planning")
    address = reverse("compaction:run", args=[session.pk, run.pk])
    followed = operator.get(f"{address}?part=progress", headers={"HX-Request": "true"}).content.decode()
    state = followed.split('id="run-state"')[1].split("</span>")[0]
    assert 'hx-swap-oob="true"' in state
    assert "running" in state
    assert 'id="run-state"' in operator.get(address).content.decode()


@pytest.mark.django_db
def test_a_name_reaches_over_nothing_that_stands_beside_it(session: Session) -> None:
    named = versions.name_version(session.pk, 0, "before\u202e \x1b[2J\x07the\nrename 👩\u200d💻")
    assert named.name == "before [2Jthe rename 👩\u200d💻"
