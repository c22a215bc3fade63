"""The verbs on versions: make one, move the head, undo, redo, roll back. Entries never change and nothing is deleted.

Every verb takes the session's row lock for its own transaction, decides on what it then reads, and leaves an event.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max

from sessions.announcing import announce
from sessions.contexts import Edit, Hide, Insert, InsertKind, Replace, hidden_by
from sessions.entries import Kind, Part, PartKind, Role
from sessions.models import Entry, Event, Session, Version
from sessions.projection import ancestry, measure
from sessions.ranges import Ranges
from sessions.store import clean, edits_of, version_ranges, write_edits


class Refused(Exception):
    """What was asked cannot be done; the message says why and what stayed as it was. `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Moved:
    """A head that moved. `kept`: entries that arrived after the version left and stay visible."""

    session: Session
    was: Version
    now: Version
    kept: int = 0
    notes: tuple[str, ...] = ()


def locked(session_id: UUID) -> Session:
    """The session's row, locked until the transaction ends. Take it before any lock on a run.

    Not against rows that only name the session: an index or a memory that is written meanwhile need not wait for it.
    """
    return Session.objects.select_for_update(no_key=True).get(pk=session_id)


def make(
    session: Session,
    *,
    parent: Version | None,
    edits: Sequence[Edit],
    origin: str,
    kind: str,
    label: str,
    at_seq: int,
    facts: dict[str, Any] | None = None,
    by: Any = None,
    run: int | None = None,
    n: int | None = None,
) -> Version:
    """Write a version. The caller holds the session's lock and moves the head itself. `n`: its number, where that is known."""
    hidden, masked = version_ranges(edits)
    digest, tokens = measure(session.pk, edits, at_seq)
    if n is None:
        newest = session.versions.aggregate(n=Max("n"))["n"]
        n = 0 if newest is None else newest + 1
    version = Version.objects.create(
        session=session,
        n=n,
        # Not the object: a long line of versions that hold each other cannot be taken down again without recursion.
        parent_id=None if parent is None else parent.pk,
        origin=origin,
        kind=kind,
        label=label,
        at_seq=at_seq,
        hidden=hidden,
        masked=masked,
        tokens=tokens,
        content_hash=digest,
        facts=facts or {},
        by=by,
        run=run,
    )
    write_edits(version, edits)
    return version


def set_head(
    session: Session, version: Version, *, by: Any, what: str, redo: list[int], facts: dict[str, Any] | None = None
) -> None:
    """Point the head at `version` and write the event. The caller holds the session's lock."""
    was = session.current
    session.head = None if version.pk == session.native_head_id else version
    session.redo = redo
    session.save(update_fields=["head", "redo"])
    announce(session.workspace_id, session.pk)
    Event.objects.create(
        workspace_id=session.workspace_id,
        session=session,
        who=by,
        what=what,
        facts={"from": was.n if was else None, "to": version.n, **(facts or {})},
    )


def _meant(session: Session, base: int | None) -> Version | None:
    """The version in force. Refused (head_moved) where another was meant: of a request that is sent twice the second does nothing."""
    current = session.current
    if base is not None and current is not None and base != current.n:
        raise Refused(
            "head_moved", f"The head is v{current.n} by now, not v{base}, which was meant; nothing was changed."
        )
    return current


@transaction.atomic
def undo(session_id: UUID, *, base: int | None = None, by: Any = None) -> Moved:
    """Move the head to the parent of the version in force, which is `base` where that is said. Refused where that is the version as recorded."""
    session = locked(session_id)
    was = _meant(session, base)
    if was is None or was.parent is None:
        raise Refused("nothing_to_undo", "There is nothing to undo: the session stands as it was recorded.")
    now = was.parent
    set_head(session, now, by=by, what="undone", redo=[*session.redo, was.pk])
    return Moved(session, was, now, kept=arrived_after(session, was))


@transaction.atomic
def redo(session_id: UUID, *, base: int | None = None, by: Any = None) -> Moved:
    """Move the head from the version in force (`base`, where that is said) to where the last undo left it. Refused where nothing was undone
    since the last new version.
    """
    session = locked(session_id)
    was = _meant(session, base)
    if was is None or not session.redo:
        raise Refused("nothing_to_redo", "There is nothing to redo: no undo since the last new version.")
    *rest, last = session.redo
    now = session.versions.get(pk=last)
    set_head(session, now, by=by, what="redone", redo=rest)
    return Moved(session, was, now, kept=arrived_after(session, now))


@transaction.atomic
def move_head(session_id: UUID, n: int, *, base: int | None = None, by: Any = None) -> Moved:
    """Move the head to version `n`, wherever it stands, or where it stands on `base`."""
    session = locked(session_id)
    was = _meant(session, base)
    now = session.versions.filter(n=n).first()
    if now is None or was is None:
        raise Refused("no_such_version", f"This session has no version {n}; the head stays where it is.")
    if now.pk == was.pk:
        raise Refused("already_head", f"Version {n} is the head already.")
    set_head(session, now, by=by, what="head_moved", redo=[])
    return Moved(session, was, now, kept=arrived_after(session, now))


@dataclass(frozen=True, slots=True)
class WayBack:
    """A roll back before it is made. `point`: the last entry that stays; `gone`: those that go and are in the context now; `notes`: where
    it differs from what was asked. `edits`: of the new version, in full.
    """

    was: Version
    point: int
    where: str
    gone: Ranges
    edits: tuple[Edit, ...]
    notes: tuple[str, ...]


def way_back(
    session: Session,
    *,
    to_turn: int | None = None,
    to_entry: int | None = None,
    to_step: int | None = None,
    to_goal: str | None = None,
    notice: str = "",
) -> WayBack:
    """What hiding everything after a point comes to: the end of a turn or of a step, an entry, or the beginning of a goal.

    Where that point lies inside a fold, the history from before that fold comes back. Where it would part a call from its result,
    the answer that made the call goes as well. `notice`: text put in at the point. Refused where nothing would go, or nothing would
    be left.
    """
    was = session.current
    if was is None:
        raise Refused("empty", "This session has no entries yet.")
    point, where = _point(session, to_turn, to_entry, to_step, to_goal)
    base = _showing(session, was, point)
    edits = edits_of(base)
    point, notes = _whole_answer(session, point, hidden_by(edits))
    last_seq = session.entries_count - 1
    gone = Ranges.of([(point + 1, last_seq + 1)])
    kept: list[Edit] = [Hide(hidden_by(edits) | gone)]
    kept += [e for e in edits if isinstance(e, Replace) and e.seq <= point]
    kept += [e for e in edits if isinstance(e, Insert) and e.after <= point]
    digest, _ = measure(session.pk, kept, last_seq)
    if digest == measure(session.pk, edits_of(was), last_seq)[0]:
        raise Refused("nothing_to_roll_back", f"Nothing stands after entry {point}; the head stays v{was.n}.")
    if not any(True for _ in _visible(session, hidden_by(kept))):
        raise Refused("nothing_left", f"Nothing would be left before entry {point}; the head stays v{was.n}.")
    if base.pk != was.pk:
        notes = (*notes, f"the point lies inside a fold: the history of v{base.n} came back")
    if notice:
        part = Part(PartKind.TEXT, notice)
        kept.append(Insert(point, Role.USER, InsertKind.NOTICE, (part,), Ranges(), "Why it was rolled back"))
    return WayBack(was, point, where or f"entry {point}", gone - was.hidden, tuple(kept), notes)


@transaction.atomic
def roll_back(
    session_id: UUID,
    *,
    to_turn: int | None = None,
    to_entry: int | None = None,
    to_step: int | None = None,
    to_goal: str | None = None,
    reason: str = "",
    notice: str = "",
    by: Any = None,
) -> Moved:
    """Make the version of `way_back` and make it the head. `undo` takes it back."""
    reason = clean(reason) or ""
    session = locked(session_id)
    way = way_back(
        session,
        to_turn=to_turn,
        to_entry=to_entry,
        to_step=to_step,
        to_goal=to_goal,
        notice=clean(notice) or "",
    )
    version = make(
        session,
        parent=way.was,
        edits=way.edits,
        origin=Version.Origin.PERSON,
        kind="rollback",
        label=f"Roll back to {way.where}",
        at_seq=session.entries_count - 1,
        facts={"point": way.point, "to_turn": to_turn, "reason": reason, "notes": list(way.notes)},
        by=by,
    )
    set_head(session, version, by=by, what="rolled_back", redo=[], facts={"point": way.point, "reason": reason})
    return Moved(session, way.was, version, notes=way.notes)


LONGEST_NAME = 80  # characters
_JOINERS = "\u200c\u200d"  # which letters of several scripts, and emoji, are written with


@transaction.atomic
def name_version(session_id: UUID, n: int, name: str, *, by: Any = None) -> Version:
    """Give version `n` a person's name, or with "" take it away. Nothing else of it changes, nor does the head move."""
    session = locked(session_id)
    version = session.versions.filter(n=n).first()
    if version is None:
        raise Refused("no_such_version", f"This session has no version {n}; nothing was named.")
    words = _one_line(clean(name) or "")
    if len(words) > LONGEST_NAME:
        raise Refused("too_long", f"A version's name has at most {LONGEST_NAME} characters; this one has {len(words)}.")
    version.name = words
    version.save(update_fields=["name"])
    Event.objects.create(
        workspace_id=session.workspace_id, session=session, who=by, what="named", facts={"version": n, "name": words}
    )
    return version


def _one_line(name: str) -> str:
    """A name as it is printed: no control characters and none that turn the text around, which would reach over what stands beside it."""
    kept = (c for c in " ".join(name.split()) if c in _JOINERS or unicodedata.category(c) not in ("Cc", "Cf"))
    return " ".join("".join(kept).split())


def arrived_after(session: Session, version: Version) -> int:
    """Sent entries that came after a version was made."""
    return (
        Entry.objects.filter(session=session, sent=True, seq__gt=version.at_seq).count() if version.at_seq >= 0 else 0
    )


def _showing(session: Session, version: Version, point: int) -> Version:
    """The newest of a version and its ancestors that still shows what stands at `point`, and in which no fold reaches beyond it."""
    last = Entry.objects.filter(session=session, sent=True, seq__lte=point).aggregate(seq=Max("seq"))["seq"]
    line = ancestry(version)
    for candidate in reversed(line):
        folds = [row.stands_for for row in candidate.insertions.all() if row.stands_for]
        if last not in candidate.hidden and all(fold.spans[-1][1] - 1 <= point for fold in folds):
            return candidate
    return line[0]


def _point(
    session: Session, to_turn: int | None, to_entry: int | None, to_step: int | None, to_goal: str | None
) -> tuple[int, str]:
    """The last entry that stays, and how the place is called; "" where it is just that entry."""
    if sum(one is not None for one in (to_turn, to_entry, to_step, to_goal)) != 1:
        raise Refused("usage", "Say either a turn, a step, an entry or a goal to roll back to.")
    if to_entry is not None:
        if not 0 <= to_entry < session.entries_count:
            raise Refused(
                "no_such_entry",
                f"This session has entries 0 to {session.entries_count - 1}; {to_entry} is none of them.",
            )
        return to_entry, ""
    if to_step is not None:
        if not session.steps.filter(n=to_step).exists():
            raise Refused(
                "no_such_step", f"This session has steps 1 to {session.steps_count}; {to_step} is none of them."
            )
        # Up to the next step, so that the results of its calls stay with it.
        following = session.steps.filter(n__gt=to_step).order_by("n").values_list("first_seq", flat=True).first()
        return (session.entries_count if following is None else following) - 1, f"step {to_step}"
    if to_goal is not None:
        goal = session.goals.filter(path=to_goal).first()
        if goal is None:
            raise Refused("no_such_goal", f"This session has no goal {to_goal}.")
        first = goal.spans.spans[0][0] if goal.spans else goal.first_seq
        return first - 1, f"the start of goal {to_goal}"
    last = Entry.objects.filter(session=session, turn=to_turn).aggregate(seq=Max("seq"))["seq"]
    if last is None:
        raise Refused("no_such_turn", f"This session has turns 1 to {session.turns}; {to_turn} is none of them.")
    return int(last), f"turn {to_turn}"


def _whole_answer(session: Session, point: int, hidden: Ranges) -> tuple[int, tuple[str, ...]]:
    """The point moved back before an answer whose calls would lose their results, with a note saying so."""
    sent = Entry.objects.filter(session=session, sent=True, seq__lte=point)
    answered: set[str] = set()
    recent = sent.filter(call_ids__isnull=False).order_by("-seq").values_list("seq", "kind", "step", "call_ids")[:400]
    for seq, kind, step, calls in recent:
        if seq in hidden:
            continue
        assert calls is not None  # by the filter
        if kind == Kind.TOOL_RESULT:
            answered.update(calls)
        elif kind == Kind.TOOL_CALL and not answered.issuperset(calls):
            if not Entry.objects.filter(
                session=session, sent=True, seq__gt=point, call_ids__contains=calls[:1]
            ).exists():
                continue  # never answered at all: rolling back does not part it from anything
            first = (
                sent.filter(step=step).order_by("seq").values_list("seq", flat=True).first()
                if step is not None
                else None
            )
            start = min(seq, seq if first is None else first)
            return start - 1, (f"moved back to entry {start - 1}, so that no call stands without its result",)
    return point, ()


def _visible(session: Session, hidden: Ranges) -> Any:
    for seq in (
        Entry.objects.filter(session=session, sent=True).order_by("seq").values_list("seq", flat=True).iterator()
    ):
        if seq not in hidden:
            yield seq
            return
