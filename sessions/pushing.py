"""Sends session files to another Palimpsest server: what is here and not there yet, and no more. Asks no database."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from sessions.adapters import TwoClaims
from sessions.discover import files_under
from sessions.expansion import Expanded, Unreadable, expanded
from sessions.packing import ZstdError
from sessions.recognise import recognise
from sessions.remote import Declined, Remote, Unreachable

PIECE = 8 << 20  # bytes of one request: what an interruption costs at most
_AGAIN = 5  # times that a file is begun again because another pushed it at the same time
_ROLES = frozenset({"session", "sidecar"})
_BLOCK = 1 << 20


@dataclass(slots=True)
class Pushed:
    """What became of one file. `outcome` as of an ingest, and `refused`: what the server has is more. `sent`: bytes that went over.

    `passing`: what made it fail may be over by itself, so that the same push later may do.
    """

    path: str
    outcome: str
    reason: str = ""
    agent: str | None = None
    session: str | None = None
    size: int = 0
    sent: int = 0
    passing: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Sender:
    """`machine`: how this machine is called in the names of its files. `rewrite`: a shorter file may stand beside a longer one there.

    `stopped` is asked between two pieces and two files.
    """

    remote: Remote
    machine: str
    rewrite: bool = False
    piece: int = PIECE
    stopped: Callable[[], bool] = lambda: False

    def push(self, paths: Iterable[Path], told: Callable[[Pushed], None] = lambda _: None) -> list[Pushed]:
        """Push every session under `paths`; what became of each. One bad file never stops the rest; Denied does: it holds for all."""
        out: list[Pushed] = []
        for path in files_under(paths):
            if self.stopped():
                break
            for pushed in self._of_path(path):
                out.append(pushed)
                told(pushed)
        return out

    def _of_path(self, path: Path) -> Iterator[Pushed]:
        found = expanded(path)
        if found is not None:
            yield from self._of_members(found)
            return
        pushed = Pushed(str(path), "failed")
        try:
            # Looked at before it is opened: opening a pipe waits for its writer.
            if not S_ISREG(path.stat().st_mode):
                pushed.reason = "not a regular file"
            else:
                with path.open("rb") as file:
                    pushed.size = os.fstat(file.fileno()).st_size
                    self._recognised(str(path.resolve()), file, pushed)
        except FileNotFoundError:
            pushed.reason = "there is no such file"
        except OSError as error:
            pushed.reason = f"cannot be read: {error.strerror or error}"
        yield pushed

    def _of_members(self, found: Expanded) -> Iterator[Pushed]:
        """Each session of a file that is not one source itself, as the document that an ingest would make of it."""
        try:
            for member in found.members():
                document = member.document()
                pushed = Pushed(found.name_of(member), "failed", size=len(document))
                self._recognised(pushed.path, io.BytesIO(document), pushed)
                yield pushed
        except Unreadable as error:
            yield Pushed(str(found.path), "failed", str(error), agent=found.adapter.agent)

    def _recognised(self, path: str, file: BinaryIO, pushed: Pushed) -> None:
        try:
            claimed = recognise(path, file)
        except (TwoClaims, ZstdError) as error:
            pushed.reason = str(error)
            return
        if claimed is None or claimed[1].role not in _ROLES:
            pushed.outcome = "skipped"
            known = None if claimed is None else claimed[1].reason
            pushed.reason = known or ("an empty file" if not pushed.size else "no records of an agent known here")
            return
        pushed.agent = claimed[0].agent
        name = f"{self.machine}/{path.lstrip('/')}"
        for _ in range(_AGAIN):
            try:
                self._bring(name, file, pushed)
            except Declined as declined:
                if declined.code == "offset":
                    continue
                pushed.outcome, pushed.reason = "failed", str(declined)
            except Unreachable as gone:
                pushed.outcome, pushed.reason, pushed.passing = "failed", str(gone), True
            return
        pushed.outcome, pushed.passing = "failed", True
        pushed.reason = "another push of the same file keeps coming between; push again later"

    def _bring(self, name: str, file: BinaryIO, pushed: Pushed) -> None:
        """Bring the server's copy up to what the file is here. Only its first `pushed.size` bytes count: it may be growing."""
        size = pushed.size
        there = self.remote.standing(name)
        if there is None:
            same = self.remote.standing(name, sha256=_digest(file, size))
            if same is not None:
                pushed.outcome, pushed.session = "same", same["session"]
                pushed.reason = f"the same bytes are there already, from {same['path']}"
                return
        stored = 0 if there is None else int(there["stored"])
        anew = False
        if there is not None:
            pushed.session = there["session"]
            if stored > size and not self.rewrite:
                pushed.outcome = "refused"
                pushed.reason = (
                    f"the server has {stored:,} bytes of it, here are {size:,}: they stay there as they are. "
                    "--rewrite puts the shorter one beside them as a new revision"
                )
                return
            anew = stored > size or there["sha256"] != _digest(file, stored)
            if not anew and stored == size and there["complete"]:
                pushed.outcome = "unchanged"
                return
        at = 0 if anew else stored
        complete = False
        while not complete:
            if self.stopped():
                raise Unreachable("Interrupted. What the server has it keeps; push again to go on from there.")
            file.seek(at)
            data = file.read(min(self.piece, size - at))
            complete = at + len(data) >= size or not data
            said = self.remote.append(name, data, offset=at, complete=complete, rewrite=anew)
            at += len(data)
            pushed.sent += len(data)
        pushed.outcome, pushed.reason, pushed.session = said["outcome"], said["reason"], said["session"]


def _digest(file: BinaryIO, size: int) -> str:
    hasher = hashlib.sha256()
    file.seek(0)
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        hasher.update(block)
        size -= len(block)
    return hasher.hexdigest()
