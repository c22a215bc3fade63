"""From what a person types to the session they mean."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from sessions.ingest import take_file
from sessions.models import Session
from sessions.naming import Ambiguous, NoSuchSession, find_session
from sessions.workspaces import NoSuchWorkspace, local_workspace
from tests.claude_lines import turns
from webapp.models import Workspace

pytestmark = pytest.mark.django_db

NATIVE = "0f0f0f0f-1111-4222-8333-444444444444"


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def taken(workspace: Workspace, folder: Path, native: str, count: int, key: str | None = None) -> Session:
    path = folder / f"{native}.jsonl"
    path.write_bytes(bytes(turns(count)))
    session = Session.objects.get(pk=take_file(workspace, path).session)
    if key is not None:
        # ids are drawn by chance; a test needs those that begin alike
        source = session.source_id
        session.delete()
        session = Session(pk=UUID(key), workspace=workspace, agent="claude-code", native_id=native, source_id=source)
        session.save(force_insert=True)
    return session


ONE = "abcd1234-0000-4000-8000-000000000001"
TWO = "abcd5678-0000-4000-8000-000000000002"


@pytest.mark.parametrize(
    "name",
    [
        ONE,
        ONE.replace("-", ""),
        ONE.upper(),
        "abcd1",
        "ABCD1234-00",
        f"  {ONE[:9]} ",
        "abcd1234-0000-4000-8000-00000000000",
    ],
)
def test_our_id_whole_or_its_beginning(workspace, tmp_path, name):
    one = taken(workspace, tmp_path, NATIVE, 1, ONE)
    taken(workspace, tmp_path, "22222222-1111-4222-8333-444444444444", 2, TWO)
    assert find_session(name).pk == one.pk


@pytest.mark.parametrize("name", [NATIVE, NATIVE[:6], NATIVE[:20]])
def test_the_agents_id_whole_or_from_six_characters_on(workspace, tmp_path, name):
    one = taken(workspace, tmp_path, NATIVE, 1, ONE)
    assert find_session(name).pk == one.pk


@pytest.mark.parametrize(
    "name", ["0f0f0", "abcd9", "", "   ", "not-a-name", "%", "abcd1234-0000-4000-8000-000000000001x"]
)
def test_what_names_nothing(workspace, tmp_path, name):
    taken(workspace, tmp_path, NATIVE, 1, ONE)
    with pytest.raises(NoSuchSession):
        find_session(name)


def test_several_candidates_are_listed(workspace, tmp_path):
    one = taken(workspace, tmp_path, NATIVE, 1, ONE)
    two = taken(workspace, tmp_path, "22222222-1111-4222-8333-444444444444", 2, TWO)
    with pytest.raises(Ambiguous) as said:
        find_session("abcd")
    assert {session.pk for session in said.value.candidates} == {one.pk, two.pk}
    assert ONE in str(said.value)
    assert TWO in str(said.value)


def test_a_whole_native_id_goes_before_the_beginning_of_another(workspace, tmp_path):
    short = taken(workspace, tmp_path, "abcdef", 1, ONE)
    taken(workspace, tmp_path, "22222222-1111-4222-8333-444444444444", 2, "abcdef00-0000-4000-8000-000000000003")
    assert find_session("abcdef").pk == short.pk


def test_only_the_workspace_asked_for(workspace, tmp_path):
    taken(workspace, tmp_path, NATIVE, 1, ONE)
    other = Workspace.objects.create(name="Other", slug="other")
    with pytest.raises(NoSuchSession):
        find_session(ONE, workspace=other)


def test_a_native_id_names_the_newest_revision_of_a_rewritten_file(workspace, tmp_path):
    old = taken(workspace, tmp_path, NATIVE, 2)
    (tmp_path / f"{NATIVE}.jsonl").write_bytes(bytes(turns(1)))
    new = take_file(workspace, tmp_path / f"{NATIVE}.jsonl")
    assert new.outcome == "rewritten"
    assert str(find_session(NATIVE).pk) == new.session
    assert find_session(str(old.pk)).pk == old.pk


def test_the_workspace_of_a_command(db):
    made = local_workspace()
    assert (made.name, made.slug, Workspace.objects.count()) == ("Local", "local", 1)
    Workspace.objects.create(name="Other", slug="other")
    assert local_workspace().pk == made.pk
    assert local_workspace("other").name == "Other"
    with pytest.raises(NoSuchWorkspace, match="there are: local, other"):
        local_workspace("nowhere")
