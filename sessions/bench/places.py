"""A workspace for a measure's time: what is measured is real rows, and none of them stays."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connection

from sessions.models import Session, Source


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace, a person in it, and a folder for files."""

    workspace: Any
    user: Any
    folder: Path


@contextmanager
def a_place(slug: str = "", *, keep: bool = False) -> Iterator[Place]:
    """Make a workspace, and remove it with everything in it. `slug`: one that an earlier measure kept, where there is one; `keep`: leave it."""
    name = slug or f"bench-{token_hex(4)}"
    workspace, made = apps.get_model("webapp", "Workspace").objects.get_or_create(slug=name, defaults={"name": name})
    user, _ = get_user_model().objects.get_or_create(username=name)
    if made:
        apps.get_model("webapp", "Membership").objects.create(workspace=workspace, user=user, role="admin")
    try:
        with TemporaryDirectory(prefix="palimpsest-bench-") as folder:
            yield Place(workspace, user, Path(folder))
    finally:
        if not keep:
            Session.objects.filter(workspace=workspace).delete()
            Source.objects.filter(workspace=workspace).delete()
            user.delete()
            workspace.delete()


def analyse() -> None:
    """Let the planner know the rows that just came, as it would after a while."""
    with connection.cursor() as cursor:
        for table in ("entry", "step", "goal", "version", "insertion", "session", "abandonment", "audittally"):
            cursor.execute(f"ANALYZE agent_sessions_{table}")


class PeakMemory:
    """The most memory a process held since the measure began, in bytes; where it cannot be reset, since it started. `process`: not this one."""

    def __init__(self, process: int | None = None) -> None:
        self._there = Path("/proc", "self" if process is None else str(process))
        try:
            # Linux alone: 5 resets the high-water mark.
            (self._there / "clear_refs").write_text("5")
        except OSError:
            self.resets = False
        else:
            self.resets = True

    def now(self) -> int:
        """What it holds at this moment; where that cannot be asked, the most so far."""
        return self._said("VmRSS:") or self.read()

    def read(self) -> int:
        if self.resets and (most := self._said("VmHWM:")) is not None:
            return most
        scale = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale

    def _said(self, name: str) -> int | None:
        try:
            words = (self._there / "status").read_text()
        except OSError:
            return None
        return next((int(line.split()[1]) * 1024 for line in words.splitlines() if line.startswith(name)), None)


class Together:
    """A process, this one, and others that work for it."""

    def __init__(self, others: Iterable[int]) -> None:
        self._others = [psutil.Process(process) for process in others]
        self._memories = [PeakMemory(), *(PeakMemory(other.pid) for other in self._others)]

    def cpu(self) -> float:
        """Seconds of processor time of all of them."""
        return time.process_time() + sum(sum(other.cpu_times()[:2]) for other in self._others)

    def now(self) -> int:
        """Bytes of memory that the largest holds at this moment."""
        return max(memory.now() for memory in self._memories)

    def peak(self) -> int:
        """The most bytes that one of them held since the measure began."""
        return max(memory.read() for memory in self._memories)
