"""The reading pages: who may see them, whole pages and fragments, windows that lose nothing, the same cost for any length."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from sessions.models import Session
from tests import factories as make
from webapp.models import Membership, Role, User, Workspace

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def member(workspace: Workspace, name: str, role: Role) -> Client:
    user = User.objects.create_user(name, password="a long pass phrase")
    Membership.objects.create(user=user, workspace=workspace, role=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def quill(workspace: Workspace) -> Client:
    return member(workspace, "quill", Role.OPERATOR)


@pytest.fixture
def session(workspace: Workspace) -> Session:
    """300 entries, the first 100 folded by the agent."""
    found = make.a_session(workspace, make.conversation(300))
    make.compacted(found, 0, 100)
    return found


def addresses(session: Session) -> list[str]:
    one = [session.pk]
    return [
        reverse("sessions:session", args=one),
        reverse("sessions:session", args=one) + "?view=model",
        reverse("sessions:entries", args=one) + "?after=120",
        reverse("sessions:entries", args=one) + "?before=150",
        reverse("sessions:records", args=one) + "?first=0&last=3",
        reverse("sessions:entry", args=[session.pk, 103]),
        reverse("sessions:raw", args=[session.pk, 103]),
        reverse("sessions:inspect", args=[session.pk, 103]),
        reverse("sessions:turns", args=one),
        reverse("sessions:turn", args=[session.pk, 6]),
        reverse("sessions:fold", args=[session.pk, 1]),
        reverse("sessions:fold-figures", args=one),
        reverse("sessions:insertion", args=[session.pk, 1, 0]),
        reverse("sessions:meter", args=one),
        reverse("sessions:steps", args=one),
        reverse("sessions:steps-json", args=one),
        reverse("sessions:steps-csv", args=one),
        reverse("sessions:chart", args=one),
        reverse("sessions:cost", args=one),
        reverse("sessions:chart-svg", args=one),
        reverse("sessions:goals", args=one),
        reverse("sessions:versions", args=one),
        reverse("sessions:since", args=one),
        reverse("sessions:source", args=one),
    ]


VERBS = (
    "sessions:undo",
    "sessions:redo",
    "sessions:head",
    "compaction:rollback",
    "sessions:restore",
    "sessions:pin",
)


# -- who may see it ---------------------------------------------------------------------------------------------------


def test_a_stranger_learns_nothing_of_a_session(session: Session) -> None:
    other = Workspace.objects.create(name="Elsewhere", slug="elsewhere")
    stranger = member(other, "stranger", Role.ADMIN)

    for address in addresses(session):
        assert stranger.get(address).status_code == 404, address
    for verb in VERBS:
        assert stranger.post(reverse(verb, args=[session.pk])).status_code == 404, verb
    assert session.title not in stranger.get("/").content.decode()


def test_who_is_not_signed_in_is_sent_to_the_door(client: Client, session: Session) -> None:
    for address in ["/", *addresses(session)]:
        answer = client.get(address)
        assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (302, "/sign-in"), address


def test_a_viewer_reads_and_changes_nothing(workspace: Workspace, session: Session) -> None:
    viewer = member(workspace, "reader", Role.VIEWER)

    assert viewer.get(reverse("sessions:session", args=[session.pk])).status_code == 200
    for verb in VERBS:
        assert viewer.post(reverse(verb, args=[session.pk])).status_code == 403, verb
    session.refresh_from_db()
    assert session.head_id is None
    assert session.pins.count() == 0


def test_a_session_goes_by_a_prefix_of_its_id_and_by_the_agents_own(quill: Client, session: Session) -> None:
    for name in (str(session.pk), str(session.pk)[:8], "native-1"):
        assert session.title in quill.get(f"/s/{name}").content.decode()
    assert quill.get("/s/unheard-of").status_code == 404


# -- whole pages and fragments ----------------------------------------------------------------------------------------


def test_every_address_is_a_whole_page_and_to_htmx_a_fragment(quill: Client, session: Session) -> None:
    for address in ["/", *addresses(session)]:
        whole = quill.get(address)
        assert whole.status_code == 200, address
        if not whole.headers["Content-Type"].startswith("text/html"):
            continue
        text = whole.content.decode()
        assert text.startswith("<!doctype html>"), address
        assert "HX-Request" in whole.headers["Vary"], address
        part = quill.get(address, headers=HTMX)
        if part.status_code == 204:
            continue
        assert "<html" not in part.content.decode(), address
        assert part.content.decode().strip(), address
        again = quill.get(address, headers={**HTMX, "HX-History-Restore-Request": "true"})
        assert again.content.decode().startswith("<!doctype html>"), address


def test_no_page_needs_an_inline_script_or_style(quill: Client, session: Session) -> None:
    for address in ["/", *addresses(session)]:
        answer = quill.get(address)
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        text = answer.content.decode()
        assert not re.search(r"\sstyle=|<style|\son\w+=|<script(?![^>]*\bsrc=)", text), address
        policy = answer.headers["Content-Security-Policy"]
        assert "'unsafe" not in policy


# -- the list ---------------------------------------------------------------------------------------------------------


def titles(html: bytes) -> list[str]:
    return [
        title.strip()
        for title in re.findall(r'<a class="serif"[^>]*>(?:<svg.*?</svg>)?\s*(.*?)</a>', html.decode(), re.DOTALL)
    ]


def test_the_list_shows_what_a_session_holds(quill: Client, session: Session) -> None:
    text = quill.get("/").content.decode()

    assert titles(text.encode()) == ["Port the ledger importer"]
    for words in ("ledgerd", "feat/streaming-import", "Claude Code 2.1", "100 in 1 fold", "until compaction"):
        assert words in text
    assert text.count('class="drop"') == 1


def test_pages_of_the_list_follow_by_keyset(quill: Client, workspace: Workspace) -> None:
    now = timezone.now()
    for n in range(60):
        # Equal times and missing ones must not lose a session at the edge of a page.
        at = None if n % 20 == 0 else now - timezone.timedelta(hours=n // 3)
        make.a_session(
            workspace, [make.prompt(f"p{n}")], native_id=f"n{n}", title=f"Session {n}", last_at=at, started_at=at
        )
    seen: list[str] = []
    address: str | None = "/"
    while address:
        text = quill.get(address).content
        seen += titles(text)
        following = re.search(rb'hx-get="(\?[^"]*after=[^"]*)"', text)
        address = "/" + following[1].decode().replace("&amp;", "&") if following else None

    assert len(seen) == 60
    assert sorted(seen) == sorted(f"Session {n}" for n in range(60))


def test_filters_narrow_the_list_and_say_so(quill: Client, workspace: Workspace, session: Session) -> None:
    make.a_session(
        workspace,
        [make.prompt("x")],
        native_id="b",
        title="Cold start",
        project="atlas",
        cwd="/srv/atlas",
        last_at=timezone.now(),
    )

    assert titles(quill.get("/?q=ledger").content) == ["Port the ledger importer"]
    assert titles(quill.get("/?project=atlas").content) == ["Cold start"]
    assert titles(quill.get("/?ghosts=with").content) == ["Port the ledger importer"]
    assert titles(quill.get("/?ghosts=without").content) == ["Cold start"]
    assert titles(quill.get("/?when=day").content) == ["Cold start"]
    assert titles(quill.get("/?agent=codex").content) == []
    assert "No session matches" in quill.get("/?agent=codex").content.decode()
    assert quill.get("/?when=nonsense&after=nonsense&ghosts=1").status_code == 200


def test_rewritten_sessions_and_sub_agents_are_left_out(quill: Client, workspace: Workspace, session: Session) -> None:
    make.a_session(
        workspace, [make.prompt("x")], native_id="sub", title="Explore", parent=session, parent_kind="subagent"
    )
    make.a_session(workspace, [make.prompt("x")], native_id="old", title="Older revision", superseded_by=session)

    assert titles(quill.get("/").content) == ["Port the ledger importer"]
    assert "1 sub-agent sessions not listed" in quill.get("/").content.decode()
    assert set(titles(quill.get("/?subs=1").content)) == {"Port the ledger importer", "Explore"}


def test_an_empty_workspace_says_what_would_be_here(quill: Client) -> None:
    assert "No sessions yet" in quill.get("/").content.decode()


def test_the_list_costs_the_same_queries_for_any_number_of_sessions(
    quill: Client, workspace: Workspace, django_assert_num_queries: Any
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    make.a_session(workspace, make.conversation(40), native_id="first")
    quill.get("/")
    with CaptureQueriesContext(connection) as one:
        quill.get("/")
    for n in range(12):
        make.compacted(make.a_session(workspace, make.conversation(60), native_id=f"n{n}"), 0, 20)
    with django_assert_num_queries(len(one)):
        quill.get("/")


# -- the transcript ---------------------------------------------------------------------------------------------------


def entry_ids(text: str) -> list[int]:
    """Entries with a line of their own, and the results that joined a line."""
    out: list[int] = []
    for tag in re.findall(r'<article class="entry[^>]*>', text):
        out += [int(seq) for seq in re.findall(r'data-seq="(\d+)"', tag)]
        out += [int(seq) for joined in re.findall(r'data-results="([\d ]+)"', tag) for seq in joined.split()]
    return out


def walk(client: Client, session: Session, start: str, edge: str) -> list[str]:
    pages: list[str] = []
    address: str | None = start
    while address:
        text = client.get(address, headers=HTMX).content.decode()
        pages.append(text)
        following = re.search(rf'href="([^"]+)" data-edge="{edge}"', text)
        address = following[1].replace("&amp;", "&") if following else None
        assert len(pages) < 60
    return pages


def test_windows_forward_show_every_visible_entry_once(quill: Client, session: Session) -> None:
    pages = walk(quill, session, reverse("sessions:entries", args=[session.pk]), "after")

    assert [seq for page in pages for seq in sorted(entry_ids(page))] == list(range(100, 300))
    assert sum(page.count('class="ghost band') for page in pages) == 1
    assert sum(page.count("sent in place of") for page in pages) == 1
    assert max(page.count("<article") for page in pages) <= 80


def test_windows_backward_meet_those_forward(quill: Client, session: Session) -> None:
    pages = walk(quill, session, reverse("sessions:entries", args=[session.pk]) + "?before=300", "before")

    assert [seq for page in reversed(pages) for seq in sorted(entry_ids(page))] == list(range(100, 300))
    assert sum(page.count('class="ghost band') for page in pages) == 1
    assert sum(page.count("sent in place of") for page in pages) == 1


def test_records_that_are_not_sent_are_counted_and_never_lost(quill: Client, workspace: Workspace) -> None:
    rows = [
        make.prompt("hi"),
        *[make.meta() for _ in range(7)],
        make.message("hello"),
        make.malformed('{"half', "the line ends early"),
    ]
    session = make.a_session(workspace, rows)

    text = quill.get(reverse("sessions:entries", args=[session.pk])).content.decode()
    listed = quill.get(reverse("sessions:records", args=[session.pk]) + "?first=1&last=7").content.decode()

    assert "7 records not sent" in text
    assert "the line ends early" in text
    assert [int(seq) for seq in re.findall(r'<p id="e(\d+)"', listed)] == list(range(1, 8))
    assert "1 record is malformed" in quill.get(reverse("sessions:session", args=[session.pk])).content.decode()


def test_a_call_and_its_result_are_one_line(quill: Client, workspace: Workspace) -> None:
    session = make.a_session(
        workspace,
        [
            make.prompt("run it"),
            make.call("c1", "Bash", command="cargo test"),
            make.result("c1", "a\nb\nc", failed=True, exit_code=101),
        ],
    )

    text = quill.get(reverse("sessions:entries", args=[session.pk])).content.decode()
    opened = quill.get(reverse("sessions:entry", args=[session.pk, 1])).content.decode()

    assert entry_ids(text) == [0, 1, 2]
    assert "exit 101" in text
    assert "· 3 lines" in text
    assert '<pre class="output bad" tabindex="0">a\nb\nc' in opened


@pytest.mark.parametrize(
    ("at", "seq"), [("e152", 152), ("t9", 168), ("step30", 122), ("g1", 0), ("e150", 149), ("e40", 39)]
)
def test_a_deep_link_shows_its_place_or_the_call_that_a_result_belongs_to(
    quill: Client, session: Session, at: str, seq: int
) -> None:
    text = quill.get(reverse("sessions:session", args=[session.pk]) + f"?at={at}").content.decode()

    marked = re.findall(r'id="e(\d+)"[^>]*aria-current="true"', text)
    assert marked == [str(seq)]


def test_a_deep_link_into_a_ghost_opens_it(quill: Client, session: Session) -> None:
    text = quill.get(reverse("sessions:session", args=[session.pk]) + "?at=e40").content.decode()

    assert 'class="ghost band open"' in text
    assert "not sent to the model" in text
    assert re.search(r'id="e39"[^>]*aria-label="Not sent to the model', text)


def test_a_ghost_opens_in_place_eighty_at_a_time_and_closes(quill: Client, session: Session) -> None:
    address = reverse("sessions:fold", args=[session.pk, 1])

    closed = quill.get(f"{address}?closed=1", headers=HTMX).content.decode()
    opened = quill.get(address, headers=HTMX).content.decode()
    more = re.search(r'hx-get="([^"]*after=\d+)"', opened)
    assert more is not None
    rest = quill.get(more[1], headers=HTMX).content.decode()

    assert entry_ids(closed) == []
    assert sorted(entry_ids(opened) + entry_ids(rest)) == list(range(100))
    assert opened.count("<article") <= 80
    assert quill.get(reverse("sessions:fold", args=[session.pk, 2])).status_code == 404


def test_one_answer_has_the_figures_of_all_ghosts_of_a_window(quill: Client, session: Session) -> None:
    window = quill.get(reverse("sessions:entries", args=[session.pk]), headers=HTMX).content.decode()
    asked = re.findall(r'hx-get="([^"]*/folds/figures[^"]*)"', window)

    figures = quill.get(asked[0].replace("&amp;", "&"), headers=HTMX).content.decode()

    assert len(asked) == 1
    assert re.search(r'id="figures1"[^>]*hx-swap-oob="innerHTML"[^>]*>100 entries · [1-9]', figures)
    assert quill.get(reverse("sessions:fold-figures", args=[session.pk]) + "?first=9").status_code == 404


def test_an_older_version_shows_what_the_model_saw_then(quill: Client, session: Session) -> None:
    text = quill.get(reverse("sessions:session", args=[session.pk]) + "?v=0").content.decode()

    assert "You are looking at" in text
    assert min(entry_ids(text)) == 0
    assert 'class="ghost band' not in text


def test_the_models_view_is_the_projection_item_by_item(quill: Client, session: Session) -> None:
    address = reverse("sessions:session", args=[session.pk])

    text = quill.get(f"{address}?view=model").content.decode()
    before_step = quill.get(f"{address}?view=model&step=4").content.decode()

    assert "201 items" in text  # the summary and 200 entries
    assert text.index("What was done so far.") < text.index("entry 100</a>")
    assert "As the model saw it before step 4" in before_step
    # Step 4 begins at entry 13; the native fold came later, so all before it was sent. Inside one answer the order is the agent's own.
    found = re.findall(r'<article class="item[^>]*data-seq="(\d+)"', before_step)
    assert sorted(int(seq) for seq in found) == list(range(13))


def test_a_page_of_a_long_context_is_the_same_as_of_the_whole(
    quill: Client, workspace: Workspace, monkeypatch: Any
) -> None:
    from sessions import pages

    session = make.a_session(workspace, make.conversation(3000))
    address = reverse("sessions:entries", args=[session.pk]) + "?view=model&from="

    def items(start: int) -> list[str]:
        return re.findall(
            r'<article class="item.*?</article>', quill.get(address + str(start)).content.decode(), re.DOTALL
        )

    near = {start: items(start) for start in (0, 80, 2960)}
    monkeypatch.setattr(pages, "LONG", 10**9)
    assert near == {start: items(start) for start in (0, 80, 2960)}
    assert [len(found) for found in near.values()] == [80, 80, 40]


def test_the_same_queries_for_five_hundred_entries_and_five_thousand(
    quill: Client, workspace: Workspace, django_assert_num_queries: Any
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    small = make.a_session(workspace, make.conversation(500), native_id="small")
    large = make.a_session(workspace, make.conversation(5000), native_id="large")
    for session, folded in ((small, 400), (large, 4000)):
        make.compacted(session, 0, folded)
    # At the beginning, at an entry the model has, at one in a ghost (both of one kind in both sessions), and at an older version.
    for query, same in (("", ""), ("?at=e450", "?at=e4503"), ("?at=e250", "?at=e2518"), ("?v=0&at=t3", "?v=0&at=t3")):
        quill.get(reverse("sessions:session", args=[small.pk]) + query)
        with CaptureQueriesContext(connection) as cost:
            quill.get(reverse("sessions:session", args=[small.pk]) + query)
        with django_assert_num_queries(len(cost)):
            answer = quill.get(reverse("sessions:session", args=[large.pk]) + same)
        assert answer.content.count(b"<article") <= 160  # a window, and with a deep link into a ghost the ghost's own


def test_a_window_goes_by_the_key(workspace: Workspace) -> None:
    from django.db import connection

    from sessions.queries import plan_of

    session = make.a_session(workspace, make.conversation(5000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agent_sessions_entry")

    plan = plan_of(session, range(4000, 4240))

    assert "Seq Scan" not in plan
    assert "agent_sessions_entry_pk" in plan or "Index" in plan


# -- the inspector and the bytes --------------------------------------------------------------------------------------


def test_the_inspector_answers_first_whether_the_model_still_has_it(quill: Client, session: Session) -> None:
    def inspected(seq: int) -> str:
        return quill.get(reverse("sessions:inspect", args=[session.pk, seq]), headers=HTMX).content.decode()

    assert "In context: yes" in inspected(150)
    assert "In context: no" in inspected(40)
    assert "folded by compaction 1" in inspected(40)
    assert "Visible in" in inspected(40)
    assert "o200k tokens" in inspected(150)
    assert "Step 36, the request it came from" in inspected(149)
    assert 'at=e150">entry 150</a>' in inspected(149)
    assert quill.get(reverse("sessions:inspect", args=[session.pk, 300])).status_code == 404


def test_the_raw_record_is_exact(quill: Client, session: Session) -> None:
    row = session.entries.get(seq=150)

    answer = quill.get(reverse("sessions:raw", args=[session.pk, 150]))

    assert len(answer.content) == row.byte_length
    assert json.loads(answer.content)["n"] == 150
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    whole = b"".join(quill.get(reverse("sessions:source", args=[session.pk])).streaming_content)  # type: ignore[attr-defined, arg-type]
    assert whole[row.byte_offset : row.byte_offset + row.byte_length] == answer.content


def test_news_are_announced_without_moving_anything(quill: Client, session: Session) -> None:
    address = reverse("sessions:since", args=[session.pk])

    assert quill.get(f"{address}?after=299", headers=HTMX).status_code == 204
    assert "12 new" in quill.get(f"{address}?after=287", headers=HTMX).content.decode()


# -- verbs ------------------------------------------------------------------------------------------------------------


def test_undo_and_redo_move_the_head_and_say_so(quill: Client, session: Session) -> None:
    answer = quill.post(reverse("sessions:undo", args=[session.pk]), {"base": 1}, follow=True)
    session.refresh_from_db()
    assert session.head is not None
    assert session.head.n == 0
    assert "the head is v0 again" in answer.content.decode()
    assert "Two heads." in answer.content.decode()

    quill.post(reverse("sessions:redo", args=[session.pk]), {"base": 0})
    session.refresh_from_db()
    assert session.current is not None
    assert session.current.n == 1


def test_a_page_that_stood_on_another_version_is_refused(quill: Client, session: Session) -> None:
    answer = quill.post(reverse("sessions:undo", args=[session.pk]), {"base": 0})

    session.refresh_from_db()
    assert answer.status_code == 409
    assert "Nothing was changed" in answer.content.decode()
    assert session.head_id is None


def test_roll_back_hides_what_came_after(quill: Client, session: Session) -> None:
    answer = quill.post(reverse("compaction:rollback", args=[session.pk]), {"base": 1, "to": "e188"}, follow=True)

    text = answer.content.decode()
    session.refresh_from_db()
    assert session.head is not None
    assert session.head.hidden.spans == ((0, 100), (189, 300))
    assert "Rolled back: v2 is the head" in text
    assert "nothing_to_roll_back" not in text
    refused = quill.post(reverse("compaction:rollback", args=[session.pk]), {"base": 2, "to": "e4000"})
    assert refused.status_code == 409


def test_restore_brings_back_what_one_version_took(quill: Client, session: Session) -> None:
    quill.post(reverse("compaction:rollback", args=[session.pk]), {"base": 1, "to": "e188"})

    quill.post(reverse("sessions:restore", args=[session.pk]), {"base": 2, "version": 1})

    session.refresh_from_db()
    assert session.head is not None
    assert session.head.kind == "restore"
    assert session.head.hidden.spans == ((189, 300),)
    assert session.head.insertions.count() == 0
    assert quill.post(reverse("sessions:restore", args=[session.pk]), {"base": 3, "version": 1}).status_code == 409


def test_a_pin_is_set_and_taken_away(quill: Client, session: Session) -> None:
    address = reverse("sessions:pin", args=[session.pk])

    assert "Unpin" in quill.post(address, {"seq": 150}, follow=True).content.decode()
    assert list(session.pins.values_list("seq", flat=True)) == [150]
    quill.post(address, {"seq": 150})
    assert session.pins.count() == 0
    assert quill.post(address, {"seq": 300}).status_code == 409


# -- hostile content --------------------------------------------------------------------------------------------------

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x1b[31m'


def test_hostile_content_is_inert_on_every_page(quill: Client, workspace: Workspace) -> None:
    rows = [
        make.prompt(EVIL),
        make.message(f"{EVIL} [x](javascript:alert(1)) <svg onload=alert(1)>"),
        make.reasoning(EVIL),
        make.call("c1", EVIL, command=EVIL),
        make.result("c1", EVIL, failed=True),
        make.call("c2", "Edit", file_path=EVIL, old_string=EVIL, new_string="b"),
        make.result("c2", EVIL, hunks=[{"oldStart": 1, "newStart": 1, "lines": [f"+{EVIL}"]}]),
        make.malformed(EVIL, EVIL),
    ]
    more = {
        "title": EVIL,
        "project": EVIL,
        "branch": EVIL,
        "agent_version": EVIL,
        "problems": [EVIL],
        "models_used": [EVIL],
    }
    session = make.a_session(workspace, [*rows, *make.conversation(40)], native_id=EVIL.replace("\x1b", ""), **more)
    session.goals.update(text=EVIL, note=EVIL)
    make.compacted(session, 0, 2, summary=EVIL)

    places = [reverse("sessions:entry", args=[session.pk, seq]) for seq in range(8)] + [
        reverse("sessions:inspect", args=[session.pk, seq]) for seq in range(8)
    ]
    for address in ["/", f"/?project={EVIL}", *addresses(session), *places]:
        answer = quill.get(address)
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        text = answer.content.decode()
        assert "<script>alert" not in text, address
        assert "<img" not in text.replace('<img class="drawing" src="/s/', ""), address
        assert not re.search(r"<svg[^>]*onload", text), address
        assert 'href="javascript' not in text, address
        shown = re.sub(r'value="[^"]*"', "", text)  # what a form sends back stays as it is, and is not drawn
        assert "\u202e" not in shown, address
        assert "\x1b" not in shown, address
