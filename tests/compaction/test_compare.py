"""Strategies side by side: one snapshot, the same figures as each one's own preview, and nothing written."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from compaction import runs
from compaction.beside import beside
from compaction.comparing import by_order, compare, offered
from compaction.strategies import RECOMMENDED, strategies
from sessions.models import Session
from sessions.versions import Refused
from tests.compaction.stage import a_workspace, everything, member_of, taken_in
from webapp.models import Role, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return a_workspace()


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> Session:
    return taken_in(workspace, tmp_path, entries=150, bulk=40)


@pytest.fixture
def client(workspace: Workspace) -> Client:
    client = Client()
    client.force_login(member_of(workspace, "reed", Role.VIEWER))
    return client


def test_every_dry_run_is_the_preview_of_that_strategy(session: Session) -> None:
    compared = compare(session)
    assert compared.rows[0].wanted.strategy == RECOMMENDED
    for row in compared.rows:
        alone = runs.preview_run(session, strategy=row.wanted.strategy).preview
        assert row.preview is not None
        assert (row.preview.digest, row.preview.tokens_after) == (alone.digest, alone.tokens_after)


def test_comparing_writes_nothing(session: Session) -> None:
    before = everything()
    compare(session)
    assert everything() == before


def test_a_preset_is_compared_with_its_own_figures(session: Session) -> None:
    name, preset = next((one.id, next(iter(one.presets))) for one in strategies().values() if len(one.presets) > 1)
    compared = compare(session, [f"{name}:{preset}", name, name])
    assert [row.wanted.name for row in compared.rows] == [f"{name}:{preset}", name]
    wanted = strategies()[name].presets[preset]
    made = compared.rows[0].preview
    assert made is not None
    assert {key: made.params[key] for key in wanted} == dict(wanted)


@pytest.mark.parametrize("name", ["no-such", f"{RECOMMENDED}:no-such"])
def test_a_name_that_means_nothing_is_refused_with_those_there_are(session: Session, name: str) -> None:
    with pytest.raises(Refused, match="there are: "):
        compare(session, [name])


def test_one_that_fails_does_not_take_the_others_with_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        id, version, label, about, params, presets = "broken", 1, "Broken", "Fails.", (), {}

        def plan(self, *_: object) -> None:
            raise ZeroDivisionError

    monkeypatch.setitem(strategies(), "broken", Broken())  # type: ignore[arg-type]
    broken, sound = compare(session, ["broken", RECOMMENDED]).rows
    assert "Broken failed" in broken.refused
    assert not broken.lands
    assert sound.preview is not None


def test_side_by_side_adds_up_to_both_contexts(session: Session) -> None:
    compared = compare(session)
    snapshot = compared.snapshot
    for row in compared.rows:
        assert row.preview is not None
        found = beside(snapshot.items, snapshot.tokens, row.preview)
        assert found.left_tokens == snapshot.total
        assert found.left_items == len(snapshot.items)
        assert found.right_items == len(row.preview.items)
        if row.lands:
            assert found.right_tokens == row.preview.tokens_after


def test_the_page_asks_for_the_dry_runs_and_works_without_script(client: Client, session: Session) -> None:
    address = f"/s/{session.pk}/compare"
    shell = client.get(address).content.decode()
    assert 'hx-trigger="load"' in shell
    assert "now=1" in shell
    whole = client.get(f"{address}?now=1").content.decode()
    part = client.get(address, headers={"HX-Request": "true"}).content.decode()
    for page in (whole, part):
        assert page.count('<tr class="dry-run') == len(offered())
        assert 'id="beside"' in page
    assert "<html" in whole
    assert "<html" not in part


def test_one_row_is_laid_beside_the_context(client: Client, session: Session) -> None:
    address = f"/s/{session.pk}/compare?part=beside&show={RECOMMENDED}"
    page = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<table" not in page
    assert 'id="beside"' in page
    assert f"/s/{session.pk}/compact?strategy={RECOMMENDED}" in page


def test_strangers_find_nothing_and_command_and_api_say_the_same(
    client: Client, session: Session, workspace: Workspace
) -> None:
    stranger = Client()
    stranger.force_login(member_of(a_workspace("two"), "mote", Role.ADMIN))
    assert stranger.get(f"/s/{session.pk}/compare").status_code == 404
    out = StringIO()
    call_command("compare", str(session.pk), "--with", RECOMMENDED, "--json", stdout=out)
    told = json.loads(out.getvalue())
    asked = client.get(f"/api/sessions/{session.pk}/compare?with={RECOMMENDED}").json()
    for answer in (told, asked):
        answer["strategies"][0].pop("seconds")
    assert told == asked
    assert told["strategies"][0]["lands"] is True


def test_a_model_is_asked_for_nothing_and_what_it_would_take_is_foretold_and_sorted_by(
    client: Client, session: Session, settings: Any
) -> None:
    settings.LLM_MODELS, settings.LLM_KEYS = ["anthropic:claude-haiku-4-5"], {"anthropic": "sk-hidden-key"}
    names = ["universal", "mask", RECOMMENDED]
    compared = compare(session, names, summariser="llm")
    assert compared.model == "anthropic:claude-haiku-4-5"
    rows = {row.wanted.strategy: row for row in compared.rows}
    assert rows["mask"].foretold is None
    for name in ("universal", RECOMMENDED):
        found = rows[name].foretold
        assert found is not None
        assert found.calls >= 1
        assert found.prompt > found.output > 0
        alone = runs.preview_run(session, strategy=name, summariser="llm").preview
        assert alone.summary is not None
        assert alone.summary.stands_in
        assert alone.summary.cost["prompt"] == found.prompt
    cheapest = [row.wanted.strategy for row in by_order(compared.rows, "cost")]
    tokens = [0 if (found := rows[name].foretold) is None else found.prompt + found.output for name in cheapest]
    assert cheapest[0] == "mask"
    assert tokens == sorted(tokens)

    out = StringIO()
    call_command(
        "compare",
        str(session.pk),
        *(word for name in names for word in ("--with", name)),
        "--summariser",
        "llm",
        stdout=out,
    )
    assert out.getvalue().count(" tokens, $") == 2
    address = f"/s/{session.pk}/compare?now=1&sort=cost&summariser=llm&" + "&".join(f"with={name}" for name in names)
    page = client.get(address).content.decode()
    assert [int(cost) for cost in re.findall(r'data-cost="(\d+)"', page)] == tokens
    assert "sk-hidden-key" not in page


def test_a_goal_is_what_a_handover_goes_on_with_and_nothing_to_the_others(client: Client, session: Session) -> None:
    goal = "Write the release notes of the ledger"
    with_goal = compare(session, ["handoff", "mask"], goal=goal)
    without = compare(session, ["handoff", "mask"])
    digests = [[row.preview.digest for row in found.rows if row.preview is not None] for found in (with_goal, without)]
    assert digests[0][0] != digests[1][0]
    assert digests[0][1] == digests[1][1]
    made = with_goal.rows[0].preview
    assert made is not None
    assert any(goal in item.text for item in made.items)
    alone = runs.preview_run(session, strategy="handoff", params={"goal": goal}).preview
    assert made.digest == alone.digest

    out = StringIO()
    call_command("compare", str(session.pk), "--with", "handoff", "--goal", goal, "--json", stdout=out)
    told = json.loads(out.getvalue())["strategies"][0]["plan_digest"]
    asked = client.get(f"/api/sessions/{session.pk}/compare", {"with": "handoff", "goal": goal}).json()
    assert told == asked["strategies"][0]["plan_digest"] == made.digest
    page = client.get(f"/s/{session.pk}/compare", {"now": "1", "with": "handoff", "goal": goal}).content.decode()
    assert f">{goal}</textarea>" in page
    assert "goal=Write" in page  # the way on to the preview takes it along
