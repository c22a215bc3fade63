"""The intake log: what was taken in, what was skipped and why, by whichever way it came. Written here alone, and bounded.

A file that grows all day is one row that says how often: a row is one outcome of one path by one way. What changed nothing is no news,
unless a person asked for it by an upload.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Count, F, Q
from django.utils import timezone

from sessions.models import Intake
from sessions.store import clean

if TYPE_CHECKING:
    from sessions.ingest import Taken

How = Intake.How
# In the order of the page: what came in, what was here, what did not come in.
OUTCOMES = ("added", "grown", "rewritten", "kept", "unchanged", "same", "skipped", "refused", "failed")
PAGE = 100
_TOGETHER = 200  # rows written together


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of the log, newest first. `after`: where the next page begins; None at the end."""

    rows: list[Intake]
    after: str | None


def page(workspace: Any, *, outcome: str = "", how: str = "", after: str = "", size: int = PAGE) -> Page:
    """The rows with an outcome and a way in ("": any), from behind `after` on."""
    rows = Intake.objects.filter(workspace=workspace).select_related("session", "by").order_by("-at", "-pk")
    if outcome:
        rows = rows.filter(outcome=outcome)
    if how:
        rows = rows.filter(how=how)
    place = _place(after)
    if place is not None:
        at, pk = place
        rows = rows.filter(Q(at__lt=at) | Q(at=at, pk__lt=pk))
    found = list(rows[: size + 1])
    last = found[size - 1] if len(found) > size else None
    return Page(found[:size], None if last is None else f"{last.at.isoformat()}_{last.pk}")


def counts(workspace: Any, *, how: str = "") -> list[tuple[str, int]]:
    """How many rows have each outcome, in the order of the page."""
    rows = Intake.objects.filter(workspace=workspace)
    if how:
        rows = rows.filter(how=how)
    found = dict(rows.values_list("outcome").annotate(Count("pk")))
    known = [one for one in OUTCOMES if one in found]
    return [(one, found[one]) for one in [*known, *sorted(set(found) - set(known))]]


class Notes:
    """Writes down what became of many files, some hundreds at a time: a folder may hold very many that are nobody's.

    What brought a session in is written at once.
    """

    def __init__(self, workspace: Any, *, how: str, by: Any = None) -> None:
        self.workspace = workspace
        self.how = how
        self.by = by
        self._waiting: list[Taken] = []

    def add(self, taken: Taken) -> None:
        if taken.session is not None:
            note(self.workspace, taken, how=self.how, by=self.by)
            return
        self._waiting.append(taken)
        if len(self._waiting) >= _TOGETHER:
            self.write()

    def write(self) -> None:
        """Write what waits: new rows together, those that were there before one by one."""
        waiting = [taken for taken in self._waiting if _is_news(taken, self.how)]
        self._waiting = []
        by_key = {_key(clean(taken.path) or "", self.how, taken.outcome): taken for taken in waiting}
        rows = Intake.objects.filter(workspace=self.workspace, key__in=list(by_key))
        for key in [bytes(key) for key in rows.values_list("key", flat=True)]:
            note(self.workspace, by_key.pop(key), how=self.how, by=self.by)
        Intake.objects.bulk_create(
            [
                Intake(
                    workspace=self.workspace, key=key, how=self.how, path=clean(taken.path) or "",
                    outcome=taken.outcome, added=taken.added, **_words(taken, self.by),
                )
                for key, taken in by_key.items()
            ],
            ignore_conflicts=True,
        )  # fmt: skip


def note(workspace: Any, taken: Taken, *, how: str, by: Any = None) -> None:
    """Write down what became of a file."""
    if not _is_news(taken, how):
        return
    path = clean(taken.path) or ""
    words = _words(taken, by)
    key = _key(path, how, taken.outcome)
    here = Intake.objects.filter(workspace=workspace, key=key)
    if here.update(**words, times=F("times") + 1, added=F("added") + taken.added):
        return
    row = Intake(workspace=workspace, key=key, how=how, path=path, outcome=taken.outcome, added=taken.added, **words)
    # Another process may have written the same row just now: then it is there, which is all that is wanted.
    Intake.objects.bulk_create([row], ignore_conflicts=True)


def _is_news(taken: Taken, how: str) -> bool:
    if taken.outcome == "unchanged" and how != How.UPLOAD:
        return False
    # A watched file that went between the change and the look at it: nothing came, nothing was lost.
    return not (how == How.WATCH and taken.reason == "there is no such file")


def _words(taken: Taken, by: Any) -> dict[str, Any]:
    return {
        "at": timezone.now(),
        "reason": clean("; ".join([taken.reason, *taken.problems] if taken.reason else taken.problems)) or "",
        "agent": taken.agent,
        "session_id": taken.session,
        "size": taken.size,
        "entries": taken.entries,
        "by": by,
    }


def prune(workspace: Any, *, kept: int | None = None) -> int:
    """Drop all but the newest rows of a workspace; how many went."""
    most = settings.INTAKE_KEPT if kept is None else kept
    rows = Intake.objects.filter(workspace=workspace)
    last = rows.order_by("-at", "-pk").values_list("at", "pk")[most : most + 1]
    for at, pk in last:
        return _drop(workspace, at, pk)
    return 0


def _drop(workspace: Any, at: datetime, pk: int) -> int:
    rows = Intake.objects.filter(workspace=workspace)
    dropped, _ = rows.filter(at__lt=at).delete()
    same, _ = rows.filter(at=at, pk__lte=pk).delete()
    return dropped + same


def _key(path: str, how: str, outcome: str) -> bytes:
    return hashlib.blake2b(f"{how}\0{outcome}\0{path}".encode(errors="surrogatepass"), digest_size=16).digest()


def _place(cursor: str) -> tuple[datetime, int] | None:
    """Where a page begins; None for a cursor that none of ours is: the first page then."""
    stamp, _, number = cursor.rpartition("_")
    try:
        at, pk = datetime.fromisoformat(stamp), int(number)
    except ValueError:
        return None
    return (at, pk) if at.tzinfo is not None and pk < 2**63 else None
