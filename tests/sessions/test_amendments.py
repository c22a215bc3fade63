"""An agent that changes its records where they stand: what is stored is what reading the last state once would store, and no row more is written."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions.documentbytes import laid
from sessions.entries import Kind
from sessions.ingest import Taken, take
from sessions.models import Session, Source
from sessions.projection import measure
from sessions.sourcebytes import CHUNK, place, stored
from sessions.store import edits_of
from sessions.versions import roll_back
from tests.adapters.opencode import build
from webapp.models import Workspace

pytestmark = pytest.mark.django_db

type Change = Callable[[build.Session, int], None]
TURNS = 5


def made() -> build.Session:
    out = build.Session()
    for n in range(TURNS):
        out.user(build.text(f"question {n}"))
        plan = {"todos": [{"content": f"thing {k}", "status": "pending" if k else "in_progress"} for k in range(n % 3)]}
        parts = [build.tool(f"call_{n}"), build.tool(f"plan_{n}", name="todowrite", given=plan)]
        out.assistant(build.start(), build.text(f"answer {n}"), *parts, build.finish(10 + n, 5))
    return out


def _part(session: build.Session, n: int, kind: str) -> build.Record:
    found = [part for message in session.messages for part in message["parts"] if part["type"] == kind]
    one: build.Record = found[n % len(found)]
    return one


def reworded(session: build.Session, n: int) -> None:
    _part(session, n, "text")["text"] += f", reworded {n}"


def cleared(session: build.Session, n: int) -> None:
    _part(session, n, "tool")["state"]["time"]["compacted"] = build.START + 100_000_000 + n


def ended(session: build.Session, n: int) -> None:
    state = _part(session, n, "tool")["state"]
    state["status"], state["error"] = ("error", "it broke") if state["status"] == "completed" else ("completed", None)


def replanned(session: build.Session, n: int) -> None:
    """A list says less than it said: what stood only there is no goal any more."""
    plans = [part for message in session.messages for part in message["parts"] if part.get("tool") == "todowrite"]
    plans[n % len(plans)]["state"]["input"] = {"todos": [{"content": f"thing {n}", "status": "pending"}][: n % 2]}


def counted(session: build.Session, n: int) -> None:
    _part(session, n, "step-finish")["tokens"]["input"] += n + 1


def summed_up(session: build.Session, n: int) -> None:
    session.messages[2 * (n % TURNS)]["info"]["summary"] = {"diffs": [{"file": "a" * n}]}


def failed(session: build.Session, n: int) -> None:
    session.messages[2 * (n % TURNS) + 1]["info"]["error"] = {"name": "APIError", "data": {"message": f"no {n}"}}


def named(session: build.Session, n: int) -> None:
    session.info["title"] = "A title " * (n % 5 + 1)


def reverted(session: build.Session, n: int) -> None:
    session.info["revert"] = {"messageID": session.messages[n % len(session.messages)]["info"]["id"]}


def taken_back(session: build.Session, _: int) -> None:
    session.info.pop("revert", None)


def asked(session: build.Session, n: int) -> None:
    session.user(build.text(f"and {n}?"))
    session.assistant(build.start(), build.text("so"), build.tool(f"more_{n}", status="running"), build.finish())


def compacted(session: build.Session, n: int) -> None:
    session.compacted(f"all of it, {n}", tail=session.messages[-2]["info"]["id"], auto=bool(n % 2))


def said_on(session: build.Session, n: int) -> None:
    """An answer goes on while the next question waits behind it."""
    message = session.messages[-(n % 2) - 1]
    session.parts += 1
    own = session.messages[0]["info"]["id"][-14:]
    part = build.text(f"moreover {n}")
    ids = {
        "id": f"prt_22accacf{session.parts:04d}{own}",
        "sessionID": build.SESSION,
        "messageID": message["info"]["id"],
    }
    message["parts"].append({**part, **ids})


CHANGES = (
    reworded, cleared, ended, replanned, counted, summed_up, failed, named, reverted, taken_back, asked, compacted, said_on,
)  # fmt: skip


def workspace(name: str) -> Workspace:
    return Workspace.objects.create(name=name, slug=name)


def take_in(into: Workspace, made: build.Session) -> Taken:
    return take(into, "/home/scribe/session.json", BytesIO(made.data()), patient=False)


def session_of(taken: Taken) -> Session:
    assert taken.session is not None
    return Session.objects.get(pk=taken.session)


def rows_of(rows: Any, key: str) -> dict[Any, dict[str, Any]]:
    """Rows by what tells them apart, without what every taking in makes anew and without places."""
    less = ("id", "session_id", "source_id", "byte_offset", "version_id", "parent_id", "made_at")
    found = rows.order_by(key).values()
    return {row[key]: {name: plain(value) for name, value in row.items() if name not in less} for row in found}


def plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def all_of(session: Session) -> dict[str, Any]:
    """What is stored of a session, but for ids."""
    line = []
    version = session.native_head
    while version is not None:
        row = rows_of(session.versions.filter(pk=version.pk), "n")[version.n]
        line.append({**row, "n": None, "insertions": rows_of(version.insertions, "position")})
        version = version.parent
    less = ("id", "workspace_id", "source_id", "native_head_id", "created_at")
    return {
        "entries": rows_of(session.entries, "seq"),
        "records": records_of(session),
        "steps": rows_of(session.steps, "n"),
        "goals": rows_of(session.goals, "path"),
        "versions": line,
        "bytes": b"".join(stored(session.source)),
        "session": {k: v for k, v in Session.objects.filter(pk=session.pk).values()[0].items() if k not in less},
    }


def records_of(session: Session) -> list[bytes]:
    """The bytes that each entry points to."""
    source = Source.objects.get(session=session)
    whole = b"".join(stored(source))
    rows = session.entries.order_by("seq").values_list("seq", "byte_offset", "byte_length")
    starts = [(place(source, seq, offset), length) for seq, offset, length in rows]
    return [whole[start : start + length] for start, length in starts]


def lying(table: str, key: str, session: Session) -> dict[Any, str]:
    """Where each row lies: another place means that it was written anew."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {key}, ctid::text FROM agent_sessions_{table} WHERE session_id = %s", [session.pk])
        return dict(cursor.fetchall())


def written(before: dict[Any, str], after: dict[Any, str]) -> set[Any]:
    return {key for key, place in after.items() if before.get(key) != place}


def differing(before: dict[Any, Any], after: dict[Any, Any]) -> set[Any]:
    return {key for key, row in after.items() if before.get(key) != row}


changes = st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 40)), min_size=1, max_size=3)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(looks=st.lists(changes, min_size=1, max_size=4))
def test_what_is_stored_after_any_changes_is_what_reading_once_stores(
    looks: list[list[tuple[Change, int]]],
) -> None:
    Session.objects.all().delete()
    Source.objects.all().delete()
    Workspace.objects.all().delete()
    here = workspace("scriptorium")
    now = made()
    taken = take_in(here, now)
    for look in looks:
        first = session_of(taken)
        before = all_of(first)
        places = {name: lying(name, key, first) for name, key in (("entry", "seq"), ("step", "n"))}
        for change, n in look:
            change(now, n)
        taken = take_in(here, now)
        assert taken.outcome in ("grown", "unchanged", "same")
        session = session_of(taken)
        assert session.pk == first.pk
        after = all_of(session)
        for name, key, rows in (("entry", "seq", "entries"), ("step", "n", "steps")):
            anew = written(places[name], lying(name, key, session))
            assert anew == differing(before[rows], after[rows]), "what differs is written, and nothing else"
    fresh = session_of(take_in(workspace("elsewhere"), now))
    assert all_of(session_of(taken)) == all_of(fresh)


def test_one_result_cleared_in_a_long_session_is_one_row() -> None:
    here, now = workspace("scriptorium"), made()
    for n in range(100):
        asked(now, n)
    session = session_of(take_in(here, now))
    before = lying("entry", "seq", session), lying("step", "n", session), lying("goal", "path", session)
    now.info["title"] = "Of which the record is longer, so that all others lie further on"
    cleared(now, 17)
    assert take_in(here, now).outcome == "grown"
    after = lying("entry", "seq", session), lying("step", "n", session), lying("goal", "path", session)
    anew = [written(*pair) for pair in zip(before, after, strict=True)]
    # the info, the part of the call (in which the result stands), and the result
    assert [len(rows) for rows in anew] == [3, 0, 0]
    names = session.entries.order_by("seq").values_list("kind", "native_id")
    for (kind, name), record in zip(names, records_of(session), strict=True):
        found = json.loads(record)
        assert name is None or kind == Kind.TOOL_RESULT or found["id"] == name


def test_goals_that_no_list_states_any_more_are_gone() -> None:
    here, now = workspace("scriptorium"), made()
    session = session_of(take_in(here, now))
    assert session.goals.filter(text="thing 1").exists()
    for n in (2, 4):
        replanned(now, n)
    take_in(here, now)
    assert not session.goals.filter(text="thing 1").exists()


def test_a_question_that_waits_is_no_other_session_when_the_answer_goes_on_before_it() -> None:
    here, now = workspace("scriptorium"), made()
    now.user(build.text("queued"))
    first = session_of(take_in(here, now))
    said_on(now, 1)
    taken = take_in(here, now)
    assert (taken.outcome, taken.session) == ("grown", str(first.pk))
    assert Session.objects.count() == 1


def test_where_a_person_made_a_version_behind_it_the_numbers_of_entries_hold() -> None:
    """It names entries by their numbers: what would change them is another revision, and the former stays with its version."""
    here, now = workspace("scriptorium"), made()
    now.user(build.text("queued"))
    first = session_of(take_in(here, now))
    ours = roll_back(first.pk, to_turn=2).now
    said_on(now, 1)
    taken = take_in(here, now)
    assert taken.outcome == "rewritten"
    first.refresh_from_db()
    assert first.head == ours
    assert first.superseded_by == session_of(taken)


def test_a_version_says_of_its_context_what_holds_now() -> None:
    here, now = workspace("scriptorium"), made()
    first = session_of(take_in(here, now))
    ours = roll_back(first.pk, to_turn=4).now
    was = ours.content_hash
    reworded(now, 1)
    take_in(here, now)
    ours.refresh_from_db()
    assert ours.content_hash != was
    assert (ours.content_hash, ours.tokens) == measure(first.pk, edits_of(ours), ours.at_seq)


SIZE = 64  # of a chunk, so that there are many of a few bytes
pieces = st.lists(st.tuples(st.integers(0, 8), st.integers(0, SIZE + 9), st.integers(0, 40)), max_size=6)


@settings(max_examples=200, deadline=None)
@given(count=st.integers(0, 5), changes=pieces)
def test_chunks_that_stay_and_stretches_that_are_written_make_up_the_new_bytes(
    count: int, changes: list[tuple[int, int, int]]
) -> None:
    old = b"".join(b"%08d" % n for n in range(count * SIZE // 8 + 3))
    chunks = [(at, min(SIZE, len(old) - at)) for at in range(0, len(old), SIZE)]
    new = bytearray(old)
    for at, gone, come in changes:
        start = at * len(new) // 8
        new[start : start + gone] = b"x" * come
    plan = laid(chunks, old, bytes(new), size=SIZE)
    lengths = dict(chunks)
    laid_out = {found: old[offset : offset + lengths[offset]] for offset, found in plan.stays}
    laid_out |= {start: bytes(new[start:stop]) for start, stop in plan.written}
    assert b"".join(laid_out[at] for at in sorted(laid_out)) == bytes(new)
    at = 0
    for start in sorted(laid_out):
        assert start == at
        assert 0 < len(laid_out[start]) <= SIZE
        at += len(laid_out[start])
    assert {offset for offset, _ in plan.stays} | set(plan.goes) == set(lengths)


def test_a_change_in_one_chunk_writes_that_one_alone() -> None:
    old = b"".join(b"%08d" % n for n in range(8 * CHUNK // 8))
    chunks = [(at, CHUNK) for at in range(0, len(old), CHUNK)]
    new = bytearray(old)
    new[3 * CHUNK + 5 : 3 * CHUNK + 9] = b"changed, and longer"
    plan = laid(chunks, old, bytes(new))
    assert plan.goes == (3 * CHUNK,)
    assert plan.written == ((3 * CHUNK, 4 * CHUNK), (4 * CHUNK, 4 * CHUNK + 15))
