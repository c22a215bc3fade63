"""What the page of a session reads. Every query is bounded by what is shown, never by the length of the session.

Entries are dense in `seq`, so a window is computed as a list of numbers and fetched by key: hidden stretches cost nothing to skip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, models
from django.db.models import Case, Count, F, Func, Max, Q, Sum, Value, When

from sessions.fields import to_multirange
from sessions.ghosts import Band, Maker, Stretch, bands, stretch_after
from sessions.goalshown import in_force
from sessions.models import Entry, Goal, Insertion, Session, Step, Version
from sessions.ranges import Ranges

SMALL = (
    16_384  # stored bytes of parts that a window loads with its rows; larger entries show the beginning of their words
)
RECORDS = 240  # records looked through for one window: records that are not sent cost a line, not a place
SHOWN = 80  # entries of one window
FIGURED = 2_000  # entries of the turns of a window up to which their steps and tokens are summed
GOALS = 18  # goals of one page
STATUSES = ("completed", "in_progress", "abandoned", "dropped", "pending")
NEAR = 400  # entries after a call among which its result is looked for

_LINE = (
    "seq", "turn", "step", "goal", "kind", "role", "tool", "call_ids", "is_error", "sent", "opens_turn", "copied", "lane", "at", "tokens",
    "byte_length", "problem",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """A session as one of its versions shows it. `version` is the one looked at, `current` the one in force."""

    session: Session
    versions: tuple[Version, ...]
    version: Version | None
    current: Version | None
    native: Version | None
    chain: tuple[Version, ...]
    bands: tuple[Band, ...]

    @property
    def hidden(self) -> Ranges:
        return self.version.hidden if self.version is not None else Ranges()

    @property
    def parted(self) -> bool:
        """Whether a person's head and the agent's own have parted."""
        return self.current is not None and self.native is not None and self.current.pk != self.native.pk

    @property
    def looks_back(self) -> bool:
        """Whether another version than the one in force is looked at."""
        return self.version is not None and self.current is not None and self.version.pk != self.current.pk


def reading(session: Session, n: int | None = None) -> Reading:
    """The session at version `n`; without one, or where there is none of that number, at the version in force."""
    versions = tuple(session.versions.order_by("n"))
    by_id = {version.pk: version for version in versions}
    native = by_id.get(session.native_head_id) if session.native_head_id else None
    current = by_id.get(session.head_id, native) if session.head_id else native
    version = next((v for v in versions if v.n == n), current)
    chain: list[Version] = []
    at = version
    while at is not None:
        chain.append(at)
        at = by_id.get(at.parent_id) if at.parent_id else None
    chain.reverse()
    return Reading(
        session, versions, version, current, native, tuple(chain), tuple(bands([maker_of(v) for v in chain]))
    )


def maker_of(version: Version) -> Maker:
    made_here = version.origin in (Version.Origin.RUN, Version.Origin.PERSON)
    kind = "run" if version.origin == Version.Origin.RUN else version.kind
    return Maker(version.n, kind, version.label, made_here, version.hidden, version.run)


def rows_of(session: Session, seqs: Sequence[int]) -> list[Entry]:
    """These entries in order, without their parts but where those are small (`small`); of larger ones `words` begins their text."""
    if not seqs:
        return []
    stored = Func(F("parts"), function="octet_length", output_field=models.IntegerField())
    shown = Q(sent=True) | Q(kind__in=("malformed", "event"))
    rows = (
        Entry.objects.filter(session=session, seq__in=list(seqs))
        .annotate(stored=stored)
        .annotate(
            small=Case(
                When(shown & Q(stored__lte=SMALL), then=F("parts")),
                default=Value(None),
                output_field=models.BinaryField(),
            ),
            words=Case(
                When(shown & Q(stored__gt=SMALL), then=F("text")), default=Value(""), output_field=models.TextField()
            ),
        )
        .order_by("seq")
        .only(*_LINE)
        .fetch_mode(models.FETCH_RAISE)
    )
    return list(rows)


def shown(row: Entry) -> bool:
    """Whether an entry has a line of its own. All others stand behind "n records not sent"."""
    return row.sent or row.kind == "malformed" or row.is_error or row.problem is not None


def cut_after(stretch: Stretch, rows: list[Entry], count: int = SHOWN) -> tuple[Stretch, list[Entry]]:
    """The beginning of a window up to `count` entries that are shown, and the results that directly follow the last of them."""
    seen = 0
    for at, row in enumerate(rows):
        seen += shown(row)
        if seen >= count and at + 1 < len(rows) and rows[at + 1].kind != "tool_result":
            return Stretch(stretch.seqs[: at + 1], stretch.low, row.seq, stretch.earlier, later=True), rows[: at + 1]
    return stretch, rows


def cut_before(stretch: Stretch, rows: list[Entry], count: int = SHOWN) -> tuple[Stretch, list[Entry]]:
    """The end of a window from `count` shown entries before its end, and the call that the first of them answers."""
    seen = 0
    for at in range(len(rows) - 1, 0, -1):
        seen += shown(rows[at])
        if seen >= count and rows[at].kind != "tool_result":
            return Stretch(stretch.seqs[at:], rows[at - 1].seq, stretch.high, earlier=True, later=stretch.later), rows[
                at:
            ]
    return stretch, rows


def from_a_call(stretch: Stretch, rows: list[Entry], wanted: int) -> tuple[Stretch, list[Entry]]:
    """A window around entry `wanted` without the results at its very beginning whose calls stand before it."""
    at = 0
    while at < len(rows) and rows[at].seq < wanted and rows[at].kind == "tool_result" and stretch.low >= 0:
        at += 1
    if at == 0:
        return stretch, rows
    return Stretch(stretch.seqs[at:], rows[at - 1].seq, stretch.high, earlier=True, later=stretch.later), rows[at:]


def inserted(
    version: Version | None, stretch: Stretch, seqs: Iterable[int]
) -> tuple[list[Insertion], dict[int, Insertion]]:
    """The insertions whose place is in a window, in order, and the replacements of its entries by seq. Without large parts."""
    if version is None:
        return [], {}
    stored = Func(F("parts"), function="octet_length", output_field=models.IntegerField())
    rows = (
        version.insertions.filter(
            Q(replaces__isnull=True, after__gte=stretch.low, after__lt=stretch.high + (not stretch.later))
            | Q(replaces__in=list(seqs))
        )
        .annotate(stored=stored)
        .annotate(
            small=Case(When(stored__lte=SMALL, then=F("parts")), default=Value(None), output_field=models.BinaryField())
        )
        .order_by("after", "position")
        .only("version", "position", "after", "replaces", "role", "kind", "label", "stands_for", "tokens")
        .fetch_mode(models.FETCH_RAISE)
    )
    added: list[Insertion] = []
    bodies: dict[int, Insertion] = {}
    for row in rows[: RECORDS * 2]:
        if row.replaces is None:
            added.append(row)
        else:
            bodies[row.replaces] = row
    return added, bodies


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """`steps` and `tokens` (o200k, of its sent entries) are None where a turn is too long to be summed for a heading."""

    turn: int
    first_seq: int
    at: Any = None
    steps: int | None = None
    tokens: int | None = None


def turns_of(session: Session, turns: Iterable[int]) -> dict[int, TurnFacts]:
    """Where these turns begin and what they hold."""
    wanted = sorted(set(turns))
    if not wanted:
        return {}
    openings = list(
        Entry.objects.filter(session=session, opens_turn=True, lane="", turn__gte=wanted[0], turn__lte=wanted[-1] + 1)
        .order_by("turn", "seq")
        .values_list("turn", "seq", "at")[: len(wanted) + RECORDS]
    )
    found = {turn: TurnFacts(turn, seq, at) for turn, seq, at in reversed(openings) if turn is not None}
    if not found:
        return {}
    low = min(facts.first_seq for facts in found.values())
    beyond = found.pop(wanted[-1] + 1, None)
    high = beyond.first_seq if beyond is not None else session.entries_count
    if high - low <= FIGURED:
        sums = (
            Entry.objects.filter(session=session, seq__gte=low, seq__lt=high, sent=True)
            .values("turn")
            .annotate(steps=Count("step", distinct=True), sum=Sum("tokens"))
            .values_list("turn", "steps", "sum")
        )
        for turn, steps, tokens in sums:
            if turn is not None and turn in found:
                facts = found[turn]
                found[turn] = TurnFacts(turn, facts.first_seq, facts.at, steps, tokens)
    return {turn: facts for turn, facts in found.items() if turn in wanted}


def seq_of_sent(session: Session, hidden: Ranges, count: int) -> int | None:
    """The `count`-th sent entry that is not hidden; None where there are fewer. Reads keys only, and only so far."""
    stretch = stretch_after(hidden, session.entries_count, -1, 4 * count)
    sent = (
        Entry.objects.filter(session=session, seq__in=stretch.seqs, sent=True)
        .order_by("seq")
        .values_list("seq", flat=True)
    )
    found = list(sent[count - 1 : count])
    return found[0] if found else (stretch.high if stretch.later else None)


def sent_count(session: Session, hidden: Ranges) -> int:
    """Sent entries that are not hidden."""
    sent = Entry.objects.filter(session=session, sent=True)
    if hidden:
        sent = sent.extra(where=["NOT (%s::int4multirange @> seq)"], params=[to_multirange(hidden)])
    return sent.count()


@dataclass(frozen=True, slots=True)
class GoalWindow:
    """Some goals of a tree in its order. `earlier`, `later`: positions before and after which there are more; None at an end."""

    rows: list[Goal]
    earlier: str | None
    later: str | None
    counts: dict[str, int]
    largest: int


def goals_of(session: Session, *, after: str | None = None, before: str | None = None) -> GoalWindow:
    """A window of the goal tree: behind or before a position, else around the goal in progress (of several, the last)."""
    tree: Any = session.goals.annotate(stands=in_force()).order_by("position")
    summed = tree.order_by().values("stands").annotate(n=Count("path"), most=Max("tokens"))
    counts = {row["stands"]: (row["n"], row["most"]) for row in summed}
    if after is not None:
        rows = list(tree.filter(position__gt=after)[:GOALS])
    elif before is not None:
        rows = list(tree.filter(position__lt=before).reverse()[:GOALS])[::-1]
    else:
        now = tree.filter(stands="in_progress").values_list("position", flat=True).last()
        led = [] if now is None else list(tree.filter(position__lte=now).reverse()[: GOALS * 3 // 4])[::-1]
        behind = tree.filter(position__gt=now) if now is not None else tree
        rows = led + list(behind[: GOALS - len(led)])
    ends = (rows[0].position, rows[-1].position) if rows else ("", "")
    return GoalWindow(
        rows,
        ends[0] if rows and tree.filter(position__lt=ends[0]).exists() else None,
        ends[1] if rows and tree.filter(position__gt=ends[1]).exists() else None,
        {status: n for status, (n, _) in counts.items()},
        max((most or 0 for _, most in counts.values()), default=0),
    )


def last_step(session: Session) -> Step | None:
    """The last step with usage of its own session."""
    return (
        session.steps.filter(Q(fresh__isnull=False) | Q(cache_read__isnull=False) | Q(total__isnull=False))
        .order_by("-n")
        .first()
    )


def arrived(session: Session, version: Version) -> tuple[int, int]:
    """Sent entries behind the last one a version was made over, and their o200k tokens."""
    found = session.entries.filter(seq__gt=version.at_seq, sent=True).aggregate(
        count=Count("seq"), tokens=Sum("tokens")
    )
    return found["count"], found["tokens"] or 0


def children_by_call(session: Session, calls: Iterable[str]) -> dict[str, list[Session]]:
    """Sub-agent sessions by the call that started them."""
    wanted = [call for call in calls if call]
    if not wanted:
        return {}
    out: dict[str, list[Session]] = {}
    found = session.children.filter(parent_call_id__in=wanted, superseded_by=None).only(
        "id", "title", "steps_count", "entries_count", "parent_call_id", "agent", "totals"
    )
    for child in found[:SHOWN]:
        out.setdefault(child.parent_call_id or "", []).append(child)
    return out


def pins_of(session: Session) -> frozenset[int]:
    return frozenset(session.pins.values_list("seq", flat=True))


def entry_of(session: Session, seq: int) -> Entry | None:
    """One entry, whole."""
    return Entry.objects.filter(session=session, seq=seq).select_related("source").first()


def results_of(session: Session, entry: Entry) -> list[Entry]:
    """The entries that answer the calls of `entry`, whole."""
    if not entry.call_ids or entry.kind == "tool_result":
        return []
    return [
        row
        for row in session.entries.filter(seq__gt=entry.seq, seq__lte=entry.seq + NEAR, kind="tool_result").order_by(
            "seq"
        )
        if set(row.call_ids or ()) & set(entry.call_ids)
    ]


def partners_of(session: Session, entry: Entry) -> list[tuple[int, str]]:
    """Seq and kind of the entries that share a call with `entry`."""
    if not entry.call_ids:
        return []
    near = session.entries.filter(seq__gte=entry.seq - NEAR, seq__lte=entry.seq + NEAR, call_ids__isnull=False)
    return [
        (seq, kind)
        for seq, kind, calls in near.order_by("seq").values_list("seq", "kind", "call_ids")
        if seq != entry.seq and set(calls or ()) & set(entry.call_ids)
    ]


_BAND_SUMS = """
SELECT band.number, count(entry.seq), coalesce(sum(entry.tokens), 0)
FROM unnest(%(numbers)s::int[], %(starts)s::int[], %(stops)s::int[]) AS band (number, start, stop)
LEFT JOIN agent_sessions_entry entry
  ON entry.session_id = %(session)s AND entry.seq >= band.start AND entry.seq < band.stop AND entry.sent
GROUP BY band.number
"""


def band_figures(session: Session, bands: Sequence[Band]) -> dict[int, tuple[int, int]]:
    """Sent entries and o200k tokens of bands, by their numbers. As long as the bands: asked for after the page stands."""
    given: dict[str, Any] = {
        "session": session.pk,
        "numbers": [band.number for band in bands],
        "starts": [band.start for band in bands],
        "stops": [band.stop for band in bands],
    }
    with connection.cursor() as cursor:
        cursor.execute(_BAND_SUMS, given)
        return {number: (count, tokens) for number, count, tokens in cursor.fetchall()}


def place_of(session: Session, at: str) -> int | None:
    """The entry that a deep link means: e1083, t12 (its first), step243 (its first), g2.3 (its first)."""
    if at.startswith("step") and at[4:].isdigit():
        return session.steps.filter(n=int(at[4:])).values_list("first_seq", flat=True).first()
    if at.startswith("t") and at[1:].isdigit():
        return (
            session.entries.filter(opens_turn=True, turn=int(at[1:]))
            .order_by("seq")
            .values_list("seq", flat=True)
            .first()
        )
    if at.startswith("g"):
        return session.goals.filter(path=at[1:]).values_list("first_seq", flat=True).first()
    if at.startswith("e") and at[1:].isdigit() and int(at[1:]) < session.entries_count:
        return int(at[1:])
    return None


def outline(session: Session, after: int = 0, count: int = 100) -> list[Entry]:
    """The prompts that open turns, by keyset on the turn."""
    return list(
        session.entries.filter(opens_turn=True, lane="", turn__gt=after)
        .order_by("turn", "seq")
        .only("seq", "turn", "text", "at")[:count]
    )


def steps_page(session: Session, after: int, count: int = 200) -> list[Step]:
    return list(session.steps.filter(n__gt=after).order_by("n")[:count])


def plan_of(session: Session, seqs: Sequence[int]) -> str:
    """PostgreSQL's plan for a window, for the bench and the tests: it must go by the key."""
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN SELECT seq FROM agent_sessions_entry WHERE session_id = %s AND seq = ANY(%s) ORDER BY seq",
            [session.pk, list(seqs)],
        )
        return "\n".join(row[0] for row in cursor)
