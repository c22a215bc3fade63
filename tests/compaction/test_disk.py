"""Files from the disk: only inside an allowed root and the session's folder, never through a link, never a large one; and what is said of them."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from compaction.answers import answer
from compaction.disk import LARGEST, Disk, allowed
from compaction.files import inserted_text
from compaction.plan import FilesAnswer, FilesAsk, GivenAnswer, LayersAsk, Learned, LearnedAsk, Snapshot
from compaction.reinject.reading import NotRead
from sessions.contexts import InsertKind
from sessions.meters.tokens import count
from tests.builders import items, prompt, read, say, snapshot

WHEN = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "code" / "app"
    (folder / "src" / "import").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


def disk_of(root: Path, **more: str) -> Disk:
    values: dict[str, str | None] = {"cwd": str(root), "home": str(root.parent.parent / "home"), **more}
    return Disk(allowed([str(root.parent)]), str(values["cwd"]), str(values["home"]))


def put(path: Path, text: str, at: datetime) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at.timestamp(), at.timestamp()))
    return str(path)


def seen(root: Path, path: str, text: str, disk: Disk | None) -> Snapshot:
    log = [replace(item, at=WHEN) for item in items([prompt("Look."), *read(path, text), say("Seen.")])]
    return replace(snapshot(log), cwd=str(root), disk=disk, agent="claude-code")


def files(of: Snapshot) -> FilesAnswer:
    found = answer(FilesAsk("files", 5, 5_000, 50_000), of, count)
    assert isinstance(found, FilesAnswer)
    return found


def test_a_file_that_is_newer_on_the_disk_comes_from_there_and_the_difference_is_said(root: Path) -> None:
    path = put(root / "src" / "a.py", "one\ntwo\nthree\nfour\n", WHEN + timedelta(hours=1))
    state = files(seen(root, path, "one\nzwei\n", disk_of(root))).files[0]
    assert state.text == "one\ntwo\nthree\nfour\n"
    assert state.disk is not None
    assert (state.disk.added, state.disk.removed) == (3, 1)
    head = inserted_text(state).split("\n")[0]
    assert "as it lies on the disk" in head
    assert "(+3 −1 lines)" in head


def test_an_older_file_an_equal_one_and_a_disk_that_may_not_be_read_leave_the_transcripts(root: Path) -> None:
    path = put(root / "src" / "a.py", "other\n", WHEN - timedelta(hours=1))
    for disk in (disk_of(root), None):
        state = files(seen(root, path, "one\n", disk)).files[0]
        assert (state.disk, state.text.strip()) == (None, "one")
    put(root / "src" / "a.py", "one\n", WHEN + timedelta(hours=1))
    assert files(seen(root, path, "one\n", disk_of(root))).files[0].disk is None


def test_no_link_leads_outside_whether_it_is_the_file_a_folder_or_the_way_back(root: Path) -> None:
    secret = put(root.parent.parent / "secret" / "key.txt", "the key", WHEN)
    disk = disk_of(root)
    (root / "key.txt").symlink_to(secret)
    (root / "out").symlink_to(Path(secret).parent)
    (root / "inside").symlink_to(root / "src")
    put(root / "src" / "b.py", "b", WHEN)
    for path, why in [
        (root / "key.txt", "symbolic link"),
        (root / "out" / "key.txt", "symbolic link"),
        (root / "inside" / "b.py", "symbolic link"),
        (root / ".." / ".." / "secret" / "key.txt", "outside"),
        (Path(secret), "outside"),
        (root / "none.py", "not on this machine"),
    ]:
        with pytest.raises(NotRead, match=why):
            disk.read(str(path))
    with pytest.raises(NotRead, match="may be read"):
        disk.read_any(secret)
    assert disk.read(str(root / "src" / "b.py")).text == "b"
    assert [Path(folder).name for folder in disk.folders(str(root), 200)] == ["src", "import"]


def test_what_is_large_no_text_or_no_file_is_not_read(root: Path) -> None:
    disk = disk_of(root)
    put(root / "large.txt", "x" * (LARGEST + 1), WHEN)
    (root / "raw.bin").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(root / "pipe")
    for name, why in (("large.txt", "too large"), ("raw.bin", "no text"), ("pipe", "no file"), ("src", "no file")):
        with pytest.raises(NotRead, match=why):
            disk.read(str(root / name))


def test_nothing_is_allowed_unless_it_is_named_and_the_whole_disk_never_is(tmp_path: Path) -> None:
    assert allowed([]) == ()
    assert allowed(["/", "relative", str(tmp_path / "none")]) == ()
    with pytest.raises(NotRead):
        Disk((), str(tmp_path), "/home/ada").read(str(tmp_path / "a.py"))


def layers(of: Snapshot, ask: LayersAsk) -> GivenAnswer:
    found = answer(ask, of, count)
    assert isinstance(found, GivenAnswer)
    return found


def test_layers_come_from_wide_to_narrow_and_just_in_time_for_what_comes_back(root: Path) -> None:
    put(root.parent / "CLAUDE.md", "above the repository", WHEN)
    put(root / "CLAUDE.md", "never push", WHEN)
    put(root / "CLAUDE.local.md", "my own", WHEN)
    put(root / "src" / "import" / "CLAUDE.md", "stream it", WHEN)
    put(root / "docs" / "CLAUDE.md", "not touched", WHEN)
    home = str(root.parent / "home")
    put(Path(home) / ".claude" / "CLAUDE.md", "be brief", WHEN)
    path = put(root / "src" / "import" / "a.py", "x", WHEN)
    of = seen(root, path, "x", disk_of(root, home=home))
    found = layers(of, LayersAsk("layers", 500, 2_000, paths=(path,)))
    assert [one.text.split("\n\n")[1] for one in found.given] == ["be brief", "never push", "my own", "stream it"]
    assert {one.kind for one in found.given} == {InsertKind.LAYER}
    assert "sub-folder, just in time" in found.given[-1].text
    down = layers(of, LayersAsk("layers", 500, 2_000, down=200))
    assert "not touched" in "".join(one.text for one in down.given)
    assert layers(replace(of, disk=None), LayersAsk("layers", 500, 2_000, paths=(path,))).given == ()


def test_layers_keep_to_their_budget_and_name_what_is_cut_or_left_out(root: Path) -> None:
    put(root / "CLAUDE.md", "rule one two three. " * 400, WHEN)
    path = put(root / "src" / "CLAUDE.md", "more rules here. " * 400, WHEN)
    of = seen(root, path, "x", disk_of(root))
    found = layers(of, LayersAsk("layers", 300, 340, paths=(path,)))
    assert sum(one.tokens for one in found.given) <= 340
    assert found.given[0].cut > 0
    assert "cut here" in found.given[0].text
    assert found.left_out[0][0] == path


def test_the_index_of_what_was_learned_stands_by_kind_within_its_budget() -> None:
    notes = [Learned("feedback", "Never amend."), Learned("user", "I use jj.")]
    of = replace(snapshot(items([prompt("Hi.")])), learned=lambda: notes)
    found = answer(LearnedAsk("learned", 200), of, count)
    assert isinstance(found, GivenAnswer)
    assert found.given[0].text.split("\n\n")[1:] == ["## About the person\n- I use jj.", "## Feedback\n- Never amend."]
    small = answer(LearnedAsk("learned", 5), of, count)
    assert isinstance(small, GivenAnswer)
    assert (small.given, small.left_out) == ((), (("project memory", "no room for 2 of 2 notes"),))
