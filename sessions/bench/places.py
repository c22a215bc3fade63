"""A workspace for a measure's time: what is measured is real rows, and none of them stays."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

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
    """The most memory this process held since the measure began, in bytes; where it cannot be reset, since it started."""

    def __init__(self) -> None:
        try:
            # Linux alone: 5 resets the high-water mark.
            Path("/proc/self/clear_refs").write_text("5")
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

    @staticmethod
    def _said(name: str) -> int | None:
        try:
            words = Path("/proc/self/status").read_text()
        except OSError:
            return None
        return next((int(line.split()[1]) * 1024 for line in words.splitlines() if line.startswith(name)), None)
