"""Gives a version back to an agent: a new native session, read back before anybody gets it, as files, a download, or in the agent's folder.

The original is never touched: all that is written comes from the bytes kept here.
"""

from __future__ import annotations

import io
import os
import shlex
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from sessions import homes
from sessions.adapters import by_agent
from sessions.adapters.lineage import Lineage
from sessions.assembly import read_whole
from sessions.contexts import hidden_by
from sessions.entries import Facts, GoalStatus, Kind, Part
from sessions.models import Event, Session, Version
from sessions.packing import unpack
from sessions.projection import facts_of, projected
from sessions.sourcebytes import content, place
from sessions.store import edits_of, links_of
from sessions.versions import Refused
from sessions.writers import writers
from sessions.writers.base import CannotWrite, Draft, Names, PlannedGoal, Writer, Written, ghosts_of, unchanged_until
from sessions.writers.compare import blocks, difference
from sessions.writers.crossing import crossed

MOST = 1 << 30  # bytes of a session that are held in memory to write it anew


@dataclass(frozen=True, slots=True)
class Made:
    """A session written and read back, not yet anywhere. `blocks`: of its context, all as they were to be."""

    session: Session
    version: Version
    writer: Writer
    written: Written
    blocks: int
    notes: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(len(file.data) for file in self.written.files)


@dataclass(frozen=True, slots=True)
class Put:
    """Where a session was put, and the line that goes on from it. `installed`: where its agent looks for it."""

    made: Made
    paths: tuple[str, ...]
    command: str
    installed: bool


def make(session: Session, *, agent: str | None = None, version: int | None = None, names: Names | None = None) -> Made:
    """Write a version (None: the one in force) as a session of `agent` (None: its own), and read it back.

    Refused where there is no such writer or version, where nothing can be written, or where what was written would not send what the
    version sends.
    """
    wanted = agent or session.agent
    writer = writers().get(wanted)
    if writer is None:
        known = ", ".join(sorted(writers()))
        raise Refused(
            "no_writer",
            _("Sessions of %(agent)s cannot be written; there are: %(known)s.") % {"agent": wanted, "known": known},
        )
    row = _version(session, version)
    notes = _of_the_source(session)
    try:
        draft = _draft(session, row, wanted, names or Names(datetime.now(UTC)))
        written = writer.write(draft)
    except CannotWrite as error:
        raise Refused("nothing_to_write", str(error)) from error
    count = _read_back(session, wanted, written)
    return Made(session, row, writer, written, count, (*notes, *written.notes))


def put_out(made: Made, folder: Path, *, by: Any = None) -> Put:
    """Write the files below a folder, which is made where it is not there."""
    files = [(folder / file.name, file) for file in made.written.files]
    paths = homes.put(files)
    return _done(made, [str(path.resolve()) for path in paths], installed=False, by=by)


def install(
    made: Made,
    *,
    even_if_live: bool = False,
    by: Any = None,
    home: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Put:
    """Write the files where the agent lists them, on this machine. Refused unless the setting allows it, and while the original looks live."""
    env = os.environ if env is None else env
    if not settings.INSTALL_SESSIONS:
        raise Refused(
            "not_allowed",
            _(
                "Sessions are put into agents' folders only where PALIMPSEST_INSTALL is on; write it to a folder instead."
            ),
        )
    reason = homes.live_because(made.session.source.path, made.session.source.size)
    if reason is not None and not even_if_live:
        raise Refused(
            "looks_live",
            _("The original looks live: %(reason)s. Wait for its agent to end, or say that it may be so.")
            % {"reason": reason},
        )
    home = home or Path.home()
    cwd = made.session.cwd
    places = [(homes.place_of(made.writer.agent, file.name, cwd, home, env), file) for file in made.written.files]
    found = [(path, file) for path, file in places if path is not None]
    if len(found) < len(places):
        raise Refused(
            "no_place",
            _("%(agent)s has no folder here in which it would find this session; write it to a folder instead.")
            % {"agent": made.writer.label},
        )
    paths = homes.put(found)
    return _done(made, [str(path) for path in paths], installed=True, by=by)


def download(made: Made, *, by: Any = None) -> tuple[str, bytes]:
    """A name and the bytes of the session's file, or of an archive where it has several."""
    _note(made, [], installed=False, by=by)
    files = made.written.files
    if len(files) == 1:
        return PurePath(files[0].name).name, files[0].data
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.writestr(file.name, file.data)
    return f"{made.written.native_id}.zip", packed.getvalue()


def command_for(made: Made, paths: Sequence[str], *, installed: bool) -> str:
    """The line that goes on from the session whose files lie at `paths`."""
    going_on = made.writer.command(made.written.native_id, paths[0], placed=installed)
    if made.session.cwd and not PurePath(paths[0]).is_absolute():
        # The line changes into the session's folder first; the file stays in the one before.
        name = shlex.quote(paths[0])
        going_on = going_on.replace(name, f'"$OLDPWD"/{name}')
    return homes.command(made.writer.agent, paths, going_on, made.session.cwd, placed=installed)


# -- the draft ----------------------------------------------------------------------------------------------------------


def _version(session: Session, number: int | None) -> Version:
    row = session.current if number is None else session.versions.filter(n=number).first()
    if row is None:
        raise Refused("no_such_version", _("This session has no version %(n)s.") % {"n": number})
    return row


def _of_the_source(session: Session) -> tuple[str, ...]:
    notes: list[str] = []
    if session.superseded_by_id is not None or session.source.superseded:
        notes.append(_("the original was rewritten since: this comes from the revision the version was made over"))
    unknown = session.entries.filter(kind=Kind.OTHER, lane="").count()
    if unknown:
        notes.append(_("%(n)s records of kinds not known here are not carried over") % {"n": f"{unknown:,}"})
    return tuple(notes)


def _draft(session: Session, version: Version, agent: str, names: Names) -> Draft:
    edits = edits_of(version)
    items = projected(session, edits)
    facts = facts_of(session)
    links = list(links_of(session.pk))
    sent = [link.seq for link in links if link.sent and not link.lane]
    title = f"{session.title} (v{version.n})" if session.title else None
    draft = Draft(
        agent=session.agent,
        facts=facts,
        links=links,
        record=_records(session),
        parts_of=_parts_of(session),
        items=items,
        ghosts=ghosts_of(items, hidden_by(edits), sent),
        changed_from=unchanged_until(items, sent),
        lineage=Lineage(session.agent, session.native_id, str(session.pk), version.n, version.content_hash),
        names=names,
        title=title,
        goals=_goals(session),
    )
    return crossed(draft, by_agent(session.agent).wire(items, facts), agent)


def _records(session: Session) -> Callable[[int], bytes]:
    """The exact bytes of an entry's record. The session's sources are held in memory, each from the first record that is asked for."""
    rows = session.entries.order_by("seq").values_list("seq", "source_id", "byte_offset", "byte_length")
    kept = {seq: (source, offset, length) for seq, source, offset, length in rows}
    sources = {link.source_id: link.source for link in session.chain.select_related("source")}
    sources.setdefault(session.source_id, session.source)
    if sum(source.size for source in sources.values()) > MOST:
        raise Refused("too_large", _("This session is larger than what is held in memory to write it anew."))

    @cache
    def whole(source: int) -> bytes:
        return b"".join(content(sources[source]))

    def record(seq: int) -> bytes:
        source, offset, length = kept[seq]
        start = place(sources[source], seq, offset)
        return whole(source)[start : start + length]

    return record


def _parts_of(session: Session) -> Callable[[int], tuple[Part, ...]]:
    @cache
    def parts_of(seq: int) -> tuple[Part, ...]:
        packed = session.entries.filter(seq=seq).values_list("parts", flat=True).first()
        return () if packed is None else unpack(packed)

    return parts_of


def _goals(session: Session) -> tuple[PlannedGoal, ...]:
    """The goals as they stand, where somebody marked one here; else none: the agent has its own."""
    if not session.goal_marks.exists():
        return ()
    rows = session.goals.filter(inferred=False).order_by("position")
    return tuple(
        PlannedGoal(
            row.path,
            row.text,
            GoalStatus(row.marked or row.status),
            row.mark_note if row.marked else row.note,
            changed=bool(row.marked or row.added),
        )
        for row in rows
    )


# -- what was written, read back ----------------------------------------------------------------------------------------


def _read_back(session: Session, agent: str, written: Written) -> int:
    """How many blocks the context of a written session has. Refused where it is not the one that was to be written."""
    adapter = by_agent(agent)
    first = written.files[0]
    reading = read_whole(adapter, PurePath("/") / first.name, [(first.data, False)])
    facts: Facts = facts_of(session) if session.agent == agent else reading.facts
    wanted = blocks(adapter.wire(written.expected, facts))
    got = blocks(reading.context())
    wrong = difference(wanted, got)
    if wrong is not None:
        raise Refused(
            "differs",
            _("Not written: the new session would not send what the version does. %(what)s.") % {"what": wrong},
        )
    return len(got)


def _done(made: Made, paths: list[str], *, installed: bool, by: Any) -> Put:
    _note(made, paths, installed=installed, by=by)
    return Put(made, tuple(paths), command_for(made, paths, installed=installed), installed)


def _note(made: Made, paths: Sequence[str], *, installed: bool, by: Any) -> None:
    Event.objects.create(
        workspace_id=made.session.workspace_id,
        session=made.session,
        who=by,
        what="written_back",
        facts={
            "agent": made.writer.agent,
            "native_id": made.written.native_id,
            "version": made.version.n,
            "paths": list(paths),
            "installed": installed,
            "bytes": made.size,
            "notes": list(made.notes),
        },
    )
