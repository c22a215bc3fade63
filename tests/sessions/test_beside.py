"""A session that does not say which folder it is about gets it from the file that its agent keeps near it."""

from pathlib import Path

import pytest

from sessions.ingest import take_file
from sessions.models import Session
from tests.adapters.gemini_cli import build
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def laid(folder: Path, said: str | None, *first: build.Record) -> Path:
    chats = folder / "quill" / "chats"
    chats.mkdir(parents=True)
    if said is not None:
        (chats.parent / ".project_root").write_text(said)
    path = chats / "session-2026-11-30T02-00-5f0c7c1e.json"
    path.write_bytes(build.document(*first, build.user("u1", "hello")))
    return path


def place(workspace: Workspace, path: Path) -> tuple[str | None, str | None]:
    taken = take_file(workspace, path)
    assert taken.session is not None
    session = Session.objects.get(pk=taken.session)
    return session.cwd, session.project


def test_the_folder_is_read_from_the_file_beside_it_and_stays_when_the_session_grows(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = laid(tmp_path, "/work/quill\n")
    assert place(workspace, path) == ("/work/quill", "quill")
    path.write_bytes(build.document(build.user("u1", "hello"), build.model("g1", "hi")))
    assert place(workspace, path) == ("/work/quill", "quill")


def test_what_the_session_says_itself_holds(workspace: Workspace, tmp_path: Path) -> None:
    assert place(workspace, laid(tmp_path, "/else", build.environment("/work/quill"))) == ("/work/quill", "quill")


@pytest.mark.parametrize("said", [None, "", "x" * 10_000])
def test_without_such_a_file_the_folder_is_not_known(workspace: Workspace, tmp_path: Path, said: str | None) -> None:
    assert place(workspace, laid(tmp_path, said)) == (None, None)
