"""The border of PostgreSQL: values to rows and back, strings cleaned, entries by COPY."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Any
from uuid import UUID

import orjson
from django.db import connection
from psycopg.copy import Copy, QueuedLibpqWriter

from sessions.adapters.base import Link, NativeVersion
from sessions.assembly import Placed, Step
from sessions.contexts import Edit, Hide, Insert, InsertKind, Item, Replace, hidden_by
from sessions.entries import Entry as EntryValue
from sessions.entries import Kind, Role, SizeVector, Usage, digest_of
from sessions.fields import multirange_text, to_multirange
from sessions.goals import Goal, path_key
from sessions.meters.tokens import sizes
from sessions.models import Entry, Insertion, Version
from sessions.models import Goal as GoalRow
from sessions.models import Step as StepRow
from sessions.packing import pack, unpack
from sessions.ranges import Ranges
from sessions.rowbytes import BEGIN, END, NULL, json, moment, number, octets

_LINKS = 5000  # links held at once while reading
_FEW = 20  # goals that are written without a look which of them are new
PREVIEW = 4000  # characters of an entry's words that stand in its row

ENTRY_COLUMNS = (
    "session_id", "seq", "turn", "step", "goal", "kind", "role", "tool", "native_id", "native_parent", "response_id", "call_ids",
    "is_error", "sent", "opens_turn", "copied", "lane", "at", "text", "parts", "digest", "utf8", "utf16", "ascii", "images",
    "documents", "tokens", "cl100k", "chars", "json", "wide_tool", "source_id", "byte_offset", "byte_length", "link", "problem",
)  # fmt: skip

# As `write_entries` writes them: first those whose bytes are always as many, which it packs at once.
ENTRY_ROW = (
    "session_id", "seq", "utf8", "utf16", "ascii", "images", "documents", "tokens", "cl100k", "chars", "json", "wide_tool",
    "source_id", "byte_offset", "byte_length", "is_error", "sent", "opens_turn", "copied",
    "turn", "step", "goal", "kind", "role", "tool", "lane", "native_id", "native_parent", "response_id", "call_ids", "at", "text",
    "parts", "digest", "link", "problem",
)  # fmt: skip
_NUMBERS = Struct(">h i16s ii iiiiiiiiiiiiiiiiiiii iqiqii i?i?i?i?".replace(" ", "")).pack
_PIECES = 18 * 16  # of rows that go out together: of some tens of kilobytes

STEP_FIELDS = (
    "turn", "first_seq", "last_seq", "response_id", "model", "at", "fresh", "cache_read", "cache_write", "output", "reasoning", "total",
    "window", "estimated", "copied",
)  # fmt: skip

STEP_COLUMNS = ("session_id", "n", *STEP_FIELDS)

GOAL_COLUMNS = (
    "session_id", "path", "position", "parent", "text", "status", "note", "first_seq", "last_seq", "inferred", "entries_count",
    "tokens", "figures", "spans", "closed_seq", "was", "added", "kind",
)  # fmt: skip
_FIGURES, _SPANS = GOAL_COLUMNS.index("figures"), GOAL_COLUMNS.index("spans")

ITEM_COLUMNS = (
    "seq", "role", "kind", "parts", "turn", "step", "goal", "at", "utf8", "utf16", "ascii", "images", "documents", "tokens",
    "cl100k", "chars", "json", "wide_tool",
)  # fmt: skip

_LINK_COLUMNS = (
    "seq", "kind", "role", "native_id", "native_parent", "sent", "lane", "turn", "step", "response_id", "call_ids", "opens_turn",
    "copied", "digest", "byte_length", "link",
)  # fmt: skip


def clean(text: str | None) -> str | None:
    """Text as PostgreSQL takes it: NUL becomes its symbol (U+2400), lone surrogates U+FFFD. The source keeps the bytes."""
    if text is None:
        return None
    if "\x00" in text:
        text = text.replace("\x00", "\u2400")
    if text.isascii():  # known without a look at its characters
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
    return text


def legible(path: str) -> str:
    """A path as PostgreSQL takes it: bytes of a file's name that are no UTF-8 stand as their numbers, so that two such names stay two."""
    with suppress(UnicodeEncodeError):  # a surrogate that stands for no byte, as in an upload's name
        path = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return clean(path) or ""


def figure(value: int | None) -> int | None:
    """A count as its column holds it. What no request can have counted (below 0, beyond 31 bits) is a broken record: not known."""
    return value if value is not None and 0 <= value < 1 << 31 else None


def clean_json(value: Any) -> Any:
    """JSON as jsonb takes it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): clean_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class Measured:
    """Placed entries with what takes long to make of them and needs no database: their sizes, and their parts as they are kept."""

    placed: Sequence[Placed]
    sizes: Sequence[SizeVector]
    parts: Sequence[bytes]


def measure_entries(placed: Sequence[Placed]) -> Measured:
    """Count and pack. Most of it is done outside the interpreter's lock, so that another thread may read on meanwhile."""
    vectors = sizes([p.entry.parts if p.entry.sent else () for p in placed])
    return Measured(placed, vectors, [pack(p.entry.parts) for p in placed])


def copy_entries(session_id: Any, source_id: int, placed: Sequence[Placed]) -> None:
    """Write placed entries, with their sizes, by one COPY. Inside a transaction."""
    if not placed:
        return
    with copying_bytes(Entry._meta.db_table, ENTRY_ROW) as write:
        write_entries(write, session_id, source_id, measure_entries(placed))


@contextmanager
def copying(table: str, columns: Sequence[str], *, many: bool = False) -> Iterator[Callable[[Sequence[Any]], None]]:
    """A COPY into a table; what it gives takes a row. Until it ends the connection does nothing else. Errors are Django's own.

    `many`: the rows go out from a thread of their own, so that the database works on them while the next are made.
    """
    with _copy(table, columns, many=many) as copy:
        yield copy.write_row


@contextmanager
def copying_bytes(table: str, columns: Sequence[str], *, many: bool = False) -> Iterator[Callable[[bytes], None]]:
    """A binary COPY, which takes rows as `rowbytes` makes them; else as `copying`."""
    with _copy(table, columns, many=many, form=" (FORMAT BINARY)") as copy:
        copy.write(BEGIN)
        yield copy.write
        copy.write(END)


@contextmanager
def _copy(table: str, columns: Sequence[str], *, many: bool, form: str = "") -> Iterator[Copy]:
    names = ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as wrapped, connection.wrap_database_errors:
        cursor = wrapped.cursor
        writer = QueuedLibpqWriter(cursor) if many else None
        with cursor.copy(f"COPY {table} ({names}) FROM STDIN{form}", writer=writer) as copy:
            yield copy


def write_entries(write: Callable[[bytes], None], session_id: Any, source_id: int, measured: Measured) -> None:
    """Entries into a binary COPY of ENTRY_ROW."""
    session = UUID(str(session_id)).bytes
    rows: list[bytes] = []
    for p, size, parts in zip(measured.placed, measured.sizes, measured.parts, strict=True):
        entry = p.entry
        calls = p.call_ids
        numbers = _NUMBERS(
            len(ENTRY_ROW), 16, session, 4, p.seq, 4, size.utf8, 4, size.utf16, 4, size.ascii, 4, size.images, 4, size.documents,
            4, size.tokens, 4, size.cl100k, 4, size.chars, 4, size.json, 4, size.wide_tool, 8, source_id, 8, p.offset, 4, p.length,
            1, entry.is_error, 1, entry.sent, 1, entry.opens_turn, 1, p.copied,
        )  # fmt: skip
        rows += (
            numbers, number(p.turn), number(p.step), _word(p.goal), _word(entry.kind), _word(entry.role), _word(entry.tool),
            _word(entry.lane), _text(entry.native_id), _text(entry.native_parent), _text(entry.response_id),
            json(_json(calls) if calls else None), moment(entry.at), _text(preview(entry)), octets(parts), octets(p.digest),
            json(None if entry.link is None else _json(entry.link)), _text(entry.problem),
        )  # fmt: skip
        if len(rows) >= _PIECES:
            write(b"".join(rows))
            rows.clear()
    write(b"".join(rows))


def _text(value: str | None) -> bytes:
    """A text as it goes into a binary COPY, clean."""
    if value is None:
        return NULL
    try:
        raw = value.encode()
    except UnicodeEncodeError:
        return octets((clean(value) or "").encode())
    return octets(raw if b"\x00" not in raw else raw.replace(b"\x00", "\u2400".encode()))


_word = lru_cache(maxsize=1024)(_text)  # of those that come again and again


def preview(entry: EntryValue) -> str:
    """The beginning of an entry's words."""
    if len(entry.parts) == 1:
        return entry.parts[0].text[:PREVIEW]
    pieces: list[str] = []
    room = PREVIEW
    for part in entry.parts:
        if part.text and room > 0:
            pieces.append(part.text[:room])
            room -= len(part.text) + 1
    return "\n".join(pieces)[:PREVIEW]


def _json(value: Any) -> bytes:
    try:
        raw = orjson.dumps(value)
        if b"\\u0000" not in raw:
            return raw
    except TypeError:  # a lone surrogate, or what no JSON is until it is cleaned
        pass
    return orjson.dumps(clean_json(value))


def links_of(session_id: Any) -> Iterator[Link]:
    """The links of all stored entries of a session, in order, some thousands at a time by their key."""
    rows = Entry.objects.filter(session_id=session_id).order_by("seq").values_list(*_LINK_COLUMNS)
    after = -1
    while found := list(rows.filter(seq__gt=after)[:_LINKS]):
        for row in found:
            yield _link(row)
        after = found[-1][0]


def _link(row: Sequence[Any]) -> Link:
    (
        seq, kind, role, native_id, native_parent, sent, lane, turn, step, response_id, call_ids, opens_turn, copied, digest,
        byte_length, link,
    ) = row  # fmt: skip
    return Link(
        seq=seq,
        kind=Kind(kind),
        role=Role(role) if role else None,
        native_id=native_id,
        native_parent=native_parent,
        sent=sent,
        lane=lane,
        turn=turn,
        step=step,
        response_id=response_id,
        call_ids=tuple(call_ids or ()),
        opens_turn=opens_turn,
        copied=copied,
        digest=bytes(digest),
        length=byte_length,
        facts=link or {},
    )


def write_steps(session_id: Any, steps: Sequence[Step], *, newest: int) -> None:
    """Write steps, in order: new ones by COPY, those up to `newest`, which are there, in the place of what was known of them."""
    fresh = [step for step in steps if step.n > newest]
    if fresh:
        session = str(session_id)
        with copying(StepRow._meta.db_table, STEP_COLUMNS) as write:
            for step in fresh:
                write((session, step.n, *step_values(step)))
    known = [
        StepRow(session_id=session_id, n=step.n, **dict(zip(STEP_FIELDS, step_values(step), strict=True)))
        for step in steps
        if step.n <= newest
    ]
    if known:
        StepRow.objects.bulk_create(
            known, batch_size=1000, update_conflicts=True, update_fields=STEP_FIELDS, unique_fields=["session", "n"]
        )


def step_values(step: Step) -> tuple[Any, ...]:
    """In the order of STEP_FIELDS."""
    usage = step.usage or Usage()
    return (
        step.turn, step.first_seq, step.last_seq, clean(step.response_id), clean(step.model), step.at, figure(usage.fresh),
        figure(usage.cache_read), figure(usage.cache_write), figure(usage.output), figure(usage.reasoning), figure(usage.total),
        figure(usage.window), usage.estimated, step.copied,
    )  # fmt: skip


def write_goals(
    session_id: Any, goals: Sequence[Goal], counted: Mapping[str, tuple[int, int]], *, first: bool = False
) -> None:
    """Write the goals that changed, and add to each how many entries came to it, and their tokens. `first`: there are none yet.

    Once the agent keeps a plan, the inferred goals give way to it, but for those that come into it. Of goals that were added here only the work on them is written.
    """
    if first:
        _copy_goals(session_id, goals, counted)
        return
    if any(not goal.inferred and not goal.added for goal in goals):
        kept = [goal.path for goal in goals]
        GoalRow.objects.filter(session_id=session_id, inferred=True).exclude(path__in=kept).delete()
    if len(goals) > _FEW:
        there = set(GoalRow.objects.filter(session_id=session_id).values_list("path", flat=True))
        _copy_goals(session_id, [goal for goal in goals if goal.path not in there], {})
        goals = [goal for goal in goals if goal.path in there]
    for added, fields in ((False, GOAL_FIELDS), (True, WORK_FIELDS)):
        rows = [goal_row(session_id, goal, {}) for goal in goals if goal.added is added]
        GoalRow.objects.bulk_create(
            rows, batch_size=1000, update_conflicts=True, update_fields=fields, unique_fields=["session", "path"]
        )
    if counted:
        columns = zip(*((path, entries, tokens) for path, (entries, tokens) in counted.items()), strict=True)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE agent_sessions_goal g SET entries_count = g.entries_count + s.n, tokens = g.tokens + s.tokens "
                "FROM unnest(%s::text[], %s::int[], %s::bigint[]) AS s (path, n, tokens) WHERE g.session_id = %s AND g.path = s.path",
                [*(list(column) for column in columns), session_id],
            )


def _copy_goals(session_id: Any, goals: Iterable[Goal], counted: Mapping[str, tuple[int, int]]) -> None:
    """Write goals that are new."""
    with copying(GoalRow._meta.db_table, GOAL_COLUMNS) as write:
        for goal in goals:
            row = goal_row(session_id, goal, counted)
            values = [getattr(row, name) for name in GOAL_COLUMNS]
            values[_FIGURES], values[_SPANS] = _json(row.figures).decode(), multirange_text(row.spans)
            write(values)


WORK_FIELDS = ("last_seq", "figures", "spans")
GOAL_FIELDS = ("parent", "text", "status", "note", "first_seq", "inferred", "closed_seq", "was", *WORK_FIELDS)


def place_in_tree(path: str) -> str:
    """What sorts goals as their tree does."""
    return ".".join(f"{n:05d}{rest}" for n, rest in path_key(path))


def goal_row(session_id: Any, goal: Goal, counted: Mapping[str, tuple[int, int]]) -> GoalRow:
    entries, tokens = counted.get(goal.path, (0, 0))
    return GoalRow(
        entries_count=entries,
        tokens=tokens,
        session_id=session_id,
        path=goal.path,
        position=place_in_tree(goal.path),
        parent=goal.parent,
        text=clean(goal.text) or "",
        status=goal.status.value,
        note=clean(goal.note),
        first_seq=goal.first_seq,
        last_seq=goal.last_seq,
        inferred=goal.inferred,
        added=goal.added,
        closed_seq=goal.closed_seq,
        was=clean(goal.was),
        figures=clean_json(goal.figures()),
        spans=Ranges.of((first, last + 1) for first, last in goal.tally.spans),
    )


def discount_goals(session_id: Any, *, since: int) -> None:
    """Take the entries from `since` on away from the counts of their goals."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agent_sessions_goal g SET entries_count = g.entries_count - s.n, tokens = g.tokens - s.tokens FROM "
            "(SELECT goal, count(*) n, coalesce(sum(tokens), 0) tokens FROM agent_sessions_entry "
            " WHERE session_id = %s AND goal IS NOT NULL AND seq >= %s GROUP BY goal) s "
            "WHERE g.session_id = %s AND g.path = s.goal",
            [session_id, since, session_id],
        )


def item_of(row: Any) -> Item:
    """A stored entry as an item of a context, whole. `row`: an Entry, or a named tuple of `ITEM_COLUMNS`, which costs half as much."""
    return Item(
        key=f"e{row.seq}",
        seq=row.seq,
        role=Role(row.role) if row.role else None,
        kind=Kind(row.kind),
        parts=unpack(row.parts),
        sizes=sizes_of(row),
        turn=row.turn,
        step=row.step,
        goal=row.goal,
        at=row.at,
    )


def sizes_of(row: Any) -> SizeVector:
    return SizeVector(
        row.utf8, row.utf16, row.ascii, row.images, row.documents, row.tokens, row.cl100k, row.chars, row.json, row.wide_tool
    )  # fmt: skip


def edits_of(version: Version) -> list[Edit]:
    """The full set of edits of a version, as it was written."""
    edits: list[Edit] = [Hide(version.hidden)] if version.hidden else []
    for row in version.insertions.order_by("position"):
        if row.replaces is not None:
            edits.append(Replace(row.replaces, unpack(row.parts)))
        else:
            edits.append(
                Insert(
                    row.after,
                    Role(row.role),
                    InsertKind(row.kind),
                    unpack(row.parts),
                    row.stands_for or Ranges(),
                    row.label,
                )
            )
    return edits


def write_edits(version: Version, edits: Sequence[Edit]) -> SizeVector:
    """Write the insertions and replacements of a saved version; the sizes of all that it inserts and replaces, summed.

    `hidden` and `masked` stand in the version's own row (`version_ranges`).
    """
    rows: list[Insertion] = []
    total = SizeVector()
    bodies = [edit for edit in edits if not isinstance(edit, Hide)]
    for n, (edit, size) in enumerate(zip(bodies, sizes([edit.parts for edit in bodies]), strict=True)):
        total = total + size
        common = {
            "version": version,
            "position": n,
            "parts": pack(edit.parts),
            "utf8": size.utf8,
            "utf16": size.utf16,
            "ascii": size.ascii,
            "images": size.images,
            "documents": size.documents,
            "tokens": size.tokens,
            "cl100k": size.cl100k,
            "chars": size.chars,
            "json": size.json,
            "wide_tool": size.wide_tool,
        }
        if isinstance(edit, Replace):
            rows.append(Insertion(after=edit.seq, replaces=edit.seq, role="", kind="replacement", **common))
        else:
            rows.append(
                Insertion(
                    after=edit.after,
                    role=edit.role.value,
                    kind=edit.kind.value,
                    label=clean(edit.label) or "",
                    stands_for=edit.stands_for,
                    **common,
                )
            )
    Insertion.objects.bulk_create(rows, batch_size=1000)
    return total


def version_ranges(edits: Sequence[Edit]) -> tuple[Ranges, Ranges]:
    """What a version's row holds: hidden and masked entries."""
    return hidden_by(edits), Ranges.from_numbers(edit.seq for edit in edits if isinstance(edit, Replace))


def native_key(version: NativeVersion) -> str:
    """Tells two native versions apart: kind, place and edits."""
    hidden, masked = version_ranges(version.edits)
    hasher = hashlib.blake2b(digest_size=12)
    hasher.update(f"{version.kind}|{version.at_seq}|{hidden.spans}|{masked.spans}".encode())
    for edit in version.edits:
        if isinstance(edit, Insert):
            hasher.update(f"{edit.after}|{edit.kind}".encode())
            hasher.update(digest_of(edit.role, edit.parts))
        elif isinstance(edit, Replace):
            hasher.update(str(edit.seq).encode())
            hasher.update(digest_of(None, edit.parts))
    return hasher.hexdigest()


def visible_digests(
    session_id: Any, hidden: Ranges, until_seq: int | None = None, *, cuts: Sequence[int] = ()
) -> Iterator[tuple[int, bytes, int]]:
    """Of the sent entries that are not hidden, in order, those between two `cuts` together: first seq, digests in a row, o200k tokens.

    `cuts`: sorted; each is the seq before which a new row begins.
    """
    if until_seq is not None and until_seq < 0:
        return
    query = (
        "SELECT min(seq), string_agg(digest, ''::bytea ORDER BY seq), sum(tokens) FROM agent_sessions_entry "
        "WHERE session_id = %s AND sent AND NOT (%s::int4multirange @> seq)"
    )
    values: list[Any] = [session_id, to_multirange(hidden)]
    if hidden:
        # What a compaction hides is one long span: the key leads over it, where the multirange would be asked of every row.
        start, stop = max(hidden.spans, key=lambda span: span[1] - span[0])
        query += " AND (seq < %s OR seq >= %s)"
        values += [start, stop]
    if until_seq is not None:
        query += " AND seq <= %s"
        values.append(until_seq)
    if cuts:
        query += " GROUP BY width_bucket(seq, %s::int[])"
        values.append(list(cuts))
    with connection.cursor() as cursor:
        cursor.execute(query + " ORDER BY 1", values)
        for seq, digests, tokens in cursor:
            if seq is not None:  # of nothing, one row of nothing
                yield seq, bytes(digests), int(tokens)
