"""Looks through a session for goals that were given up, and keeps what it finds as rows of `Abandonment`.

It is called whenever a session was read on, and when a goal is marked here. What is certain at once (somebody said so, gone from the list,
cut off) is written at once; what only an ended session shows waits until it has been silent for a while (`SETTLED`): `settle` looks at
those. What did not change is not looked at again, so that an append costs what it brought.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from sessions.abandonment import CUTS, FOLDS, Case, Change, Found, How, Text, World, judged, taken_up
from sessions.audittally import merge
from sessions.entries import GoalStatus
from sessions.families import join
from sessions.fields import to_multirange
from sessions.goalcosts import took
from sessions.goals import OPEN
from sessions.matching import folded
from sessions.models import Entry, Goal, Insertion, Session, Version
from sessions.models_goals import Abandonment
from sessions.packing import unpack
from sessions.ranges import Ranges
from sessions.reasons import Cause, Reason, Said, Voice, extracted, stated
from sessions.store import clean, clean_json

SETTLED = timedelta(hours=24)  # of silence, after which a session counts as ended
BEFORE, BEHIND = 40, 12  # entries of the work on a goal, and behind it, in which a reason is looked for
LATER = 3_000  # entries behind a compaction that are looked through for a goal
PROMPTS = 2_000
SESSIONS = 20  # later sessions of a project whose goals are compared
GIVEN_UP = (GoalStatus.ABANDONED, GoalStatus.DROPPED)
WORDS = "the words of the reason"
_NAME = 200  # characters of names in the index


def look(session: Session, *, now: datetime | None = None, versions: Sequence[Version] | None = None) -> int:
    """Bring the session's rows up to date with its goals; how many goals stand as given up. The caller holds a transaction.

    `versions`: all those of a session that is new, so that it has no such rows yet.
    """
    ended = _ended(session, now or timezone.now())
    known = {row.path: row for row in session.abandonments.all()} if versions is None else {}
    changes = _changes(session, versions)
    goals = _candidates(session, changes)
    if not goals and not known:
        return 0
    open_goals = ended and any(goal.marked is None and goal.status in OPEN and not goal.inferred for goal in goals)
    world = _world(session, goals, changes, ended=ended, whole=open_goals)
    cases = {goal.path: _case(goal) for goal in goals}
    found = {path: one for path, case in cases.items() if (one := judged(case, world)) is not None}
    later = _later_goals(session) if any(one.how is How.LEFT_OPEN for one in found.values()) else []
    rows: list[Abandonment] = []
    stands = 0
    for goal in goals:
        one = found.get(goal.path)
        if one is None:
            continue
        row = known.pop(goal.path, None)
        holds = not (one.how is How.LEFT_OPEN and taken_up(goal.text, later))
        stands += holds
        if row is not None and row.stands == holds and _same(row, goal, one):
            continue
        rows.append(_row(session, goal, one, row, holds=holds))
    _along(rows, cases)
    _write(rows)
    _forget(known.values())
    _release(session, whole=ended)
    return stands


def settle(workspace: Any, *, now: datetime | None = None) -> int:
    """Look at the sessions that have ended with open goals and were not looked at since; how many those were."""
    before = (now or timezone.now()) - SETTLED
    waiting = (
        Goal.objects.filter(
            session__workspace=workspace,
            session__superseded_by=None,
            session__last_at__lt=before,
            status__in=[status.value for status in OPEN],
            inferred=False,
            marked=None,
        )
        .filter(~Exists(Abandonment.objects.filter(session_id=OuterRef("session_id"), path=OuterRef("path"))))
        .values_list("session_id", flat=True)
        .distinct()
    )
    sessions = list(Session.objects.filter(pk__in=list(waiting)).order_by("last_at", "pk"))
    for session in sessions:
        with transaction.atomic():
            look(Session.objects.select_for_update(no_key=True).get(pk=session.pk), now=now)
    merge(workspace)
    return len(sessions)


def _along(rows: Sequence[Abandonment], cases: Mapping[str, Case]) -> None:
    """Of goals that went with one list, those of which nothing is said share the reason of the one that was worked on most."""
    together: dict[int, list[Abandonment]] = {}
    for row in rows:
        if row.how == How.VANISHED and (at := cases[row.path].closed_seq) is not None:
            together.setdefault(at, []).append(row)
    for many in together.values():
        first = max((row for row in many if row.reason and row.entries), key=lambda row: row.entries, default=None)
        if first is None:
            continue
        for row in many:
            if not row.reason and not row.entries:
                row.reason, row.reason_stated = first.reason, False
                row.evidence = [*row.evidence, *(one for one in first.evidence if one["what"] == WORDS)]
                row.why_found += (
                    f" It was never worked on, and went with goal {first.path}, of which the reason is told."
                )
                row.cause_found = first.cause_found
                if row.cause_set_at is None:
                    row.cause = first.cause_found


def _ended(session: Session, now: datetime) -> bool:
    return session.last_at is not None and session.last_at < now - SETTLED


# -- what is judged -------------------------------------------------------------------------------------------------------


def _candidates(session: Session, changes: Sequence[Change]) -> list[Goal]:
    wanted = Q(inferred=False, status__in=[status.value for status in (*OPEN, *GIVEN_UP)]) | Q(marked__isnull=False)
    if any(change.kind in CUTS for change in changes):
        wanted |= Q(inferred=True)
    return list(session.goals.filter(wanted).order_by("position"))


def _case(goal: Goal) -> Case:
    return Case(
        goal.path,
        goal.text,
        GoalStatus(goal.status),
        goal.note,
        goal.first_seq,
        goal.last_seq,
        goal.closed_seq,
        goal.figures.get("stated_seq") or goal.first_seq,
        goal.spans,
        goal.entries_count,
        goal.inferred,
        goal.marked,
    )


def _changes(session: Session, versions: Sequence[Version] | None) -> list[Change]:
    """What the versions in force newly hid: those on the way to the native head and to the head."""
    kinds = (*CUTS, *FOLDS, "recorded")
    parents: dict[int, int | None]
    if versions is None:
        by_id = {version.pk: version for version in session.versions.filter(kind__in=kinds).order_by("n")}
        parents = dict(session.versions.values_list("pk", "parent_id")) if len(by_id) > 1 else {}
    else:
        by_id = {version.pk: version for version in versions if version.kind in kinds}
        parents = {version.pk: version.parent_id for version in versions}
    line: set[int] = set()
    for head in (session.native_head_id, session.head_id):
        at = head
        while at is not None and at not in line:
            line.add(at)
            at = parents.get(at)
    hidden = _hidden_before(session, [version for version in by_id.values() if version.pk in line], parents)
    return [
        Change(version.n, version.kind, version.at_seq, version.hidden - hidden.get(version.pk, Ranges()))
        for version in by_id.values()
        if version.pk in line and version.kind in (CUTS | FOLDS)
    ]


def _hidden_before(
    session: Session, versions: Sequence[Version], parents: Mapping[int, int | None]
) -> dict[int, Ranges]:
    wanted = {parent for version in versions if (parent := parents.get(version.pk)) is not None}
    known = {version.pk: version.hidden for version in versions}
    missing = wanted - known.keys()
    known |= dict(session.versions.filter(pk__in=missing).values_list("pk", "hidden")) if missing else {}
    return {version.pk: known.get(parents.get(version.pk) or 0, Ranges()) for version in versions}


def _world(session: Session, goals: Sequence[Goal], changes: list[Change], *, ended: bool, whole: bool) -> World:
    """`whole`: with what only goals left open in an ended session need."""
    dropped = [goal.closed_seq for goal in goals if goal.status == GoalStatus.DROPPED and goal.closed_seq is not None]
    added: dict[int, list[str]] = {}
    if dropped:
        for seq, text in session.goals.filter(first_seq__in=dropped).values_list("first_seq", "text"):
            added.setdefault(seq, []).append(text)
    folds = [change for change in changes if change.kind in FOLDS]
    if folds and (whole or dropped):
        summaries = _summaries(session, folds)
        changes = [
            Change(one.n, one.kind, one.at_seq, one.hidden, Text.of(summaries.get(one.n, ""))) if one in folds else one
            for one in changes
        ]
    prompts: list[tuple[int, str]] = []
    if any(change.kind in CUTS for change in changes):
        asked = session.entries.filter(opens_turn=True, lane="").order_by("turn", "seq")
        prompts = sorted(asked.values_list("seq", "text")[:PROMPTS])
    later = _texts_behind(session, folds) if whole and folds else []
    return World(changes, later, prompts, ended, session.entries_count, added)


def _summaries(session: Session, folds: Sequence[Change]) -> dict[int, str]:
    """What each compaction put in the place of what it folded: insertions, or an entry of the log right at it."""
    out: dict[int, str] = {}
    near = {fold.at_seq + by: fold.n for fold in folds for by in (1, -1, 0)}
    written = session.entries.filter(seq__in=sorted(near), kind="summary").values_list("seq", "parts")
    for seq, parts in written:
        out[near[seq]] = out.get(near[seq], "") + "\n" + "\n".join(part.text for part in unpack(parts) if part.text)
    rows = Insertion.objects.filter(version__session=session, version__n__in=[fold.n for fold in folds], replaces=None)
    for n, parts in rows.order_by("version__n", "position").values_list("version__n", "parts"):
        out[n] = out.get(n, "") + "\n" + "\n".join(part.text for part in unpack(parts) if part.text)
    return out


def _texts_behind(session: Session, folds: Sequence[Change]) -> list[Text]:
    """What is still sent of the entries from the first folded one on."""
    start = min((one.hidden.spans[0][0] for one in folds if one.hidden), default=None)
    if start is None:
        return []
    hidden = Ranges()
    for one in folds:
        hidden |= one.hidden
    rows = (
        session.entries.filter(sent=True, seq__gte=start)
        .extra(where=["NOT (%s::int4multirange @> seq)"], params=[to_multirange(hidden)])
        .order_by("seq")
        .values_list("seq", "text")[:LATER]
    )
    return [Text.of(text, seq) for seq, text in rows]


def _later_goals(session: Session) -> list[str]:
    """Texts of the goals of sessions that go on where this one ended: its own continuations, and the next of its project."""
    after = Session.objects.filter(workspace_id=session.workspace_id, superseded_by=None).exclude(pk=session.pk)
    same = Q(parent=session) | Q(
        parent_native_id=session.native_id, agent=session.agent, parent_native_id__isnull=False
    )
    if session.last_at is not None and (session.cwd or session.project):
        place = Q(cwd=session.cwd) if session.cwd else Q(project=session.project)
        same |= place & Q(last_at__gt=session.last_at)
    newer = list(after.filter(same).order_by("last_at").values_list("pk", flat=True)[:SESSIONS])
    found = Goal.objects.filter(session__in=newer, inferred=False) if newer else Goal.objects.none()
    return list(found.values_list("text", flat=True)[: 50 * SESSIONS])


def _release(session: Session, *, whole: bool) -> None:
    """Goals that earlier sessions of the project left open, and that this one has taken up, stand no longer."""
    mine = list(session.goals.filter(inferred=False).values_list("text", flat=True)[:1000])
    if not mine or session.last_at is None or not (session.cwd or session.project):
        return
    place = Q(session__cwd=session.cwd) if session.cwd else Q(session__project=session.project)
    rows = Abandonment.objects.filter(
        place, workspace_id=session.workspace_id, stands=True, how=How.LEFT_OPEN, session__last_at__lt=session.last_at
    ).exclude(session=session)
    if not whole:
        rows = rows.filter(folded__in=[again(text) for text in mine])
    for row in rows.order_by("-at")[:500]:
        if taken_up(row.text, mine):
            row.stands = False
            row.why_found += f" Taken up again by session {session.pk}."
            row.save(update_fields=["stands", "why_found"])


# -- what is kept ---------------------------------------------------------------------------------------------------------


def again(text: str) -> str:
    """A goal's text as attempts at the same goal have it: without case, spaces and numbers."""
    return re.sub(r"[\W\d_]+", " ", folded(text)).strip()[:_NAME] or folded(text)[:_NAME]


def week_of(at: datetime) -> date:
    """The Monday of a time's week, by UTC."""
    day = at.astimezone(UTC).date()
    return day - timedelta(days=day.weekday())


def _same(row: Abandonment, goal: Goal, found: Found) -> bool:
    return (row.how, row.status, row.text, row.first_seq, row.last_seq, row.confidence, row.entries >= goal.entries_count) == (
        found.how.value, found.status.value, goal.text, goal.first_seq, goal.last_seq, found.confidence, True,
    ) and row.tokens >= goal.tokens  # fmt: skip


def _row(session: Session, goal: Goal, found: Found, known: Abandonment | None, *, holds: bool) -> Abandonment:
    family = [goal, *session.goals.filter(path__startswith=f"{goal.path}.")]
    spans = Ranges()
    for one in family:
        spans |= one.spans
    figures = [one.figures for one in family]
    taken = took(session, spans)
    reason = _reason(session, goal, failed=any(one.get("tests_failed") for one in figures))
    cause = _cause(found, reason, failed=any(one.get("tests_failed") for one in figures))
    at = max((one["last_at"] for one in figures if one.get("last_at")), default=None)
    when = datetime.fromisoformat(at) if at else session.last_at or session.created_at
    seconds = [one["seconds"] for one in figures if one.get("seconds") is not None]
    files = list(dict.fromkeys(file for one in figures for file in one.get("files", ())))
    row = known or Abandonment(session=session, path=goal.path, workspace_id=session.workspace_id)
    folded_now = again(goal.text)
    if row.folded != folded_now:
        row.family, row.kinship = "", 1.0
    row.text, row.folded = goal.text, folded_now
    row.status, row.how, row.confidence, row.why_found = (
        found.status.value,
        found.how.value,
        found.confidence,
        found.why,
    )
    if not holds:
        row.why_found += " A later session of the project has the same goal."
    proof = [{"seq": one.seq, "what": one.what} for one in found.evidence]
    if reason is not None and reason.seq is not None:
        proof.append({"seq": reason.seq, "what": WORDS})
    row.evidence = proof
    row.reason, row.reason_stated = clean(reason.text if reason else "") or "", bool(reason and reason.stated)
    row.cause_found = cause.value
    if row.cause_set_at is None:
        row.cause = cause.value
    row.stands = holds
    row.agent, row.owner_id = session.agent, session.owner_id
    row.project = session.project[:_NAME] if session.project else None
    row.model = (clean(taken.model) or "")[:_NAME] or None
    row.at = when
    row.week = week_of(when)
    row.entries, row.tokens = sum(one.entries_count for one in family), sum(one.tokens for one in family)
    row.steps = sum(one.get("steps", 0) for one in figures)
    row.spent, row.cost = taken.tokens, taken.cost
    row.seconds = sum(seconds) if seconds else None
    row.attempts = max((one.get("attempts", 0) for one in figures), default=0)
    row.errors = sum(one.get("errors", 0) for one in figures)
    row.tests = sum(one.get("tests", 0) for one in figures)
    row.tests_failed = sum(one.get("tests_failed", 0) for one in figures)
    row.files = clean_json(files[:200])
    row.first_seq, row.last_seq = goal.first_seq, goal.last_seq
    return row


def _reason(session: Session, goal: Goal, *, failed: bool) -> Reason | None:
    """The reason as it was given, else the words of the last entries of the work and those right behind."""
    given = stated(goal.mark_note if goal.marked else goal.note)
    if given is not None:
        return given
    begun = goal.spans.spans[-1][0] if goal.spans else goal.first_seq
    end = goal.spans.spans[-1][1] - 1 if goal.spans else max(goal.first_seq, goal.figures.get("stated_seq") or 0)
    stop = max(end, goal.closed_seq if goal.closed_seq is not None else end) + BEHIND
    tail: list[int] = []
    for first, behind in reversed(goal.spans.spans):
        tail += range(max(first, behind - (BEFORE - len(tail))), behind)
        if len(tail) >= BEFORE:
            break
    wanted = {*tail, *range(end, min(stop, end + 4 * BEHIND)), *range(max(end, stop - 2 * BEHIND), stop)}
    rows = (
        Entry.objects.filter(session=session, seq__in=sorted(wanted))
        .filter(Q(kind__in=("prompt", "command", "message", "reasoning")) | Q(is_error=True))
        .order_by("seq")
        .values_list("seq", "kind", "is_error", "text")
    )
    # Of what came after it was given up, the agent's own words alone may tell why: what failed or was turned down then was something else.
    given_up_at = goal.closed_seq if goal.status in GIVEN_UP and goal.marked is None else None
    said = [
        Said(seq, voice, text, behind=begun < seq <= stop - BEHIND or seq > end)
        for seq, kind, error, text in rows
        if text
        and ((voice := _voice(kind, is_error=error)) is Voice.AGENT or given_up_at is None or seq <= given_up_at)
    ]
    return extracted(goal.text, said, failed_tests=failed, worked=bool(goal.spans))


def _voice(kind: str, *, is_error: bool) -> Voice:
    if is_error:
        return Voice.ERROR
    return Voice.PERSON if kind in ("prompt", "command") else Voice.AGENT


def _cause(found: Found, reason: Reason | None, *, failed: bool) -> Cause:
    if reason is not None and reason.stated and reason.cause is not Cause.OTHER:
        return reason.cause
    if found.cause is Cause.FORGOTTEN:
        return found.cause
    if reason is not None and reason.cause is not Cause.OTHER:
        return reason.cause
    return found.cause or (Cause.TESTS if failed else Cause.OTHER)


_WRITTEN = (
    "text", "folded", "status", "how", "confidence", "why_found", "evidence", "reason", "reason_stated", "cause", "cause_found", "stands",
    "agent", "project", "owner", "model", "at", "week", "entries", "steps", "tokens", "spent", "cost", "seconds", "attempts", "errors", "tests",
    "tests_failed", "files", "first_seq", "last_seq", "family", "kinship",
)  # fmt: skip


def _write(rows: Sequence[Abandonment]) -> None:
    join([row for row in rows if not row.family])
    Abandonment.objects.bulk_create([row for row in rows if row.pk is None], batch_size=500)
    Abandonment.objects.bulk_update([row for row in rows if row.pk is not None], _WRITTEN, batch_size=500)


def _forget(rows: Iterable[Abandonment]) -> None:
    """Rows that no longer hold go, but for those on which a person said something: they stay, and stand no longer."""
    for row in rows:
        if row.review == Abandonment.Review.UNREVIEWED and row.cause_set_at is None and not row.reviews.exists():
            row.delete()
        elif row.stands:
            row.stands = False
            row.save(update_fields=["stands"])
