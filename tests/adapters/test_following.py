"""Laws of following: a history followed while it is read is the history of all of it, and an entry said to change nothing changes nothing."""

from __future__ import annotations

import random
from pathlib import Path, PurePath

import pytest

from sessions import telling
from sessions.adapters import TwoClaims, claims
from sessions.adapters.base import HEAD, Adapter, Following, Line, Link, NativeVersion, PartsOf, Unfollowed
from sessions.adapters.claude_code import ADAPTER as CLAUDE
from sessions.adapters.claude_code import following
from sessions.adapters.following import follow
from sessions.assembly import Assembly, records
from sessions.bench import corpus
from sessions.entries import Facts
from sessions.ingest import take_file
from sessions.models import Session
from tests.claude_lines import ClaudeLines, turns
from webapp.models import Workspace

LARGEST = 1_500_000  # bytes of the recordings that are followed here
PLACES = 4  # at which a log is cut


class Log:
    """A log with the links of its entries."""

    def __init__(self, adapter: Adapter, path: PurePath, data: bytes) -> None:
        reader, assembly = adapter.reader(path), Assembly()
        placed = [assembly.place(reader.read(line), line) for line in _lines(adapter, path, data)]
        self.adapter = adapter
        self.facts: Facts = reader.facts
        self.links = [one.link() for one in placed]
        parts = {one.seq: one.entry.parts for one in placed}
        self.parts_of: PartsOf = parts.__getitem__

    def versions(self) -> list[NativeVersion]:
        return list(self.adapter.history(self.links, self.parts_of, self.facts))


def _lines(adapter: Adapter, path: PurePath, data: bytes) -> list[Line]:
    return list(records(adapter, path, data))


def logs_of(folder: Path, agent: str) -> list[Log]:
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or not 0 < path.stat().st_size <= LARGEST:
            continue
        data = path.read_bytes()
        try:
            claimed = claims(path, data[:HEAD])
        except TwoClaims:
            continue
        if claimed and claimed[0].agent == agent and claimed[1].role == "session" and not claimed[1].whole:
            found.append(Log(claimed[0], path, data))
    return found


def followed(
    log: Log, links: list[Link], *, whole: bool = False
) -> tuple[list[NativeVersion], dict[str, object] | None]:
    one = follow(log.adapter, log.parts_of, whole=whole)
    for link in links:
        one.add(link)
    versions, tip = one.end(log.facts)
    return list(versions), tip


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli"])
def test_recordings_followed_and_appended_to(shared_data: Path, agent: str) -> None:
    logs = logs_of(shared_data, agent)
    assert len(logs) > 8
    steady = asked = 0
    for log in logs:
        assert followed(log, log.links)[0] == log.versions()
        for place in random.Random(7).sample(range(1, len(log.links)), min(PLACES, len(log.links) - 1)):
            said, n = steady_from(log, place)
            steady += said
            asked += n
    assert steady > asked * 0.8  # most appended entries need no history


def steady_from(log: Log, place: int) -> tuple[int, int]:
    """Go on from a place by the tip as far as it says, and hold what it says against the whole history; whether it said anything."""
    versions, tip = followed(log, log.links[:place])
    if tip is None:
        return 0, 0
    adapter = log.adapter
    assert isinstance(adapter, Following)
    seen = {link.native_id for link in log.links[:place]}
    end = place
    for link in log.links[place : place + 20]:
        after = adapter.steady(tip, link, repeated=link.native_id is not None and link.native_id in seen)
        if after is None:
            break
        tip, end = after, end + 1
        seen.add(link.native_id)
    if end == place:
        return 0, 1
    assert followed(log, log.links[:end], whole=True)[0] == versions
    return 1, 1


def test_what_is_let_go_of_is_not_missed(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing at hand but the stretch since the last compaction the versions are the same, or it is said that they cannot be told."""
    monkeypatch.setattr(following, "_AT_HAND", 0)
    invented = Log(CLAUDE, PurePath("x.jsonl"), b"".join(corpus.lines(4_000)))
    assert len(invented.versions()) > 3
    assert followed(invented, invented.links)[0] == invented.versions()
    told = 0
    for log in logs_of(shared_data, "claude-code"):
        try:
            assert followed(log, log.links)[0] == log.versions()
        except Unfollowed:
            continue
        told += 1
    assert told > 50


def test_an_appended_line_reads_no_history(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    lines: ClaudeLines = turns(4)
    lines.compact("All of it.")
    lines = turns(3, lines)
    path.write_bytes(bytes(lines))
    assert take_file(workspace, path).outcome == "added"
    calls: list[object] = []
    links_of = telling.links_of
    monkeypatch.setattr(telling, "links_of", lambda pk: calls.append(pk) or links_of(pk))
    head = Session.objects.get().native_head_id
    turns(2, lines)
    path.write_bytes(bytes(lines))
    assert take_file(workspace, path).outcome == "grown"
    assert (calls, Session.objects.get().native_head_id) == ([], head)
    lines.leaf = None
    lines.prompt("from the start again")
    path.write_bytes(bytes(lines))
    assert take_file(workspace, path).outcome == "grown"
    assert len(calls) == 1
    assert Session.objects.get().native_head_id != head
