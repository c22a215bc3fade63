"""Search: what is found, what is not, by whom, and how the index follows the entries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from django.db import connections
from hypothesis import given
from hypothesis import strategies as st

from sessions.contexts import Hide, Insert, InsertKind, Replace
from sessions.entries import Part, PartKind, Role
from sessions.models import Entry, Goal, Session
from sessions.models_search import SearchPosting, SearchStretch, SearchVolume
from sessions.ranges import Ranges
from sessions.search import bits, merging
from sessions.search.asked import asked
from sessions.search.find import find
from sessions.search.index import Indexer, index_waiting
from sessions.search.matching import holds, spans
from sessions.search.snippets import snippet
from sessions.search.texts import text_of
from sessions.search.waiting import waiting
from sessions.search.words import tokens_of, words_in
from sessions.versions import make
from tests.factories import a_session, call, malformed, message, meta, prompt, reasoning, result

ROWS = [
    prompt("Could we just mmap the file and be done?"),
    reasoning("The config lives in parseConfigFile, or in max_read_ahead."),
    call(
        "c1", "Edit", file_path="/home/quill/ledgerd/src/import/csv.rs", new_string="use memmap2::Mmap;\nlet 内存 = 1;"
    ),
    result("c1", 'Error: Os { code: 19, kind: ENODEV, message: "No such device" }', failed=True),
    message("The mount is NFS; mmap returns ENODEV there. 我们改用流式读取导入器，不再做内存映射。"),
    prompt("Leave it alone then."),
    call("c2", "Bash", command="cargo test -p import"),
    result("c2", "\x1b[32mtest result\x1b[0m: ok. 41 passed"),
    malformed("{broken", "no record: torn memory"),
    meta("mmap in a record that is never sent"),
]


@pytest.fixture
def workspace(db):
    from webapp.models import Workspace

    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def ledger(workspace) -> Session:
    session = a_session(workspace, ROWS)
    index_waiting()
    return session


def seqs(workspace, query: str, **more) -> list[int]:
    """The entries that a query finds, over all sessions."""
    return [seq for hits in find(workspace.pk, asked(query), **more).page for seq in hits.seqs()]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("mmap", [0, 2, 4]),
        ("MMAP", [0, 2, 4]),
        ("mmap enodev", [4]),
        ("mmap OR enodev", [0, 2, 3, 4]),
        ("mmap -enodev", [0, 2]),
        ("memmap", [2]),  # a piece of an identifier
        ("config", [1]),
        ("parseConfigFile", [1]),
        ("read_ahead", []),  # within a longer one only with stars
        ("*read_ahead*", [1]),
        ("max_read_ahead", [1]),
        ("conf*", [1]),
        ("*config*", [1]),
        ('"no such device"', [3]),
        ('"device such"', []),
        ('mmap -"returns ENODEV"', [0, 2]),
        ("src/import/csv.rs", [2]),
        ("import/src", []),
        ("内存", [2, 4]),
        ("内存映射", [4]),
        ("流式导入", []),  # all pairs but one stand there, not the run
        ("读", [4]),
        ("器", [4]),
        ("passed", [7]),
        ("torn", []),
        ("broken", [8]),
    ],
)
def test_words_find_their_entries(workspace, ledger, query, found):
    assert seqs(workspace, query) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("tool:edit", [2]),
        ("tool:bash import", [6]),
        ("file:src/import", [2]),
        ("file:csv", [2]),
        ("file:import/src", []),
        ("role:person", [0, 5]),
        ("mmap role:assistant", [4]),
        ("mmap -role:person", [2, 4]),
        ("is:error", [3, 8]),
        ("mmap agent:claude-code", [0, 2, 4]),
        ("mmap agent:codex", []),
        ("mmap -agent:claude-code", []),
        ("mmap after:2026-09-14 before:2026-09-14", [0, 2, 4]),
        ("mmap after:2026-09-15", []),
        ("mmap before:2026-09-13", []),
        ("nonsense:mmap", []),
    ],
)
def test_fields_narrow(workspace, ledger, query, found):
    assert seqs(workspace, query) == found


def test_only_what_the_model_no_longer_sees(workspace, ledger):
    ledger.head = make(
        ledger,
        parent=ledger.native_head,
        edits=[Hide(Ranges.of([(0, 4)])), Replace(4, (Part(PartKind.TEXT, "[shortened]"),))],
        origin="person",
        kind="fold",
        label="Folded",
        at_seq=9,
    )
    ledger.save()
    everything = find(workspace.pk, asked("mmap"))
    assert (everything.total, everything.ghosts, everything.masked) == (3, 2, 1)
    assert seqs(workspace, "mmap in:ghosts") == [0, 2]
    assert seqs(workspace, "mmap in:masked") == [4]
    assert seqs(workspace, "import in:context") == [6]
    assert seqs(workspace, "mmap -in:ghosts") == [4]
    # The choice within a facet leaves the counts of its other values standing.
    assert dict(find(workspace.pk, asked("mmap in:ghosts")).facets["in"]) == {
        "context": 0,
        "ghosts": 2,
        "masked": 1,
        "versions": 0,
    }


def test_a_stranger_finds_nothing(workspace, ledger):
    from webapp.models import Workspace

    other = Workspace.objects.create(name="Other", slug="other")
    for query in ("mmap", "*mmap*", "role:person", "内存", '"no such device"', "file:csv"):
        found = find(other.pk, asked(query))
        assert (found.total, found.page, found.facets.get("agent", [])) == (0, [], [])


def test_rewritten_sessions_are_left_out(workspace, ledger):
    newer = a_session(workspace, ROWS, native_id="native-2")
    index_waiting()
    assert find(workspace.pk, asked("mmap")).sessions == 2
    Session.objects.filter(pk=ledger.pk).update(superseded_by=newer)
    assert [hits.about.id for hits in find(workspace.pk, asked("mmap")).page] == [newer.pk]


def test_the_index_follows_the_entries(workspace, ledger):
    assert not waiting(workspace.pk)
    assert seqs(workspace, "alone") == [5]
    # As a growing file does: the last record, half written before, is read again.
    Entry.objects.filter(session=ledger, seq__gte=5).delete()
    Session.objects.filter(pk=ledger.pk).update(entries_count=5)
    assert seqs(workspace, "alone") == []
    assert waiting(workspace.pk)
    index_waiting()
    assert not waiting(workspace.pk)
    assert (seqs(workspace, "alone"), seqs(workspace, "mmap")) == ([], [0, 2, 4])


def test_appending_leaves_few_stretches(workspace):
    session = a_session(workspace, [message(f"word{n} common") for n in range(60)])
    for upto in range(1, 61):
        Session.objects.filter(pk=session.pk).update(entries_count=upto)
        _only(session, upto)
    assert SearchStretch.objects.filter(session=session).count() <= 7
    spans_ = list(SearchStretch.objects.filter(session=session).order_by("first").values_list("first", "stop"))
    assert [start for start, _ in spans_[1:]] == [stop for _, stop in spans_[:-1]]
    assert seqs(workspace, "common") == list(range(60))
    assert seqs(workspace, "word37") == [37]


def _only(session: Session, upto: int) -> None:
    """Look through as many entries as were there by then."""
    from unittest.mock import patch

    from sessions.search import index

    rows = Entry.objects.filter(seq__lt=upto)
    with patch.object(index.Entry, "objects", rows):
        Indexer().session(session.pk)


def test_sessions_share_a_volume_and_leave_it_one_by_one(workspace):
    first, second = (a_session(workspace, [prompt(f"lantern {n}")] * (n + 9), native_id=f"n{n}") for n in range(2))
    index_waiting()
    assert SearchVolume.objects.count() == 1
    assert find(workspace.pk, asked("lantern")).total == 19
    first.delete()
    assert (find(workspace.pk, asked("lantern")).total, SearchVolume.objects.count()) == (10, 1)
    assert find(workspace.pk, asked("role:person")).facets["role"] == [("person", 10)]
    second.delete()
    assert not SearchVolume.objects.exists()
    assert not SearchPosting.objects.exists()


def test_small_volumes_are_put_together_and_say_the_same(workspace):
    for n in range(merging.SEVERAL + 1):
        a_session(workspace, [message(f"lantern word{n}"), *ROWS][: n + 2], native_id=f"n{n}")
        index_waiting()
    queries = ("lantern", "word3", "mmap", "role:person", '"no such device"', "file:csv", "is:error")
    before = [(find(workspace.pk, asked(query)).facets, seqs(workspace, query, size=99)) for query in queries]
    assert merging.merge(workspace.pk) == merging.SEVERAL + 1
    assert SearchVolume.objects.count() == 1
    assert [(find(workspace.pk, asked(query)).facets, seqs(workspace, query, size=99)) for query in queries] == before
    assert merging.merge(workspace.pk) == 0
    assert not waiting(workspace.pk)


@pytest.mark.django_db(transaction=True)
def test_volumes_that_are_being_changed_are_left_for_later(workspace):
    for n in range(merging.SEVERAL):
        a_session(workspace, [message("lantern")], native_id=f"n{n}")
        index_waiting()
    with another_connection() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT 1 FROM agent_sessions_searchstretch LIMIT 1 FOR UPDATE")
        assert merging.merge(workspace.pk) == 0
        cursor.execute("ROLLBACK")


def test_one_session_that_cannot_be_read_keeps_no_other_from_being_found(workspace, caplog):
    rows = [message("lantern")] * 3
    broken = a_session(workspace, rows, native_id="broken")
    a_session(workspace, rows, native_id="whole")
    Entry.objects.filter(session=broken, seq=1).update(parts=b"{")
    index_waiting()
    found = find(workspace.pk, asked("lantern"))
    assert (found.sessions, found.total) == (1, 3)
    assert found.facets["role"] == [("assistant", 3)]
    assert waiting(workspace.pk).sessions == 1
    assert str(broken.pk) in caplog.text


def test_what_a_version_puts_in_is_found_once_and_leads_to_it(reader, workspace, ledger):
    def made(parent, *texts):
        edits = [
            Insert(2, Role.USER, InsertKind.SUMMARY, (Part(PartKind.TEXT, text),), Ranges.of([(0, 2)]))
            for text in texts
        ]
        return make(
            ledger,
            parent=parent,
            edits=[Hide(Ranges.of([(0, 2)])), *edits],
            origin="run",
            kind="fold",
            label="",
            at_seq=9,
        )

    first = made(ledger.native_head, "The quokka was written here, with mmap.")
    assert waiting(workspace.pk).sessions == 1
    index_waiting()
    second = made(first, "The quokka was written here, with mmap.", "A second wombat.")
    index_waiting()
    assert not waiting(workspace.pk)
    found = find(workspace.pk, asked("quokka"))
    assert (found.total, found.versions, found.facets["role"]) == (1, 1, [("summaries", 1)])
    assert [list(hits.inserted()) for hits in found.page] == [[(first.n, 0)]]
    assert [list(hits.inserted()) for hits in find(workspace.pk, asked('"second wombat"')).page] == [[(second.n, 1)]]
    assert find(workspace.pk, asked("mmap in:versions")).total == 1
    assert seqs(workspace, "mmap in:context") == seqs(workspace, "mmap -in:versions") == [0, 2, 4]
    page = reader.get("/search", {"q": "quokka"}).content.decode()
    assert f'href="/s/{ledger.pk}/insertions/{first.n}/0"' in page
    entry = reader.get("/api/search", {"q": "wombat"}).json()["items"][0]["entries"][0]
    assert (entry["seq"], entry["version"], entry["position"], entry["where"]) == (None, second.n, 1, "versions")
    assert reader.get(f"/s/{ledger.pk}/insertions/{second.n}/1").status_code == 200


def test_how_a_command_ended(workspace):
    rows = [
        call("a", "Bash", command="cargo test"), result("a", "Exit code 101\nlantern failed", failed=True), call("b", "Bash", command="cargo test"),
        result("b", "lantern passed", exit_code=0), message("exit code 101"), result("c", "lantern of no command"),
    ]  # fmt: skip
    a_session(workspace, rows)
    index_waiting()
    assert seqs(workspace, "exit:101") == [1]
    assert seqs(workspace, "exit:0") == [3]
    assert seqs(workspace, "lantern exit:failed") == [1]
    assert seqs(workspace, "lantern -exit:0") == [1, 5]
    assert seqs(workspace, "exit:101 exit:0") == [1, 3]
    assert seqs(workspace, "exit:7") == []


def test_the_work_on_a_goal(workspace, ledger):
    Goal.objects.create(
        session=ledger, path="2.1", position="2.1", text="Port the importer", status="completed", first_seq=2, last_seq=4, spans=Ranges.of([(2, 5)])
    )  # fmt: skip
    assert seqs(workspace, "mmap goal:IMPORTER") == [2, 4]
    assert seqs(workspace, "mmap goal:2.1") == [2, 4]
    assert seqs(workspace, "mmap -goal:importer") == [0]
    assert seqs(workspace, 'goal:"the importer"') == [2, 3, 4]
    assert seqs(workspace, "mmap goal:%") == []


def test_what_goes_takes_its_places_along(workspace, ledger):
    assert SearchPosting.objects.exists()
    ledger.delete()
    assert not SearchStretch.objects.exists()
    assert not SearchPosting.objects.exists()


def test_pages_go_on_behind_the_last(workspace):
    for n in range(7):
        a_session(workspace, [message("lantern " * (n + 1))] * (n + 1), native_id=f"n{n}")
    index_waiting()
    seen = []
    after = None
    for _ in range(4):
        page = find(workspace.pk, asked("lantern"), sort="most", after=after, size=2)
        seen += [hits.total for hits in page.page]
        after = page.next
    assert seen == [7, 6, 5, 4, 3, 2, 1]
    assert after is None
    assert page.total == 28


def test_long_entries_are_found_by_their_beginning_and_their_end(workspace):
    text = "opening " + "filler " * 9000 + "closing"
    a_session(workspace, [result("c", text)])
    index_waiting()
    assert (seqs(workspace, "opening"), seqs(workspace, "closing")) == ([0], [0])


@given(st.text(max_size=300))
def test_every_token_of_a_text_is_filed_and_stands_in_it(text):
    filed = set(words_in(text))
    for token in tokens_of(text):
        term = asked(f'"{token}"').clauses[0].terms[0]
        assert all(
            word in filed if how == "is" else any(one.startswith(word) for one in filed) for how, word in term.needs
        )
        assert holds(text, term)


@given(st.text(alphabet="abAB_9/. 内存映", max_size=60), st.text(alphabet="abAB_9/. 内存映", max_size=12))
def test_marks_lie_within_the_text_in_order(text, query):
    for term in asked(query).shown:
        found = list(spans(text, term))
        assert all(0 <= start < stop <= len(text) for start, stop in found)
        assert all(a[1] <= b[0] for a, b in pairwise(found))


@given(st.sets(st.integers(0, bits.MOST - 1), min_size=1))
def test_places_come_back(found):
    assert list(bits.places(bits.unpacked(bits.packed(sorted(found))))) == sorted(found)


@given(st.text(max_size=200))
def test_any_query_can_be_read(text):
    asked(text)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"no such device', 1), ("'; DROP TABLE x; --", 0), ("mm%ap", 0), ("m__p", 0), ("(mmap|nfs)+", 0), ("😀", 0), ("mmap 😀", 3), ("\x00mmap", 3),
        ("\ud800 mmap", 3), ("***", 0), ("-", 0), ("mmap OR", 3), ("in:nowhere mmap", 0), ("exit:x mmap", 0), ("。，！", 0),
        ("我们改用流式读取导入器", 1), ("mmap " * 500, 3), ("x" * 9_000, 0), ("before:9999-99-99 mmap", 0), ("after:0001-01-01 mmap", 3),
    ],
)  # fmt: skip
def test_odd_queries_have_sensible_answers(reader, workspace, ledger, query, found):
    assert find(workspace.pk, asked(query)).total == found
    assert reader.get("/search", {"q": query.encode("utf-8", "replace").decode()}).status_code == 200


def test_a_long_run_of_letters_is_marked_in_no_time():
    """Each place is looked at once: in a run of 200,000 letters a place by place walk to its ends would take hours."""
    text = "ab" * 100_000 + " a b"
    assert [len(list(spans(text, term))) for term in asked('b "a b" a* "ab a"').shown] == [1, 1, 2, 0]


def test_a_snippet_keeps_hostile_text_as_text():
    shown = snippet("<script>alert('mmap')</script>\n" * 3, asked("mmap").shown)
    assert shown.times == 3
    assert [piece for piece, hit in shown.pieces if hit] == ["mmap"] * 3
    assert "<script>" in shown.text


def test_calls_are_looked_through_without_their_json():
    part = Part(PartKind.TOOL_CALL, '{"content": "first\\nsecond \\u5185\\u5b58", "n": 7}', tool="Write")
    assert tokens_of(text_of([part])) == ["first", "second", "内存", "7"]


# -- the page, the API, the commands ----------------------------------------------------------------------------------


@pytest.fixture
def reader(client, workspace, django_user_model):
    from webapp.models import Membership

    user = django_user_model.objects.create_user("quill")
    Membership.objects.create(workspace=workspace, user=user, role="viewer")
    client.force_login(user)
    return client


def test_the_page_marks_hits_and_keeps_hostile_text_as_text(reader, workspace, ledger):
    hostile = a_session(
        workspace, [prompt("<img src=x onerror=alert(1)> mmap \u202egnp")], native_id="h", title="<b>mmap</b>"
    )
    index_waiting()
    page = reader.get("/search", {"q": "mmap"}).content.decode()
    assert "<mark>mmap</mark>" in page
    assert "<img src=x" not in page
    assert "<b>mmap</b>" not in page
    assert "\u202e" not in page
    assert f'href="/s/{ledger.pk}?at=e4"' in page
    assert f'href="/s/{hostile.pk}?at=e0"' in page


def test_facets_of_the_page_narrow(reader, ledger):
    page = reader.get("/search", {"q": "mmap", "role": "assistant"}).content.decode()
    assert "?at=e4" in page
    assert "?at=e0" not in page
    assert (
        "at=e0"
        in reader.get("/search", {"q": "mmap", "in": ["context", "ghosts", "masked", "versions"]}).content.decode()
    )


def test_no_hit_says_what_there_is_without_the_fields(reader, ledger):
    assert "3 hits without the fields" in reader.get("/search", {"q": "mmap agent:codex"}).content.decode()


def test_what_is_not_indexed_yet_is_said(reader, workspace):
    a_session(workspace, ROWS)
    assert "1 session is still being indexed" in reader.get("/search", {"q": "mmap"}).content.decode()
    assert "1 session is still being indexed" in reader.get("/search/waiting").content.decode()
    index_waiting()
    assert "still being indexed" not in reader.get("/search", {"q": "mmap"}).content.decode()


def test_a_session_alone_is_gone_through_entry_by_entry(reader, workspace):
    session = a_session(workspace, [message(f"lantern {n}") for n in range(70)])
    index_waiting()
    first = reader.get("/search", {"q": "lantern", "session": session.pk}).content.decode()
    assert "at=e59" in first
    assert "at=e60" not in first
    second = reader.get("/search", {"q": "lantern", "session": session.pk, "behind": 59}).content.decode()
    assert "at=e69" in second
    assert 'at=e59"' not in second


def test_the_api_and_the_command_answer_alike(reader, workspace, ledger, capsys):
    from django.core.management import call_command

    answer = reader.get("/api/search", {"q": '"no such device"'}).json()
    assert (answer["hits"], answer["items"][0]["entries"][0]["seq"]) == (1, 3)
    entry = answer["items"][0]["entries"][0]
    start, stop = entry["marks"][0]
    assert entry["text"][start:stop] == "No such device"
    call_command("search", "no such device", "--json")
    assert json.loads(capsys.readouterr().out)["hits"] == 1
    assert reader.get("/api/search", {"q": "mmap", "after": "nonsense"}).status_code == 422


def test_searches_are_saved_under_a_name_for_oneself(reader, workspace, ledger, django_user_model):
    from webapp.models import Membership

    query = "q=mmap+内存&role=outputs&role=calls&after=best_-1.0_x&behind=4"
    page = reader.post("/search/saved", {"name": "Mounts", "query": query}, follow=True).content.decode()
    assert "The search “Mounts” is saved." in page
    (one,) = reader.get("/api/search/saved").json()
    assert (one["name"], one["q"]) == ("Mounts", "mmap 内存")
    # How far somebody has read is no part of a search.
    assert one["query"] == "q=mmap+%E5%86%85%E5%AD%98&role=outputs&role=calls"
    assert f'href="/search?{one["query"].replace("&", "&amp;")}"' in reader.get("/search").content.decode()
    again = {"name": "Mounts", "query": "q=nfs"}
    assert reader.post("/api/search/saved", again, content_type="application/json").json()["id"] == one["id"]
    for wrong in ({"name": " ", "query": "q=x"}, {"name": "Empty", "query": "sort=newest"}):
        assert reader.post("/api/search/saved", wrong, content_type="application/json").status_code == 409
    other = django_user_model.objects.create_user("other")
    Membership.objects.create(workspace=workspace, user=other, role="viewer")
    reader.force_login(other)
    assert reader.get("/api/search/saved").json() == []
    assert reader.delete(f"/api/search/saved/{one['id']}").status_code == 404
    reader.force_login(django_user_model.objects.get(username="quill"))
    assert reader.delete(f"/api/search/saved/{one['id']}").status_code == 204
    assert reader.get("/api/search/saved").json() == []


def test_reindex_does_it_anew(workspace, ledger, capsys):
    from django.core.management import call_command

    before = SearchStretch.objects.get().pk
    call_command("reindex", "--fresh", "--json")
    assert SearchStretch.objects.get().pk != before
    assert seqs(workspace, "mmap") == [0, 2, 4]


def test_a_workers_message_looks_through_what_waits_and_leaves_it_to_whoever_is_at_it(workspace):
    from sessions import tasks

    a_session(workspace, ROWS)
    with another_connection() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [tasks._ALONE])
        tasks.index()
        assert waiting(workspace.pk)
    tasks.index()
    assert not waiting(workspace.pk)


@contextmanager
def another_connection() -> Iterator[Any]:
    other = connections["default"].copy()
    try:
        with other.cursor() as cursor:
            yield cursor
    finally:
        # Closing alone would give the connection, locks and all, to the pool.
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock_all()")
        other.close()
