"""From what is asked for to the places where it may stand: a set of places for each volume, read word by word from the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.db import connection

from sessions.search import bits
from sessions.search.asked import FAILED, Asked, Term
from sessions.search.texts import exit_word, file_words, tool_word

EXPANDED = 1_000  # words that a beginning, an end or a middle may stand for
_OF_SESSION = " AND v.id IN (SELECT volume_id FROM agent_sessions_searchstretch WHERE session_id = %s)"
_END = "\U0010ffff"

# What must hold, as sets of words: all of the inner sets, of each one word.
type Need = list[list[int]]
type Clauses = list[Need]  # one of them is enough


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose sessions are looked through; `session`: only this one."""

    workspace_id: Any
    session: UUID | None = None


@dataclass(slots=True)
class Looked:
    """`places`: what may stand where, by volume. `many`: a beginning or middle that stands for more words than were looked up."""

    places: dict[int, int]
    many: list[str]


def looked(asked: Asked, scope: Scope) -> Looked:
    """The places where the words and filed fields of a query may all stand. Phrases and files have still to be read (`Term.checked`)."""
    many: list[str] = []
    wanted = [[_needs(term, many) for term in clause.terms] for clause in asked.clauses if not clause.negated]
    if tools := asked.of("tool"):
        wanted.append([[_numbers("is", tool_word(value), many)] for value in tools])
    if files := asked.of("file"):
        wanted.append([_file_needs(value, many) for value in files])
    if exits := asked.of("exit"):
        wanted.append([[_exits(value)] for value in exits])
    if (days := _days(asked)) is not None:
        wanted.append([[days]])
    refused = [
        [_needs(term, many) for term in clause.terms]
        for clause in asked.clauses
        # A phrase that must not stand there is looked for when the text is read: its words alone say nothing.
        if clause.negated and not any(term.checked for term in clause.terms)
    ]
    refused += [[[_numbers("is", tool_word(value), many)]] for value in asked.of("tool", negated=True)]
    refused += [[_file_needs(value, many)] for value in asked.of("file", negated=True)]
    refused += [[[_exits(value)]] for value in asked.of("exit", negated=True)]
    if not wanted:
        return Looked(without(_everything(scope), refused, scope), many)
    places: dict[int, int] | None = None
    # The rarest first: what it leaves open is all that the others are read for.
    rows = _rows({number for clause in wanted for need in clause for group in need for number in group})
    for clause in sorted(wanted, key=lambda one: sum(min(sum(map(rows, group)) for group in need) for need in one)):
        found = _clause(clause, scope, None if places is None else list(places))
        places = found if places is None else _both(places, found)
        if not places:
            return Looked({}, many)
    return Looked(without(places or {}, refused, scope), many)


def _everything(scope: Scope) -> dict[int, int]:
    query, given = (
        "SELECT v.id, v.size FROM agent_sessions_searchvolume v WHERE v.workspace_id = %s",
        [scope.workspace_id],
    )
    if scope.session is not None:
        query += _OF_SESSION
        given.append(scope.session)
    with connection.cursor() as cursor:
        cursor.execute(query, given)
        return {volume: bits.span(0, size) for volume, size in cursor}


def without(places: dict[int, int], refused: Sequence[Clauses], scope: Scope) -> dict[int, int]:
    """The places at which none of the refused stands."""
    for clause in refused:
        for volume, found in _clause(clause, scope, list(places)).items():
            places[volume] &= ~found
    return {volume: found for volume, found in places.items() if found}


def _both(some: Mapping[int, int], others: Mapping[int, int]) -> dict[int, int]:
    return {volume: both for volume, found in others.items() if (both := some.get(volume, 0) & found)}


def _clause(clause: Clauses, scope: Scope, among: list[int] | None) -> dict[int, int]:
    """Where one of its needs may be met, among these volumes or in all of the scope."""
    found = _read({number for need in clause for group in need for number in group}, scope, among)
    out: dict[int, int] = {}
    for need in clause:
        met: dict[int, int] | None = None
        for group in need:
            here: dict[int, int] = {}
            for number in group:
                for volume, places in found.get(number, ()):
                    here[volume] = here.get(volume, 0) | places
            met = here if met is None else _both(met, here)
        for volume, places in (met or {}).items():
            out[volume] = out.get(volume, 0) | places
    return out


def _read(numbers: Iterable[int], scope: Scope, among: list[int] | None) -> dict[int, list[tuple[int, int]]]:
    """The places of words, by word and volume."""
    given: list[Any] = [list(numbers)]
    query = "SELECT p.word, p.volume, p.places FROM agent_sessions_searchposting p "
    if among is None:
        query += "JOIN agent_sessions_searchvolume v ON v.id = p.volume WHERE p.word = ANY(%s) AND v.workspace_id = %s"
        given.append(scope.workspace_id)
        if scope.session is not None:
            query += _OF_SESSION
            given.append(scope.session)
    else:
        query += "WHERE p.word = ANY(%s) AND p.volume = ANY(%s)"
        given.append(among)
    found: dict[int, list[tuple[int, int]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(query, given)
        for word, volume, places in cursor.fetchall():
            found.setdefault(word, []).append((volume, bits.unpacked(places)))
    return found


def _rows(numbers: Iterable[int]) -> Callable[[int], int]:
    """In how many volumes a word stands."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT word, count(*) FROM agent_sessions_searchposting WHERE word = ANY(%s) GROUP BY word",
            [list(numbers)],
        )
        counted = dict(cursor.fetchall())
    return lambda number: counted.get(number, 0)


def _needs(term: Term, many: list[str]) -> Need:
    return [_numbers(how, word, many) for how, word in term.needs]


def _file_needs(path: str, many: list[str]) -> Need:
    """Every name of the path, the last perhaps only begun."""
    names = file_words(path.strip("*")) or ["@f:"]
    return [_numbers("is", name, many) for name in names[:-1]] + [_numbers("begins", names[-1], many)]


def _exits(value: str) -> list[int]:
    """Commands that ended with this code, or with any but 0."""
    if value != FAILED:
        return _numbers("is", exit_word(int(value)), [])
    zero = _numbers("is", exit_word(0), [])
    return [number for number in _between("@x:", f"@x:{_END}", limit=EXPANDED) if number not in zero]


def _days(asked: Asked) -> list[int] | None:
    """The days that lie between `after` and `before`, both included; None where neither is given."""
    after, before = asked.of("after"), asked.of("before")
    if not after and not before:
        return None
    low = max((date.fromisoformat(day) for day in after), default=date.min)
    high = min((date.fromisoformat(day) for day in before), default=date.max)
    return _between(f"@d:{low.year:04d}{low:%m%d}", f"@d:{high.year:04d}{high:%m%d}{_END}", limit=None)


def _numbers(how: str, word: str, many: list[str]) -> list[int]:
    """The words that one word as it is meant stands for (`Term.needs`)."""
    if how == "is":
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM agent_sessions_searchword WHERE word = %s", [word])
            return [row[0] for row in cursor]
    if how == "begins":
        found = _between(word, word + _END, limit=EXPANDED + 1)
    else:
        like = word.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM agent_sessions_searchword WHERE word LIKE %s AND word NOT LIKE '@%%' LIMIT %s",
                [f"%{like}" if how == "ends" else f"%{like}%", EXPANDED + 1],
            )
            found = [row[0] for row in cursor]
    if len(found) > EXPANDED:
        many.append(word)
    return found[:EXPANDED]


def _between(low: str, high: str, *, limit: int | None) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM agent_sessions_searchword WHERE word >= %s AND word <= %s ORDER BY word LIMIT %s",
            [low, high, limit],
        )
        return [row[0] for row in cursor]
