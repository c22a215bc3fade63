"""The first page of a PDF that a session holds, as a small PNG: drawn in a short-lived process, kept by the hash of its bytes.

The bytes come from strangers. So the process that reads them (`pdfdrawing`) has an empty environment, nothing open but the bytes and a
pipe, and bounds of memory, CPU time and clock; what it gives back is taken for a picture only if it begins and measures like one.
"""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile
from threading import BoundedSemaphore, Timer

from django.conf import settings

from sessions import pdfdrawing

LARGEST = 32 << 20  # bytes of a PDF that is drawn
SECONDS = 10.0  # that drawing may take, the start of its process among them
PATIENCE = 20.0  # seconds that one waits for others' drawings
AT_ONCE = 2  # drawings of one web process
KEPT = 400  # pictures that are kept; the ones longest not asked for go first
PICTURE = 2 << 20  # bytes that a picture may have


class Why(StrEnum):
    """Why there is no picture."""

    LARGE = "large"
    LOCKED = "locked"
    UNREADABLE = "unreadable"
    BEYOND = "beyond"
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture, or why there is none."""

    png: bytes | None = None
    why: Why | None = None


_turns = BoundedSemaphore(AT_ONCE)


def first_page(data: bytes) -> Drawn:
    """The first page of the PDF `data`. What came of it is kept, but for what another try may change."""
    if len(data) > LARGEST:
        return Drawn(why=Why.LARGE)
    place = _kept_in() / hashlib.sha256(data).hexdigest()
    known = _known(place)
    if known is not None:
        return known
    if not _turns.acquire(timeout=PATIENCE):
        return Drawn(why=Why.BUSY)
    try:
        drawn = _known(place) or _drawn(data)
    finally:
        _turns.release()
    _keep(place, drawn)
    return drawn


def _drawn(data: bytes) -> Drawn:
    """Have a process of its own draw it."""
    with TemporaryFile() as held:
        held.write(data)
        held.seek(0)
        child = subprocess.Popen(
            [sys.executable, "-I", str(Path(pdfdrawing.__file__))],
            stdin=held,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd=os.sep,
        )
    assert child.stdout is not None
    late = Timer(SECONDS, child.kill)
    late.start()
    try:
        said = child.stdout.read(PICTURE + 1)
        if len(said) > PICTURE:
            child.kill()
        code = child.wait()
    finally:
        late.cancel()
        child.stdout.close()
    if code == 0:
        return Drawn(said) if _is_picture(said) else Drawn(why=Why.UNREADABLE)
    # Ended by a signal or out of memory: a bound was reached, or the library fell over.
    why = {pdfdrawing.LOCKED: Why.LOCKED, pdfdrawing.UNREADABLE: Why.UNREADABLE}
    return Drawn(why=why.get(code, Why.BEYOND))


def _is_picture(data: bytes) -> bool:
    if len(data) > PICTURE or data[:8] != pdfdrawing.SIGNATURE or data[12:16] != b"IHDR":
        return False
    width, height = struct.unpack(">II", data[16:24])
    return bool(0 < width <= pdfdrawing.LONGEST and 0 < height <= pdfdrawing.LONGEST)


# -- what is kept -----------------------------------------------------------------------------------------------------


def _kept_in() -> Path:
    return Path(settings.DATA_DIR) / "pages"


def _known(place: Path) -> Drawn | None:
    try:
        found = place.read_bytes()
        os.utime(place)
    except OSError:
        return None
    if _is_picture(found):
        return Drawn(found)
    with suppress(ValueError):
        return Drawn(why=Why(found.decode("ascii", "replace")))
    return None


def _keep(place: Path, drawn: Drawn) -> None:
    """Keep it for the next who asks; where nothing can be written it is drawn again."""
    body = drawn.png if drawn.png is not None else (drawn.why or Why.UNREADABLE).encode()
    if drawn.why in (Why.BUSY, Why.BEYOND):
        return
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Written aside and renamed: who reads meanwhile finds all of it or nothing.
        aside = place.with_name(f".{place.name}.{os.getpid()}")
        aside.write_bytes(body)
        aside.replace(place)
        kept = sorted(place.parent.iterdir(), key=lambda one: one.stat().st_mtime)
        for old in kept[: max(0, len(kept) - KEPT)]:
            old.unlink(missing_ok=True)
