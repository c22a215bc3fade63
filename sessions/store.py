"""The border of PostgreSQL: values to rows and back, strings cleaned, entries by COPY."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import orjson
from django.db import connection
from django.db.models import Max

from sessions.adapters.base import Link, NativeVersion
from sessions.assembly import Placed, Step
from sessions.contexts import Edit, Hide, Insert, InsertKind, Item, Replace, hidden_by
from sessions.entries import Kind, Role, SizeVector, Usage, digest_of
from sessions.fields import to_multirange
from sessions.goals import Goal, path_key
from sessions.meters.tokens import sizes
from sessions.models import Entry, Insertion, Version
from sessions.models import Goal as GoalRow
from sessions.models import Step as StepRow
from sessions.packing import pack, unpack
from sessions.ranges import Ranges

PREVIEW = 4000  # characters of an entry's words that stand in its row

_ENTRY_COLUMNS = (
    "session_id", "seq", "turn", "step", "goal", "kind", "role", "tool", "native_id", "native_parent", "response_id", "call_ids",
    "is_error", "sent", "opens_turn", "copied", "lane", "at", "text", "parts", "digest", "utf8", "utf16", "ascii", "images",
    "documents", "tokens", "cl100k", "chars", "json", "wide_tool", "source_id", "byte_offset", "byte_length", "link", "problem",
)  # fmt: skip

_STEP_FIELDS = (
    "turn", "first_seq", "last_seq", "response_id", "model", "at", "fresh", "cache_read", "cache_write", "output", "reasoning", "total",
    "window", "estimated", "copied",
)  # fmt: skip

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


def copy_entries(session_id: Any, source_id: int, placed: Sequence[Placed]) -> None:
    """Write placed entries, with their sizes, by one COPY. Inside a transaction."""
    if not placed:
        return
    vectors = sizes([p.entry.parts if p.entry.sent else () for p in placed])
    _copy(
        Entry._meta.db_table,
        _ENTRY_COLUMNS,
        (_entry_row(session_id, source_id, p, size) for p, size in zip(placed, vectors, strict=True)),
    )


def _copy(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows by COPY; its errors are Django's own, as of any other statement."""
    names = ", ".join(f'"{name}"' for name in columns)
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)


def _entry_row(session_id: Any, source_id: int, p: Placed, size: SizeVector) -> tuple[Any, ...]:
    entry = p.entry
    link = None if entry.link is None else _json(entry.link)
    return (
        session_id, p.seq, p.turn, p.step, p.goal, entry.kind.value, entry.role and entry.role.value, clean(entry.tool),
        clean(entry.native_id), clean(entry.native_parent), clean(entry.response_id),
        _json(list(entry.call_ids)) if entry.call_ids else None, entry.is_error, entry.sent, entry.opens_turn, p.copied,
        entry.lane, entry.at, clean(preview(p)), pack(entry.parts), p.digest, size.utf8, size.utf16, size.ascii, size.images,
        size.documents, size.tokens, size.cl100k, size.chars, size.json, size.wide_tool, source_id, p.offset, p.length, link, clean(entry.problem),
    )  # fmt: skip


def preview(p: Placed) -> str:
    """The beginning of an entry's words."""
    pieces: list[str] = []
    room = PREVIEW
    for part in p.entry.parts:
        if part.text and room > 0:
            pieces.append(part.text[:room])
            room -= len(part.text) + 1
    return "\n".join(pieces)[:PREVIEW]


def _json(value: Any) -> str:
    return orjson.dumps(clean_json(value)).decode()


def links_of(session_id: Any) -> list[Link]:
    """The links of all stored entries of a session, in order."""
    rows = Entry.objects.filter(session_id=session_id).order_by("seq").values_list(*_LINK_COLUMNS)
    return [
        Link(
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
        for (
            seq, kind, role, native_id, native_parent, sent, lane, turn, step, response_id, call_ids, opens_turn, copied, digest,
            byte_length, link,
        ) in rows.iterator(chunk_size=5000)
    ]  # fmt: skip


def write_steps(session_id: Any, steps: Sequence[Step]) -> None:
    """Write steps: new ones by COPY, the few that are known already in the place of what was known of them."""
    newest = StepRow.objects.filter(session_id=session_id).aggregate(n=Max("n"))["n"] or 0
    names = ("session_id", "n", *_STEP_FIELDS)
    fresh = [step for step in steps if step.n > newest]
    if fresh:
        _copy(
            StepRow._meta.db_table,
            names,
            ([getattr(row, name) for name in names] for row in _step_rows(session_id, fresh)),
        )
    known = _step_rows(session_id, [step for step in steps if step.n <= newest])
    if known:
        StepRow.objects.bulk_create(
            known, batch_size=1000, update_conflicts=True, update_fields=_STEP_FIELDS, unique_fields=["session", "n"]
        )


def _step_rows(session_id: Any, steps: Iterable[Step]) -> list[StepRow]:
    rows = []
    for step in steps:
        usage = step.usage or Usage()
        rows.append(
            StepRow(
                session_id=session_id,
                n=step.n,
                turn=step.turn,
                first_seq=step.first_seq,
                last_seq=step.last_seq,
                response_id=clean(step.response_id),
                model=clean(step.model),
                at=step.at,
                fresh=figure(usage.fresh),
                cache_read=figure(usage.cache_read),
                cache_write=figure(usage.cache_write),
                output=figure(usage.output),
                reasoning=figure(usage.reasoning),
                total=figure(usage.total),
                window=figure(usage.window),
                estimated=usage.estimated,
                copied=step.copied,
            )
        )
    return rows


def write_goals(session_id: Any, goals: Sequence[Goal], *, since: int) -> None:
    """Write the goals that changed, and add to each what its entries from `since` on count.

    Once the agent keeps a plan, the inferred goals give way to it.
    """
    if goals and not goals[0].inferred:
        GoalRow.objects.filter(session_id=session_id, inferred=True).delete()
    GoalRow.objects.bulk_create(
        [
            GoalRow(
                session_id=session_id,
                path=goal.path,
                position=".".join(f"{n:05d}{rest}" for n, rest in path_key(goal.path)),
                parent=goal.parent,
                text=clean(goal.text) or "",
                status=goal.status.value,
                note=clean(goal.note),
                first_seq=goal.first_seq,
                last_seq=goal.last_seq,
                inferred=goal.inferred,
            )
            for goal in goals
        ],
        batch_size=1000,
        update_conflicts=True,
        update_fields=["parent", "text", "status", "note", "first_seq", "last_seq", "inferred"],
        unique_fields=["session", "path"],
    )
    count_goals(session_id, since=since)


def count_goals(session_id: Any, *, since: int, sign: int = 1) -> None:
    """Add (or with `sign` -1 take away) the entries from `since` on to the counts of their goals."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agent_sessions_goal g SET entries_count = g.entries_count + %s * s.n, tokens = g.tokens + %s * s.tokens FROM "
            "(SELECT goal, count(*) n, coalesce(sum(tokens), 0) tokens FROM agent_sessions_entry "
            " WHERE session_id = %s AND goal IS NOT NULL AND seq >= %s GROUP BY goal) s "
            "WHERE g.session_id = %s AND g.path = s.goal",
            [sign, sign, session_id, since, session_id],
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


def visible_digests(session_id: Any, hidden: Ranges, until_seq: int | None = None) -> Iterator[tuple[int, bytes, int]]:
    """Of every sent entry that is not hidden, in order: seq, digest, o200k tokens."""
    query = "SELECT seq, digest, tokens FROM agent_sessions_entry WHERE session_id = %s AND sent AND NOT (%s::int4multirange @> seq)"
    values: list[Any] = [session_id, to_multirange(hidden)]
    if until_seq is not None:
        query += " AND seq <= %s"
        values.append(until_seq)
    with connection.cursor() as cursor:
        cursor.execute(query + " ORDER BY seq", values)
        for seq, digest, tokens in cursor:
            yield seq, bytes(digest), tokens
