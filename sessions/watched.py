"""Whether folders are watched: one row for each watching process, which it touches while it lives and when it has read all there is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from sessions.models import Watcher

BEAT = 5.0  # seconds between two beats of a watcher
LATE = timedelta(seconds=60)  # after which a watcher that says nothing counts as gone: one long file keeps it busy
FORGOTTEN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Watch:
    """`watching`: somebody watches now. `read_at`: when all that was written had been read; None where it never was yet."""

    watching: bool
    heard_at: datetime
    read_at: datetime | None
    folders: tuple[str, ...]

    @property
    def ago(self) -> int | None:
        """Whole seconds since all was read, never less than none: the clocks of two machines differ."""
        return None if self.read_at is None else max(0, int((timezone.now() - self.read_at).total_seconds()))


def beat(workspace: Any, host: str, folders: list[str], *, read: bool) -> None:
    """A watcher lives; `read`: and has nothing left to read."""
    now = timezone.now()
    known: dict[str, Any] = {"folders": folders, "heard_at": now, **({"read_at": now} if read else {})}
    _, made = Watcher.objects.update_or_create(workspace=workspace, host=host, defaults=known)
    if made:
        Watcher.objects.filter(workspace=workspace, heard_at__lt=now - FORGOTTEN).delete()


def ended(workspace: Any, host: str) -> None:
    """A watcher stops and says so: nobody need wait for its silence."""
    Watcher.objects.filter(workspace=workspace, host=host).update(folders=[])


def watch_of(workspace: Any) -> Watch | None:
    """The watch of a workspace heard of last; None where nobody ever watched."""
    row = Watcher.objects.filter(workspace=workspace).order_by("-heard_at").first()
    if row is None:
        return None
    watching = timezone.now() - row.heard_at < LATE and bool(row.folders)
    return Watch(watching, row.heard_at, row.read_at, tuple(row.folders))
