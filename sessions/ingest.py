"""Takes sources in: recognise, keep the bytes, read what is new, place, count, COPY, derive the native history. One file, one transaction.

The same file twice changes nothing; a grown file costs what was appended; a rewritten one becomes a new revision beside the old.
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath
from stat import S_ISDIR, S_ISREG
from typing import Any, BinaryIO

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q

from sessions.adapters import TwoClaims, by_agent, claims
from sessions.adapters.base import HEAD, Adapter, Claim
from sessions.adapters.expanding import Member
from sessions.announcing import announce
from sessions.beside import name_place, name_sessions, of_many, tell_commands
from sessions.chains import base_of, join_late, reread, reread_waiting, write_chain
from sessions.collecting import seldom
from sessions.derive import derive
from sessions.documents import read_changed
from sessions.expansion import Expanded, Unreadable, expanded
from sessions.indexes import Index, index_at, tell
from sessions.inturn import in_turn
from sessions.models import Session, Source
from sessions.packing import MAGIC, ZstdError, unpacked
from sessions.reading import Read, copied_of, is_document, read_chain
from sessions.sourcebytes import LARGEST, Keeping, begins_with, digest_of, digest_of_file, is_of, keep
from sessions.store import clean, legible

CHANGED = frozenset({"added", "grown", "rewritten"})  # outcomes by which something came
DATABASE = b"SQLite format 3\x00"  # how such a file begins

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Taken:
    """What became of one file. `outcome`: added, grown, unchanged, same (its bytes are here under another name), rewritten, kept (a
    sidecar), skipped, failed. `reason`: in words, where something was not taken or not as expected. `tokens`: of the session's own steps;
    `copied`: of steps that it has too and that count where they were requested. Both together are what the file itself says.
    """

    path: str
    outcome: str
    reason: str = ""
    agent: str | None = None
    session: str | None = None
    native_id: str | None = None
    size: int = 0
    entries: int = 0
    added: int = 0
    turns: int = 0
    steps: int = 0
    goals: int = 0
    versions: int = 0
    compactions: int = 0
    malformed: int = 0
    tokens: dict[str, int | None] = field(default_factory=dict)
    copied: dict[str, int | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class _Same(Exception):
    """The bytes are here already, under another name; rolls the keeping of them back."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.pk)
        self.source = source


def take_path(workspace: Any, path: Path, *, owner: Any = None, patient: bool = True) -> Iterator[Taken]:
    """Take in what is at a path: one source, or the sessions of a file that holds many."""
    found = expanded(path)
    if found is not None:
        yield from take_expanded(workspace, found, owner=owner)
    elif (index := index_at(path)) is not None:
        yield _guarded(str(path), partial(_tell, workspace, index, patient=patient))
    else:
        yield take_file(workspace, path, owner=owner, patient=patient)


def _tell(workspace: Any, index: Index, *, patient: bool) -> Taken:
    """Lay over the sessions what a database beside them says; last, so that those that come with it are here."""
    taken = Taken(str(index.path.resolve()), "skipped", agent=index.agent, size=index.path.stat().st_size)
    if patient:
        taken.outcome = "waiting"
        return taken
    try:
        told = tell(workspace, index)
    except Unreadable as error:
        taken.outcome, taken.reason = "failed", str(error)
        return taken
    taken.reason = f"no session: what {index.label} keeps of its sessions beside them"
    if told:
        taken.reason += f"; {told} of the sessions here got what stands only there"
    return taken


def take_expanded(workspace: Any, found: Expanded, *, owner: Any = None) -> Iterator[Taken]:
    """Take in each session of a file that is not one source itself. Those whose stamp is the one they had are not looked at."""
    try:
        for member in found.members():
            yield _guarded(found.name_of(member), partial(_take_member, workspace, found, member, owner))
    except Unreadable as error:
        yield Taken(str(found.path), "failed", str(error), agent=found.adapter.agent)
    except OSError as error:
        words = f"cannot be read: {error.strerror or error}"
        yield Taken(str(found.path), "failed", words, agent=found.adapter.agent)


def _take_member(workspace: Any, found: Expanded, member: Member, owner: Any) -> Taken:
    name, agent = found.name_of(member), found.adapter.agent
    here = Session.objects.filter(workspace=workspace, agent=agent, superseded_by=None).select_related("source")
    known = here.filter(source__path=name, source__superseded=False).first()
    if known is not None and known.source.adapter_version == found.adapter.version:
        if known.facts.get("stamp") == member.stamp:
            taken = Taken(name, "unchanged", agent=agent, native_id=member.native_id, size=known.source.size)
            report(taken, known, 0)
            return taken
    elif known is None and found.kept == "folder":
        other = here.filter(native_id=member.native_id, source__path__contains="#").first()
        if other is not None:
            reason = f"this session is here already, from {other.source.path}: the database is what the agent reads"
            return Taken(name, "skipped", reason, agent=agent, session=str(other.pk), native_id=member.native_id)
    taken = take(
        workspace, name, io.BytesIO(found.document(member)), modified=found.modified, owner=owner, patient=False
    )
    if taken.session is not None and taken.outcome in ("added", "grown", "rewritten", "unchanged"):
        with transaction.atomic():
            session = Session.objects.select_for_update(no_key=True).get(pk=taken.session)
            session.facts = {**session.facts, "stamp": member.stamp}
            session.save(update_fields=["facts"])
    return taken


def _guarded(path: str, verb: Callable[[], Taken]) -> Taken:
    """What `verb` says became of a source; for an error of its own, that. Errors of the database come through."""
    try:
        return verb()
    except (OperationalError, InterfaceError, Unreadable, OSError):
        raise
    except Exception as error:
        # One source must not stop the others, whatever an adapter (perhaps another package's) makes of it. The traceback goes to the log.
        log.exception("taking in %s failed", path)
        return Taken(
            path,
            "failed",
            f"an error of Palimpsest or of an adapter, nothing of it was stored: {type(error).__name__}",
        )


def take_file(workspace: Any, path: Path, *, owner: Any = None, patient: bool = True) -> Taken:
    """Take in one file. Never raises for what the file is or holds; errors of the database do come through."""
    try:
        # Looked at before it is opened: opening a pipe waits for its writer.
        found = path.stat()
        if not (S_ISREG(found.st_mode) or S_ISDIR(found.st_mode)):
            return Taken(str(path), "failed", "not a regular file")
        if patient and of_many(path):
            return Taken(str(path.resolve()), "waiting", size=found.st_size)
        with path.open("rb") as file:
            modified = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
            verb = partial(take, workspace, str(path.resolve()), file, modified=modified, owner=owner, patient=patient)
            taken = _guarded(str(path), verb)
        name_place(taken, path)
        name_sessions(workspace, taken, path)
        tell_commands(workspace, taken, path)
        return taken
    except FileNotFoundError:
        return Taken(str(path), "failed", "there is no such file")
    except IsADirectoryError:
        return Taken(str(path), "failed", "a folder, not a file")
    except OSError as error:
        return Taken(str(path), "failed", f"cannot be read: {error.strerror or error}")


def take(
    workspace: Any,
    path: str,
    file: BinaryIO,
    *,
    modified: datetime | None = None,
    owner: Any = None,
    patient: bool = True,
) -> Taken:
    """Take in an open, seekable file under the name `path`.

    `patient`: a source whose base, or a sidecar whose session, is not here yet is left with outcome "waiting"; else it is kept alone.
    """
    path = legible(path)
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    taken = Taken(path, "skipped", size=size)
    if size == 0:
        taken.reason = "an empty file"
        return taken
    raw_head = file.read(HEAD)
    if raw_head.startswith(DATABASE):
        # Whole it would be kept with its tables of tokens and secrets; `take_path` reads of it what is a session's.
        taken.reason = "a database: its sessions are taken in on the machine where it lies (ingest, watch, up), and nothing else of it"
        with suppress(TwoClaims):
            whose = claims(PurePath(path), raw_head)
            if whose is None:
                taken.reason = "a database of no agent known here"
            elif whose[1].reason is not None:  # one that holds no sessions
                taken.agent, taken.reason = whose[0].agent, whose[1].reason
        return taken
    encoding = "zstd" if raw_head.startswith(MAGIC) else ""
    name = PurePath(path)
    try:
        head = _unpacked_head(file) if encoding else raw_head
        found = claims(PurePath(path.removesuffix(".zst")) if encoding else name, head)
    except ZstdError as error:
        taken.reason = f"a broken zstd file: {error}"
        return taken
    except TwoClaims as error:
        taken.outcome, taken.reason = "failed", str(error)
        return taken
    if found is None:
        taken.reason = "no records of an agent known here"
        return taken
    adapter, claim = found[0], _clean_claim(found[1])
    taken.agent, taken.native_id = adapter.agent, claim.native_id
    if claim.role not in Source.Role.values:
        taken.reason = claim.reason or "not a session"
        return taken
    try:
        with transaction.atomic(), seldom():
            lock_source(workspace, adapter.agent, path)
            # Looked at again: another process may have taken in what came meanwhile, and then the file looks shorter than what is here.
            taken.size = file.seek(0, io.SEEK_END)
            _take_claimed(workspace, file, adapter, claim, taken, encoding, modified, owner, patient=patient)
            if taken.session and taken.outcome in CHANGED:
                announce(workspace.pk, taken.session)
    except _Same as same:
        return _same(taken, same.source)
    return taken


def _clean_claim(claim: Claim) -> Claim:
    """A claim whose names are as the database has them, so that they find what is stored under them."""
    base = claim.base and replace(claim.base, native_id=clean(claim.base.native_id) or "")
    return replace(
        claim,
        native_id=clean(claim.native_id),
        source_id=clean(claim.source_id),
        owner_id=clean(claim.owner_id),
        base=base,
    )


def _take_claimed(
    workspace: Any,
    file: BinaryIO,
    adapter: Adapter,
    claim: Claim,
    taken: Taken,
    encoding: str,
    modified: datetime | None,
    owner: Any,
    *,
    patient: bool,
) -> None:
    known = Source.objects.filter(workspace=workspace, agent=adapter.agent, path=taken.path, superseded=False).first()
    identity = _identity(file)
    if known is not None:
        same_start = _goes_on(file, known, taken.size, identity, modified)
        if same_start and taken.size == known.size and known.adapter_version == adapter.version:
            _unchanged(taken, known)
            return
        known.identity = identity
        if known.role == Source.Role.SESSION and not encoding:
            if claim.whole and _grow_document(file, adapter, known, taken, modified, longer=same_start):
                return
            if same_start and not claim.whole:
                _grow(file, adapter, known, taken, modified)
                return
    base = base_of(workspace, adapter, claim)
    session = _owner(workspace, adapter, claim) if claim.role == Source.Role.SIDECAR else None
    if patient and (
        (claim.base is not None and base is None) or (claim.role == Source.Role.SIDECAR and session is None)
    ):
        taken.outcome = "waiting"
        return
    source = Source(
        workspace=workspace,
        agent=adapter.agent,
        adapter_version=adapter.version,
        role=claim.role,
        path=taken.path,
        encoding=encoding,
        native_id=claim.native_id,
        source_id=claim.source_id,
        owner_native_id=claim.owner_id,
        owner=session,
        revision=known.revision + 1 if known else 1,
        modified_at=modified,
        identity=identity,
    )
    if known is None:
        _refuse_twin(file, source, taken.size)
    else:
        Source.objects.filter(pk=known.pk).update(superseded=True)
    source.save()
    file.seek(0)
    if claim.role == Source.Role.SIDECAR:
        _keep_beside(source, file, adapter, claim, taken)
        return
    session = Session(workspace=workspace, agent=adapter.agent, source=source, native_id=source.native_id, owner=owner)
    session.save()
    links = write_chain(session, source, base, claim)
    if claim.whole:
        source.size, source.digest = keep(source, file, offset=0)
        read = read_chain(session, adapter, modified=modified, chain=links)
    else:
        with closing(Keeping(source, file, offset=0)) as keeping:
            read = read_chain(session, adapter, modified=modified, keeping=keeping, chain=links)
    taken.size = source.size
    if known is None:
        _refuse_late_twin(source)
    derive(session, read.versions, new=True)
    if known is not None:
        taken.outcome = "rewritten"
        taken.reason = "the file was rewritten; what was read before stays as an older revision"
        Session.objects.filter(source=known).update(superseded_by=session)
    else:
        taken.outcome = "added"
    join_late(session, adapter)
    reread_waiting(workspace, adapter, source)
    _adopt_sidecars(session)
    report(taken, session, read.added)


def _keep_beside(source: Source, file: BinaryIO, adapter: Adapter, claim: Claim, taken: Taken) -> None:
    """Keep a sidecar, which is not read."""
    source.size, source.digest = keep(source, file, offset=0)
    source.consumed = source.size
    in_turn(source.workspace_id, source.agent)
    source.owner = source.owner or _owner(source.workspace_id, adapter, claim)
    source.save()
    taken.size = source.size
    taken.outcome = "kept"
    if source.owner is None:
        taken.reason = "kept; the session it belongs to is not here yet"
    else:
        taken.session = str(source.owner_id)


def _identity(file: BinaryIO) -> str | None:
    """What tells the file from another one of the same name; None where it is no file of this machine."""
    try:
        found = os.fstat(file.fileno())
    except (OSError, AttributeError, ValueError):
        return None
    return f"{found.st_dev}:{found.st_ino}"


def _goes_on(file: BinaryIO, known: Source, size: int, identity: str | None, modified: datetime | None) -> bool:
    """Whether a file begins with what is stored of it.

    One of the same size is hashed whole. Of one that grew some places are compared, all of it where it is another file now, or older.
    """
    if size < known.size:
        return False
    file.seek(0)
    if size == known.size and not is_of(file, known):
        return digest_of_file(file, size) == digest_of(known)
    older = modified is not None and known.modified_at is not None and modified < known.modified_at
    return begins_with(file, known, whole=older or identity is None or identity != known.identity)


def _refuse_twin(file: BinaryIO, source: Source, size: int) -> None:
    """Raise _Same where the file's bytes are here under another name."""
    alike = Source.objects.filter(
        workspace=source.workspace_id, agent=source.agent, size=size, superseded=False
    ).order_by("pk")
    if not alike.exists():
        return
    file.seek(0)
    digest = digest_of_file(file, size)
    known = Q(digest__isnull=False) & (Q(digested=None) | Q(digested=F("size")))
    twin = alike.filter(known, digest=digest).first()
    if twin is None:  # of those that were appended to, the digest is reckoned when it is asked for
        twin = next((other for other in alike.exclude(known) if digest_of(other) == digest), None)
    if twin is not None:
        raise _Same(twin)


def _refuse_late_twin(source: Source) -> None:
    """Raise _Same where the same bytes came under another name while these were read."""
    alike = Source.objects.filter(
        workspace=source.workspace_id, agent=source.agent, size=source.size, digest=source.digest, superseded=False
    )
    twin = alike.exclude(pk=source.pk).order_by("pk").first()
    if twin is not None:
        raise _Same(twin)


def _grow(file: BinaryIO, adapter: Adapter, source: Source, taken: Taken, modified: datetime | None) -> None:
    session = Session.objects.select_for_update(no_key=True).get(source=source)
    session.source = source  # one object of the row: what reading saves holds the new size too
    source.modified_at = modified
    if is_document(source) or source.adapter_version != adapter.version:
        file.seek(source.size)
        _digested(source)
        source.size, _ = keep(source, file, offset=source.size)
        _read_on(session, adapter, taken, anew=True)
        return
    file.seek(source.size)
    _digested(source)
    with closing(Keeping(source, file, offset=source.size)) as keeping:
        _read_on(session, adapter, taken, anew=False, keeping=keeping)


def _digested(source: Source) -> None:
    """What the digest is of stays so; what comes is not in it."""
    source.digested = source.size if source.digested is None else source.digested


def _grow_document(
    file: BinaryIO, adapter: Adapter, source: Source, taken: Taken, modified: datetime | None, *, longer: bool
) -> bool:
    """Read a document on, where it says what it said and more; False where it says something else now.

    `longer`: it begins with what is stored. Then it is the same one, even where what came sheds another light on what was there.
    """
    session = Session.objects.select_for_update(no_key=True).get(source=source)
    session.source = source
    file.seek(0)
    if taken.size > LARGEST:
        return False
    read = read_changed(session, adapter, file.read(), longer=longer, modified=modified)
    if read is None:
        return False
    taken.size = source.size
    _told_grown(session, taken, read)
    return True


def _read_on(session: Session, adapter: Adapter, taken: Taken, *, anew: bool, keeping: Keeping | None = None) -> None:
    source = session.source
    if anew:
        source.adapter_version = adapter.version
        source.save()
        read = reread(session, adapter)
    else:
        read = read_chain(session, adapter, modified=source.modified_at, keeping=keeping)
    taken.size = source.size
    _told_grown(session, taken, read)


def _told_grown(session: Session, taken: Taken, read: Read) -> None:
    derive(session, read.versions)
    join_late(session, by_agent(session.agent))
    taken.outcome = "grown"
    report(taken, session, read.added)


def _adopt_sidecars(session: Session) -> None:
    """Sidecars that came before their session are its own. One that is just rewritten is left: it looks for its session itself."""
    if session.native_id:
        alone = Source.objects.select_for_update(skip_locked=True).filter(
            workspace_id=session.workspace_id,
            agent=session.agent,
            role=Source.Role.SIDECAR,
            owner_native_id=session.native_id,
            owner=None,
        )
        Source.objects.filter(pk__in=list(alone.values_list("pk", flat=True))).update(owner=session)


def report(taken: Taken, session: Session, added: int) -> None:
    """Fill in what is known of the session."""
    taken.session = str(session.pk)
    taken.native_id = session.native_id
    taken.entries, taken.added = session.entries_count, added
    taken.turns, taken.steps, taken.malformed = session.turns, session.steps_count, session.malformed
    taken.tokens = dict(session.totals)
    taken.copied = copied_of(session)
    with connection.cursor() as cursor:
        # By hand, as all that is asked for every file: to put such a statement together from models takes longer than to answer it.
        cursor.execute(
            "SELECT count(*), count(*) FILTER (WHERE origin = 'native' AND kind IN ('compaction', 'microcompaction')), "
            "(SELECT count(*) FROM agent_sessions_goal WHERE session_id = %(session)s AND NOT inferred) "
            "FROM agent_sessions_version WHERE session_id = %(session)s",
            {"session": session.pk},
        )
        taken.versions, taken.compactions, taken.goals = cursor.fetchone()
    taken.problems = list(session.problems)


def _unchanged(taken: Taken, source: Source) -> None:
    taken.outcome = "unchanged"
    _told_of(taken, source)


def _same(taken: Taken, source: Source) -> Taken:
    taken.outcome = "same"
    taken.reason = f"the same bytes are here already, from {source.path}"
    _told_of(taken, source)
    return taken


def _told_of(taken: Taken, source: Source) -> None:
    session = Session.objects.filter(Q(source=source)).first() or source.owner
    if session is not None and source.role == Source.Role.SESSION:
        report(taken, session, 0)
    elif session is not None:
        taken.session = str(session.pk)


def _owner(workspace: Any, adapter: Adapter, claim: Claim) -> Session | None:
    if claim.owner_id is None:
        return None
    return (
        Session.objects.filter(workspace=workspace, agent=adapter.agent, native_id=claim.owner_id, superseded_by=None)
        .order_by("created_at")
        .first()
    )


def _unpacked_head(file: BinaryIO) -> bytes:
    file.seek(0)
    head = b""
    for piece in unpacked(iter(lambda: file.read(HEAD), b"")):
        head += piece
        if len(head) >= HEAD:
            break
    return head[:HEAD]


def lock_source(workspace: Any, agent: str, path: str) -> None:
    """One taker of a source at a time; held until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{workspace.pk}|{agent}|{path}"])
