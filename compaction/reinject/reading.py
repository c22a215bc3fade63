"""What may be read of a disk, as a strategy's answers see it: the shell reads (`compaction.disk`), within what the operator allowed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class NotRead(Exception):
    """A file that may not or cannot be read; the message says why, in words."""


@dataclass(frozen=True, slots=True)
class OnDisk:
    path: str
    text: str
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class DiskNote:
    """How a file on the disk differs from what the session knew. `added`, `removed`: lines; None where it knew only parts, or nothing."""

    modified_at: datetime
    added: int | None
    removed: int | None


class Reading(Protocol):
    """`read`: a file of the session's folder; `read_any`: any that may be read, for memory files. Both raise NotRead. `folders`: at most so many
    below one, the nearest first. `is_top`: whether a project begins there. `home`: where a person's own memory files lie.
    """

    @property
    def home(self) -> str: ...
    def read(self, path: str) -> OnDisk: ...
    def read_any(self, path: str) -> OnDisk: ...
    def folders(self, path: str, most: int) -> list[str]: ...
    def is_top(self, path: str) -> bool: ...
