"""Sessions given back to agents: written, taken in again, linked to where they come from; and what is refused, touching nothing."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from sessions import goalmarks, homes, versions, writing
from sessions.contexts import Insert, InsertKind
from sessions.ingest import take_file
from sessions.ingesting import ingest_paths
from sessions.models import Entry, Session, Version
from sessions.projection import context_items
from sessions.store import edits_of
from sessions.versions import Refused, make, set_head
from sessions.writers.compare import blocks
from tests.adapters.writing import Taken, folded, taken
from tests.make_session import write_session
from tests.sessions.test_commands import fails, run, run_json
from webapp.models import Workspace

pytestmark = pytest.mark.django_db

RECORDED = {
    "claude-code": "claude-code/entire-cd-95adddad32-0.jsonl",
    "codex": "codex/cli-0.171.0/rollout-2026-11-30T04-59-53-01a22ad2-e3cc-7a71-9b80-c3ddfa241a98.jsonl",
    "gemini-cli": "gemini/gen061-main-resumed-3x-compacted-2x.jsonl",
    "opencode": "opencode/gen11833-export-prune.json",
}


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def stored(workspace: Workspace, path: Path) -> Session:
    taken_in = take_file(workspace, path)
    assert taken_in.session is not None, taken_in
    return Session.objects.get(pk=taken_in.session)


def a_session(workspace: Workspace, folder: Path, **size: Any) -> Session:
    folder.mkdir(parents=True, exist_ok=True)
    native = write_session(folder, **({"entries": 60} | size))
    return stored(workspace, folder / f"{native}.jsonl")


def compacted(session: Session, path: Path) -> Version:
    """The session with a fold, a file brought back and a mask as its head."""
    known: Taken = taken(path, path.read_bytes())
    version = make(
        session, parent=session.current, edits=folded(known), origin=Version.Origin.RUN, kind="compaction", label="hybrid",
        at_seq=session.entries_count - 1,
    )  # fmt: skip
    set_head(session, version, by=None, what="compacted", redo=[])
    return version


def fingerprint(path: Path) -> tuple[str, int]:
    return hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns


def total(workspace: Workspace) -> dict[str, int]:
    out: dict[str, int] = {}
    for session in Session.objects.filter(workspace=workspace, superseded_by=None):
        for name, figure in session.totals.items():
            if name != "steps":
                out[name] = out.get(name, 0) + (figure or 0)
    return out


@pytest.mark.parametrize("agent", RECORDED)
def test_what_was_written_is_the_version_and_knows_where_it_comes_from(
    agent: str, shared_data: Path, workspace: Workspace, tmp_path: Path
) -> None:
    original = tmp_path / "there" / Path(RECORDED[agent]).name
    original.parent.mkdir()
    shutil.copy2(shared_data / RECORDED[agent], original)
    before = fingerprint(original)
    session = stored(workspace, original)
    used = total(workspace)
    version = compacted(session, original)
    put = writing.put_out(writing.make(session), tmp_path / "out")
    ingest_paths(workspace, [tmp_path / "out"])
    back = Session.objects.get(workspace=workspace, native_id=put.made.written.native_id)
    assert (back.agent, back.parent_id, back.parent_kind) == (agent, session.pk, "fork")
    assert back.facts["written_from"]["version"] == version.n
    assert total(workspace) == used
    assert fingerprint(original) == before
    if agent in ("claude-code", "codex"):  # the others frame a summary as they do their own
        assert blocks(context_items(back)) == blocks(context_items(session))
        assert back.native_head is not None
        assert back.native_head.kind == "compaction"
        assert back.entries.filter(
            sent=True, seq__in=list(back.native_head.hidden)
        ).exists()  # what was folded can be read there


def test_another_agents_session_is_linked_across(workspace: Workspace, tmp_path: Path) -> None:
    session = a_session(workspace, tmp_path / "there")
    put = writing.put_out(writing.make(session, agent="codex"), tmp_path / "out")
    assert any("no equal" in note for note in put.made.notes)
    ingest_paths(workspace, [tmp_path / "out"])
    back = Session.objects.get(workspace=workspace, agent="codex")
    assert (back.parent_id, back.native_id) == (session.pk, put.made.written.native_id)


def test_a_version_made_over_a_file_that_was_rewritten_comes_from_its_own_revision(
    workspace: Workspace, tmp_path: Path
) -> None:
    session = a_session(workspace, tmp_path / "there")
    path = Path(session.source.path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]).replace(b"quill", b"other"))
    rewritten = take_file(workspace, path)
    assert rewritten.outcome == "rewritten"
    now = fingerprint(path)
    session.refresh_from_db()
    made = writing.make(session)
    assert any("rewritten since" in note for note in made.notes)
    assert made.blocks == len(blocks(context_items(session)))
    writing.put_out(made, tmp_path / "out")
    assert fingerprint(path) == now


def test_a_folder_that_cannot_be_written_or_has_the_name_is_refused_and_left_as_it_was(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = a_session(workspace, tmp_path / "there")
    made = writing.make(session)
    out = tmp_path / "out"
    writing.put_out(made, out)
    first = fingerprint(out / made.written.files[0].name)
    with pytest.raises(Refused) as taken_name:
        writing.put_out(made, out)
    assert taken_name.value.code == "exists"
    assert fingerprint(out / made.written.files[0].name) == first
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(Refused) as no_folder:
        writing.put_out(made, tmp_path / "file")
    assert no_folder.value.code == "exists"

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Refused) as no_space:
        writing.put_out(writing.make(session), tmp_path / "full")
    assert no_space.value.code == "no_space"
    assert list((tmp_path / "full").iterdir()) == []


def test_where_one_of_several_files_cannot_be_written_none_stays(workspace: Workspace, tmp_path: Path) -> None:
    session = a_session(workspace, tmp_path / "there")
    made = writing.make(session, agent="trace")
    last = tmp_path / "out" / made.written.files[-1].name
    last.parent.mkdir(parents=True)
    last.write_text("mine")
    with pytest.raises(Refused):
        writing.put_out(made, tmp_path / "out")
    assert [path.name for path in last.parent.iterdir()] == [last.name]
    assert last.read_text() == "mine"


def test_a_read_only_folder_is_refused(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = a_session(workspace, tmp_path / "there")

    def refuse(*given: Any, **more: Any) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(given[0]))

    made = writing.make(session)
    monkeypatch.setattr(homes.os, "open", refuse)
    with pytest.raises(Refused) as refused:
        writing.put_out(made, tmp_path / "out")
    assert refused.value.code == "not_writable"


def test_installing_needs_the_setting_a_quiet_original_and_a_free_name(
    workspace: Workspace, tmp_path: Path, settings: Any
) -> None:
    session = a_session(workspace, tmp_path / "there")
    original = Path(session.source.path)
    made = writing.make(session)
    home: dict[str, Any] = {"home": tmp_path / "home", "env": {}}
    settings.INSTALL_SESSIONS = False
    with pytest.raises(Refused) as not_allowed:
        writing.install(made, **home)
    assert not_allowed.value.code == "not_allowed"
    settings.INSTALL_SESSIONS = True
    with pytest.raises(Refused) as live:
        writing.install(made, **home)
    assert live.value.code == "looks_live"
    assert not (tmp_path / "home").exists()
    hour_ago = time.time() - 3600
    os.utime(original, (hour_ago, hour_ago))
    put = writing.install(made, **home)
    (path,) = map(Path, put.paths)
    assert path.is_relative_to(tmp_path / "home" / ".claude" / "projects")
    assert path.stat().st_mode & 0o777 == 0o600
    assert put.command.endswith(f"claude --resume {made.written.native_id}")
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    with pytest.raises(Refused) as again:
        writing.install(made, **home)
    assert again.value.code == "exists"
    with original.open("ab") as file:
        file.write(b'{"type":"mode"}\n')
    os.utime(original, (hour_ago, hour_ago))
    with pytest.raises(Refused, match="not taken in yet"):
        writing.install(writing.make(session), **home)
    writing.install(writing.make(session), even_if_live=True, **home)


def test_records_of_a_later_version_are_left_out_and_said(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    native = write_session(tmp_path / "there", entries=30)
    path = tmp_path / "there" / f"{native}.jsonl"
    with path.open("a") as file:
        file.write(json.dumps({"type": "holographic-turn", "sessionId": native, "body": "of version 9"}) + "\n")
    session = stored(workspace, path)
    assert session.entries.filter(kind="other").count() == 1
    made = writing.make(session)
    assert any("not known here" in note for note in made.notes)
    assert b"holographic" not in made.written.files[0].data


def test_signed_reasoning_stays_whole_or_goes_whole(workspace: Workspace, tmp_path: Path) -> None:
    session = a_session(workspace, tmp_path / "there")
    signed = next(
        seq for seq, kind in session.entries.order_by("seq").values_list("seq", "kind") if kind == "reasoning"
    )
    step = Entry.objects.get(session=session, seq=signed).step
    rest = list(session.entries.filter(step=step).exclude(seq=signed).values_list("seq", flat=True))
    assert rest
    from sessions.contexts import Hide
    from sessions.ranges import Ranges

    made_by_hand = make(
        session, parent=session.current, edits=[Hide(Ranges.from_numbers([rest[-1]]))], origin=Version.Origin.PERSON,
        kind="edit", label="dropped", at_seq=session.entries_count - 1,
    )  # fmt: skip
    made = writing.make(session, version=made_by_hand.n)
    assert any("signed reasoning left out" in note for note in made.notes)


def test_ids_that_collide_are_made_anew(workspace: Workspace, tmp_path: Path) -> None:
    """A record that is sent twice: the second takes another id."""
    session = a_session(workspace, tmp_path / "there")
    items = context_items(session)
    twice = next(item for item in items if item.kind == "message")
    again = Insert(items[-1].seq or 0, twice.role, InsertKind.MESSAGE, twice.parts)  # type: ignore[arg-type]
    version = make(
        session, parent=session.current, edits=[*edits_of(session.current), again], origin=Version.Origin.PERSON, kind="edit",  # type: ignore[arg-type]
        label="again", at_seq=session.entries_count - 1,
    )  # fmt: skip
    made = writing.make(session, version=version.n)
    ids = [json.loads(line).get("uuid") for line in made.written.files[0].data.splitlines()]
    named = [one for one in ids if one]
    assert len(named) == len(set(named))


def test_a_context_without_anything_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    from sessions.contexts import Hide
    from sessions.ranges import Ranges

    session = a_session(workspace, tmp_path / "there")
    version = make(
        session, parent=session.current, edits=[Hide(Ranges.of([(0, session.entries_count)]))], origin=Version.Origin.PERSON,
        kind="edit", label="all gone", at_seq=session.entries_count - 1,
    )  # fmt: skip
    for agent in ("claude-code", "codex", "openai"):
        with pytest.raises(Refused) as refused:
            writing.make(session, version=version.n, agent=agent)
        assert refused.value.code == "nothing_to_write"
    with pytest.raises(Refused) as unknown:
        writing.make(session, agent="teletype")
    assert unknown.value.code == "no_writer"
    with pytest.raises(Refused) as missing:
        writing.make(session, version=99)
    assert missing.value.code == "no_such_version"


def test_the_command_writes_says_what_was_lost_and_how_to_go_on(workspace: Workspace, tmp_path: Path) -> None:
    session = a_session(workspace, tmp_path / "there")
    version = versions.roll_back(session.pk, to_turn=1).now.n
    row = run_json("resume", session.pk, "--out", tmp_path / "out")
    assert row["version"] == version
    assert [Path(path).is_file() for path in row["paths"]] == [True]
    assert row["command"].endswith(f"claude --resume {row['native_id']}")
    text = run("resume", session.pk, "--as", "openai", "--out", tmp_path / "out")
    assert "Read back" in text
    assert f"Written: v{version} as a session of OpenAI messages" in text
    message, code, _ = fails("resume", session.pk, "--as", "teletype", "--out", tmp_path / "out")
    assert code == 1
    assert "cannot be written" in message
    message, code, _ = fails("resume", session.pk, "--install")
    assert "PALIMPSEST_INSTALL" in message
    assert session.events.filter(what="written_back").count() == 2


def test_every_writer_writes_what_its_own_adapter_reads(workspace: Workspace, tmp_path: Path) -> None:
    from sessions.writers import writers

    session = a_session(workspace, tmp_path / "there")
    for agent in writers():
        made = writing.make(session, agent=agent)
        assert made.blocks > 10
        put = writing.put_out(made, tmp_path / agent)
        ingest_paths(workspace, [tmp_path / agent])
        back = Session.objects.get(workspace=workspace, agent=agent, parent=session)
        assert back.facts["written_from"]["agent"] == "claude-code", put.paths


def test_command_is_known() -> None:
    with pytest.raises(SystemExit):
        call_command("resume", "--help")


GOALS = ("claude-code", "codex", "gemini-cli", "opencode", "j-cli", "trace", "openai")


@pytest.mark.parametrize("agent", GOALS)
def test_goals_changed_here_travel(agent: str, workspace: Workspace, tmp_path: Path) -> None:
    session = a_session(workspace, tmp_path / "there")
    goalmarks.add(session.pk, text="Ship the importer", focus=True)
    goalmarks.add(session.pk, text="Memory-map the file")
    goalmarks.abandon(session.pk, path="+2", reason="the network mount cannot do it")
    put = writing.put_out(writing.make(session, agent=agent), tmp_path / "out")
    ingest_paths(workspace, [tmp_path / "out"])
    back = Session.objects.get(workspace=workspace, agent=agent, parent=session)
    if agent == "trace":
        tree = json.loads(next(Path(path) for path in put.paths if path.endswith("goal.json")).read_bytes())
        assert ["Ship the importer", "in_progress"] in [[one["description"], one["status"]] for one in tree["goals"]]
        assert ["abandoned", "the network mount cannot do it"] in [
            [one["status"], one["summary"]] for one in tree["goals"]
        ]
        assert tree["current_id"] in [one["id"] for one in tree["goals"]]
        return
    sent = "\n".join(item.text for item in context_items(back))
    assert "[abandoned] Memory-map the file (the network mount cannot do it)" in sent
    if agent in ("codex", "gemini-cli", "opencode", "j-cli"):
        assert back.goals.get(text="Ship the importer").status == "in_progress"
    assert any("goals" in note for note in put.made.notes)
