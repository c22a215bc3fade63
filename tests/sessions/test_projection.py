"""A context from the database is the one that the adapter makes of the bytes, item for item; compaction and back leaves it so."""

from pathlib import Path, PurePath

import pytest

from sessions.adapters import by_agent
from sessions.assembly import read_whole
from sessions.contexts import Item
from sessions.ingesting import ingest_paths
from sessions.models import Session
from sessions.projection import context_items
from sessions.sourcebytes import content, stored
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


def said(items: list[Item]) -> list[object]:
    return [(item.seq, item.after, item.role, item.kind, item.parts) for item in items]


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_every_recording_comes_in_and_its_context_is_what_the_bytes_say(agent: str, shared_data: Path) -> None:
    """Every file is taken, byte for byte; a second time adds nothing; what is read back equals what is read in memory."""
    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    folder = shared_data / agent
    first = ingest_paths(workspace, [folder])
    assert {taken.outcome for taken in first} <= {"added", "kept", "same", "skipped"}
    assert [taken.reason for taken in first if taken.outcome == "skipped"] == [
        taken.reason for taken in first if "session" in taken.reason and taken.outcome == "skipped"
    ], "only what is no session is passed over"
    for taken in first:
        if taken.outcome == "added":
            session = Session.objects.select_related("source").get(pk=taken.session)
            assert b"".join(stored(session.source)) == Path(taken.path).read_bytes()
            chain = [
                (b"".join(content(link.source, until=link.until_offset)), link.copied)
                for link in session.chain.select_related("source").order_by("position")
            ]
            reading = read_whole(by_agent(agent), PurePath(taken.path), chain)
            assert said(context_items(session)) == said(reading.context()), taken.path
            assert session.versions.count() == len(reading.versions) + 1
    again = ingest_paths(workspace, [folder])
    assert sum(taken.added for taken in again) == 0
    assert {taken.outcome for taken in again} <= {"unchanged", "kept", "same", "skipped"}
