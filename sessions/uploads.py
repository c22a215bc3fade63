"""Sources that come from elsewhere: whole, or piece by piece from where the last one ended. Their names are labels, never paths of ours.

A piece is kept once it is here, so that whoever was interrupted goes on from there. After a piece that completes the file for now, all of
it is taken in as a file on this machine would be; bytes that make no session yet wait for those that follow.
"""

from __future__ import annotations

import hashlib
import io
import logging
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from sessions import intake
from sessions.adapters import TwoClaims
from sessions.adapters.base import Claim
from sessions.ingest import CHANGED, Taken, take
from sessions.kinship import link_parents
from sessions.models import Session, Source, Upload, UploadChunk
from sessions.packing import ZstdError, compress, decompress
from sessions.recognise import recognise
from sessions.sourcebytes import CHUNK, chunks_after, digest_of, stored
from sessions.store import clean
from sessions.versions import Refused

log = logging.getLogger(__name__)

HELD = frozenset({"added", "grown", "unchanged", "same", "rewritten", "kept"})  # the bytes are here, as a source
ABANDONED = timedelta(days=1)  # after which an upload that nobody went on with is dropped
IN_MEMORY = 8 << 20  # bytes of a body beyond which it waits on disk
PREFIX = "upload:"
DATABASE = b"SQLite format 3\0"


class NotTaken(Refused):
    """Bytes that do not fit what is stored. `facts`: how many are, and their digest."""

    def __init__(self, code: str, message: str, standing: Standing | None) -> None:
        super().__init__(code, message)
        self.session = None if standing is None else standing.session
        self.facts = {"stored": 0 if standing is None else standing.stored, "session": self.session}


class TooLarge(Refused):
    """More bytes than a source may have here."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How much of a source is here: `stored` bytes with this digest. `complete`: they are taken in, none of them waits for more."""

    path: str
    stored: int
    sha256: str
    complete: bool
    agent: str | None = None
    session: str | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a piece. `taken` is None where more is awaited first."""

    stored: int
    taken: Taken | None


def label(name: str) -> str:
    """The name under which an upload is kept: its own, without anything that leads out of it."""
    plain = (clean(name) or "").replace("\\", "/")
    pieces = [piece for piece in PurePosixPath(plain).parts if piece not in ("/", "//", "..", ".")]
    return "/".join([PREFIX, *pieces])


def standing(workspace: Any, path: str, *, agent: str | None = None, sha256: str | None = None) -> Standing | None:
    """What is here under a name; where nothing is, what is here with this digest, whatever it is called. None: nothing."""
    source = _source(workspace, path, agent)
    upload = _upload(workspace, path)
    if upload is not None and _fits(upload, source):
        hasher = hashlib.sha256()
        for block in _joined(source, upload, None).blocks():
            hasher.update(block)
        return Standing(path, upload.size, hasher.hexdigest(), complete=False)
    if source is None and sha256 is not None:
        source = _by_digest(workspace, sha256)
    if source is None:
        return None
    session = Session.objects.filter(source=source).first() or source.owner
    return Standing(
        source.path,
        source.size,
        digest_of(source).hex(),
        complete=True,
        agent=source.agent,
        session=None if session is None else str(session.pk),
        revision=source.revision,
    )


def whole(workspace: Any, path: str, file: BinaryIO, *, rewrite: bool, how: str, by: Any = None) -> Taken:
    """Take in a whole file under a name. NotTaken where it is shorter than what is stored and nobody said `rewrite`."""
    size = file.seek(0, io.SEEK_END)
    if size > settings.UPLOAD_LIMIT:
        raise too_large(size)
    try:
        with transaction.atomic():
            _lock(workspace, path)
            path = _own_name(workspace, path, file)
            here = standing(workspace, path)
            if here is not None and here.complete and size < here.stored and not rewrite:
                raise NotTaken(
                    "shorter",
                    f"This file has {size:,} bytes; {here.stored:,} are stored under its name. They stay as they are. "
                    "Sent as a rewrite (`rewrite=true`; on the page, the box) it becomes a new revision beside them.",
                    here,
                )
            taken = _take(workspace, path, file, by)
            if taken.outcome in HELD:
                Upload.objects.filter(workspace=workspace, path=path).delete()
    except NotTaken as refusal:
        _note(workspace, Taken(path, "refused", str(refusal), session=refusal.session, size=size), how, by)
        raise
    _note(workspace, taken, how, by)
    return taken


def piece(
    workspace: Any,
    path: str,
    file: BinaryIO,
    *,
    offset: int,
    complete: bool = True,
    rewrite: bool = False,
    how: str,
    by: Any = None,
) -> Received:
    """Put a piece behind the `offset` bytes that are here. NotTaken, with the right offset, where it is another number.

    `complete`: the file ends here for now, so that it is taken in. `rewrite` at offset 0: what is stored stays, and these bytes begin a
    new revision of it.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    taken: Taken | None = None
    with transaction.atomic():
        _lock(workspace, path)
        Upload.objects.filter(workspace=workspace, touched_at__lt=timezone.now() - ABANDONED).delete()
        source = _source(workspace, path)
        upload = _upload(workspace, path)
        if upload is not None and not _fits(upload, source):
            upload.delete()
            upload = None
        if rewrite and offset == 0:
            if upload is not None:
                upload.delete()
            upload = Upload.objects.create(workspace=workspace, path=path, start=0, size=0, rewrite=True)
        here = upload.size if upload is not None else source.size if source is not None else 0
        if offset != here:
            words = f"{here:,} bytes are stored under this name: go on from there. Nothing was changed."
            raise NotTaken("offset", words, _counted(path, here, source))
        if here + size > settings.UPLOAD_LIMIT:
            raise too_large(here + size)
        if complete:
            with _seekable(_joined(source, upload, file), path) as all_of_it:
                taken = _take(workspace, path, all_of_it, by)
            if taken.outcome in HELD:
                _settle(workspace, taken, source, upload)
                return _told(workspace, taken, here + size, how, by)
        if size or upload is not None:
            if upload is None:
                upload = Upload.objects.create(workspace=workspace, path=path, base=source, start=here, size=here)
            _keep(upload, file)
    if taken is None:
        return Received(here + size, None)
    return _told(workspace, taken, here + size, how, by)


def too_large(size: int) -> TooLarge:
    words = (
        f"A source may have {settings.UPLOAD_LIMIT:,} bytes here; this one has {size:,}. What was stored before stays."
    )
    return TooLarge("too_large", words)


def _told(workspace: Any, taken: Taken, here: int, how: str, by: Any) -> Received:
    _note(workspace, taken, how, by)
    return Received(here, taken)


def _note(workspace: Any, taken: Taken, how: str, by: Any) -> None:
    if taken.outcome in CHANGED and taken.session is not None:
        link_parents(workspace, {taken.session})
    intake.note(workspace, taken, how=how, by=by)
    intake.prune(workspace)


def _take(workspace: Any, path: str, file: BinaryIO, by: Any) -> Taken:
    """As `ingest.take`, and never an error of an adapter."""
    try:
        file.seek(0)
        if file.read(len(DATABASE)) == DATABASE:
            # What is written to it and not yet in it lies in a file beside it, which is not here.
            words = "a database, which is read where its agent writes it: `ingest` it there, or `push` its sessions"
            return Taken(path, "skipped", words, size=file.seek(0, io.SEEK_END))
        return take(workspace, path, file, owner=by, patient=False)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        log.exception("taking in %s failed", path)
        words = f"an error of Palimpsest or of an adapter, nothing of it was stored: {type(error).__name__}"
        return Taken(path, "failed", words)


def _settle(workspace: Any, taken: Taken, source: Source | None, upload: Upload | None) -> None:
    """The bytes are a source now: those that waited go, and so does what a beginning alone was taken for."""
    if upload is not None:
        upload.delete()
    if source is None or taken.outcome != "added" or taken.session is None or source.agent == taken.agent:
        return
    session = Session.objects.get(pk=taken.session)
    Source.objects.filter(pk=source.pk).update(superseded=True)
    Session.objects.filter(source=source).update(superseded_by=session)


def _own_name(workspace: Any, path: str, file: BinaryIO) -> str:
    """The name itself, unless it is taken by another session: browsers send names without their folders."""
    known = _source(workspace, path)
    claim = _claim(path, file)
    if known is None or claim is None or known.native_id is None or claim.native_id is None:
        return path
    native_id = clean(claim.native_id) or ""
    if native_id == known.native_id:
        return path
    return label(f"{native_id}/{path.removeprefix(PREFIX)}")


def _claim(path: str, file: BinaryIO) -> Claim | None:
    try:
        found = recognise(path, file)
    except (TwoClaims, ZstdError):
        return None
    return None if found is None else found[1]


def _source(workspace: Any, path: str, agent: str | None = None) -> Source | None:
    found = Source.objects.filter(workspace=workspace, path=path, superseded=False)
    if agent is not None:
        found = found.filter(agent=agent)
    return found.order_by("-pk").first()


def _by_digest(workspace: Any, sha256: str) -> Source | None:
    try:
        digest = bytes.fromhex(sha256)
    except ValueError:
        return None
    whole = Q(digested=None) | Q(digested=F("size"))
    return (
        Source.objects.filter(workspace=workspace, digest=digest, superseded=False).filter(whole).order_by("pk").first()
    )


def _upload(workspace: Any, path: str) -> Upload | None:
    return Upload.objects.filter(workspace=workspace, path=path).order_by("-pk").first()


def _fits(upload: Upload, source: Source | None) -> bool:
    """Whether an upload still goes on from what is stored: another way in may have been faster."""
    if upload.rewrite:
        return True
    return upload.base_id == (None if source is None else source.pk) and upload.start == (source.size if source else 0)


def _counted(path: str, here: int, source: Source | None) -> Standing:
    session = None if source is None else Session.objects.filter(source=source).first()
    return Standing(path, here, "", complete=False, session=None if session is None else str(session.pk))


def _keep(upload: Upload, file: BinaryIO) -> None:
    file.seek(0)
    while block := file.read(CHUNK):
        UploadChunk.objects.create(upload=upload, offset=upload.size, length=len(block), data=compress(block))
        upload.size += len(block)
    upload.touched_at = timezone.now()
    upload.save(update_fields=["size", "touched_at"])


def _lock(workspace: Any, path: str) -> None:
    """One piece of a source at a time; held until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", [f"{workspace.pk}|{path}"])


# -- bytes that lie in several places, as one file -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stretch:
    length: int
    blocks: Callable[[int], Iterator[bytes]]  # its bytes from an offset in it on


class Joined:
    """Stretches of bytes, one behind the other, as a file that can be read and sought in. Holds one block at a time."""

    def __init__(self, stretches: list[_Stretch], base: Source | None) -> None:
        self.stretches = stretches
        self.base = base
        self.size = sum(stretch.length for stretch in stretches)
        self.at = 0
        self.coming: Iterator[bytes] | None = None
        self.left = b""

    def is_of(self, source: Source) -> bool:
        """Whether the first bytes are those of a stored source, so that nobody reads them again to compare them with themselves."""
        return self.base is not None and self.base.pk == source.pk and self.base.size == source.size

    def blocks(self, start: int = 0) -> Iterator[bytes]:
        for stretch in self.stretches:
            if start < stretch.length:
                yield from stretch.blocks(start)
            start = max(0, start - stretch.length)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence])
        self.coming, self.left = None, b""
        return self.at

    def tell(self) -> int:
        return self.at

    def read(self, size: int = -1) -> bytes:
        if self.coming is None:
            self.coming = self.blocks(self.at)
        want = self.size - self.at if size < 0 else size
        out = bytearray()
        while len(out) < want:
            if not self.left:
                self.left = next(self.coming, b"")
                if not self.left:
                    break
            part = self.left[: want - len(out)]
            out += part
            self.left = self.left[len(part) :]
        self.at += len(out)
        return bytes(out)


def _joined(source: Source | None, upload: Upload | None, file: BinaryIO | None) -> Joined:
    stretches: list[_Stretch] = []
    base = source if upload is None or not upload.rewrite else None
    if base is not None:
        known = base
        stretches.append(_Stretch(known.size, lambda start: stored(known, start=start)))
    if upload is not None:
        held = upload
        stretches.append(_Stretch(held.size - held.start, lambda start: _waiting(held, start)))
    if file is not None:
        more = file
        stretches.append(_Stretch(more.seek(0, io.SEEK_END), lambda start: _read_from(more, start)))
    return Joined(stretches, base)


def _waiting(upload: Upload, start: int) -> Iterator[bytes]:
    start += upload.start
    for offset, length, data in chunks_after(upload.chunks.all(), start - CHUNK):
        if offset + length > start:
            yield decompress(bytes(data))[max(0, start - offset) :]


def _read_from(file: BinaryIO, start: int) -> Iterator[bytes]:
    file.seek(start)
    while block := file.read(CHUNK):
        yield block


class _seekable:  # noqa: N801 -- used as the function it reads as
    """All the bytes as a file to take in. A log is read where its bytes lie; a document, which is stored anew whole, from a copy."""

    def __init__(self, joined: Joined, path: str) -> None:
        self.joined = joined
        self.path = path
        self.copy: BinaryIO | None = None

    def __enter__(self) -> BinaryIO:
        file = cast("BinaryIO", self.joined)
        if self.joined.base is None:
            return file
        claim = _claim(self.path, file)
        if claim is None or not claim.whole:
            file.seek(0)
            return file
        self.copy = cast("BinaryIO", tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))
        for block in self.joined.blocks():
            self.copy.write(block)
        self.copy.seek(0)
        return self.copy

    def __exit__(self, *_: object) -> None:
        if self.copy is not None:
            self.copy.close()
