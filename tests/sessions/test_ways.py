"""Ways through a session: narrowing, finding, errors, the map, marks, media. Ghosts are found like everything else."""

import base64
import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from sessions.models import Session
from sessions.models_marks import Bookmark, Comment
from tests import factories as make
from tests.sessions.test_outputs import PNG
from tests.sessions.test_views import HTMX, entry_ids, member
from webapp.models import Role, Workspace

pytestmark = pytest.mark.django_db

LONG = "x" * 4_500


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def quill(workspace: Workspace) -> Client:
    return member(workspace, "quill", Role.OPERATOR)


@pytest.fixture
def session(workspace: Workspace) -> Session:
    """Eleven entries, the first five folded by the agent."""
    found = make.a_session(
        workspace,
        [
            make.prompt("Find the Needle, please"),
            make.call("c1", "Grep", pattern="needle"),
            make.result("c1", "src/hay.py"),
            make.call("c2", "Edit", file_path="/w/src/hay.py", old_string="a", new_string="b"),
            make.result("c2", "The file has been updated"),
            make.message("Done. " + LONG + " and the needle lies at the very end"),
            make.prompt("Again"),
            make.call("c3", "Bash", command="pytest"),
            make.result("c3", "Exit code 1\nboom", failed=True),
            make.meta("never sent"),
            make.message("It failed."),
        ],
    )
    make.compacted(found, 0, 5)
    return found


def narrowed(client: Client, session: Session, query: str) -> list[int]:
    text = client.get(f"{reverse('sessions:entries', args=[session.pk])}?{query}", headers=HTMX).content.decode()
    return sorted(entry_ids(text))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("role=person", [0, 6]),
        ("role=assistant", [5, 10]),
        ("tool=Edit", [3, 4]),
        ("file=/w/src/hay.py", [3, 4]),
        ("only=errors", [7, 8]),
        ("only=edits", [3, 4]),
        ("only=ghosts", [0, 1, 2, 3, 4]),
        ("only=ghosts&role=person", [0]),
        ("only=marked", []),
    ],
)
def test_a_narrowed_transcript_shows_what_matches_and_calls_with_their_results(
    quill: Client, session: Session, query: str, found: list[int]
) -> None:
    assert narrowed(quill, session, query) == found


def test_what_narrows_can_be_taken_away_piece_by_piece(quill: Client, session: Session) -> None:
    text = quill.get(reverse("sessions:session", args=[session.pk]) + "?only=ghosts&role=person").content.decode()

    assert "1 entry:" in text
    assert 'href="' + reverse("sessions:session", args=[session.pk]) + '?&amp;role=person"' in text
    assert "Without the filter the person" in text


def test_narrowed_windows_show_every_match_once_in_both_directions(quill: Client, workspace: Workspace) -> None:
    session = make.a_session(workspace, make.conversation(900))
    first = narrowed(quill, session, "tool=Bash")
    after = narrowed(quill, session, f"tool=Bash&after={first[-2]}")
    back = narrowed(quill, session, f"tool=Bash&before={after[0]}")

    assert len(first) == 120
    assert after[0] > first[-1]
    assert back == first


def hits(client: Client, session: Session, words: str) -> list[int]:
    text = client.get(reverse("sessions:find", args=[session.pk]), {"q": words}, headers=HTMX).content.decode()
    return [int(seq) for seq in re.findall(r'data-hit="(\d+)"', text)]


def test_words_are_found_in_ghosts_and_behind_the_beginning_of_a_long_entry(quill: Client, session: Session) -> None:
    assert hits(quill, session, "needle") == [0, 1, 5]  # however it is written
    assert hits(quill, session, "Needle") == [0]  # with a capital only so
    assert hits(quill, session, "lies at the very end") == [5]
    assert hits(quill, session, "%") == []
    assert hits(quill, session, "") == []
    text = quill.get(reverse("sessions:find", args=[session.pk]), {"q": "needle"}, headers=HTMX).content.decode()
    assert "3 entries with it · 2 no longer sent" in text


def test_finding_goes_on_where_a_page_of_hits_ended(quill: Client, workspace: Workspace) -> None:
    session = make.a_session(workspace, make.conversation(700))
    seen: list[int] = []
    after = -1
    while True:
        text = quill.get(
            reverse("sessions:find", args=[session.pk]), {"q": "cargo test", "after": after}, headers=HTMX
        ).content.decode()
        found = [int(seq) for seq in re.findall(r'data-hit="(\d+)"', text)]
        seen += found
        following = re.search(r"after=(\d+)", text)
        if following is None:
            break
        after = int(following[1])

    assert seen == sorted(set(seen))
    assert seen == [row.seq for row in session.entries.filter(text__contains="cargo test").order_by("seq")]


def test_the_nearest_error_compaction_and_prompt(quill: Client, session: Session) -> None:
    def nearest(what: str, **query: Any) -> int | None:
        answer = quill.get(reverse("sessions:nearest", args=[session.pk, what]), query)
        return answer.json()["seq"] if answer.status_code == 200 else None

    assert nearest("error", **{"from": 0}) == 8
    assert nearest("error", **{"from": 8}) is None
    assert nearest("error", **{"from": 10, "back": 1}) == 8
    assert nearest("prompt", **{"from": 0}) == 6
    assert nearest("compaction", **{"from": 0}) is not None
    assert nearest("nothing-of-the-kind") is None


def test_the_map_is_one_small_drawing_however_long_the_session(quill: Client, workspace: Workspace) -> None:
    for n in (400, 4000):
        session = make.a_session(workspace, make.conversation(n), native_id=f"map{n}")
        text = quill.get(reverse("sessions:map", args=[session.pk]), headers=HTMX).content.decode()
        assert f'data-total="{n}"' in text
        assert text.count("<path") == 9
        assert len(text) < 12_000


def test_a_bookmark_is_ones_own_and_a_comment_everybodys(quill: Client, workspace: Workspace, session: Session) -> None:
    vellum = member(workspace, "vellum", Role.OPERATOR)
    reader = member(workspace, "reader", Role.VIEWER)
    mark = reverse("sessions:bookmark", args=[session.pk])
    write = reverse("sessions:comment", args=[session.pk])

    quill.post(mark, {"seq": 3})
    quill.post(write, {"seq": 3, "text": " <b>Why</b> this? "})
    assert reader.post(write, {"seq": 3, "text": "me too"}).status_code == 403
    assert quill.post(write, {"seq": 99, "text": "nowhere"}).status_code == 409
    assert quill.post(write, {"seq": 3, "text": "  "}).status_code == 409

    marks = reverse("sessions:marks", args=[session.pk])
    assert "Your bookmarks" in quill.get(marks).content.decode()
    others = vellum.get(marks).content.decode()
    assert "Your bookmarks" not in others
    assert "&lt;b&gt;Why&lt;/b&gt; this?" in others
    assert narrowed(vellum, session, "only=marked") == [3, 4]
    assert "1 comment" in vellum.get(reverse("sessions:entries", args=[session.pk]) + "?only=edits").content.decode()

    number = Comment.objects.get().pk
    away = reverse("sessions:uncomment", args=[session.pk, number])
    assert vellum.post(away).status_code == 409  # only who wrote it
    quill.post(away)
    quill.post(mark, {"seq": 3})
    assert (Comment.objects.count(), Bookmark.objects.count()) == (0, 0)


def test_strangers_reach_no_way_through_a_session(workspace: Workspace, session: Session) -> None:
    elsewhere = member(Workspace.objects.create(name="Other", slug="other"), "stranger", Role.ADMIN)
    one = [session.pk]
    for address in [
        *(reverse(f"sessions:{name}", args=one) for name in ("narrow", "find", "errors", "map", "marks")),
        reverse("sessions:nearest", args=[*one, "error"]),
        reverse("sessions:words", args=[*one, 3, 0]),
        reverse("sessions:media", args=[*one, 3, 0]),
        reverse("compaction:touched", args=one),
        reverse("compaction:touched_file", args=one) + "?path=/w/src/hay.py",
    ]:
        assert elsewhere.get(address).status_code == 404, address
    for verb in ("bookmark", "comment"):
        assert elsewhere.post(reverse(f"sessions:{verb}", args=one), {"seq": 3, "text": "x"}).status_code == 404


def test_the_exact_words_of_a_part_can_be_had(quill: Client, session: Session) -> None:
    answer = quill.get(reverse("sessions:words", args=[session.pk, 8, 0]))

    assert answer.content.decode() == "Exit code 1\nboom"
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"


def test_images_are_served_from_the_record_and_what_is_none_is_only_taken_away(
    quill: Client, workspace: Workspace, tmp_path: Any
) -> None:
    from sessions.ingest import take_file
    from tests.claude_lines import ClaudeLines

    svg = base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>').decode()
    made = ClaudeLines()
    made.prompt("Look")
    text = bytes(made).decode()
    content = [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": svg}},
    ]  # fmt: skip
    record = json.loads(text.splitlines()[0])
    record["message"]["content"] = content
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_text(json.dumps(record) + "\n")
    taken = take_file(workspace, path)
    session = Session.objects.get(pk=taken.session)

    page = quill.get(reverse("sessions:session", args=[session.pk])).content.decode()
    assert page.count('loading="lazy"') == 2
    assert base64.b64encode(PNG).decode() not in page

    image, other = (quill.get(reverse("sessions:media", args=[session.pk, 0, n])) for n in (0, 1))
    assert (image.content, image["Content-Type"]) == (PNG, "image/png")
    assert other["Content-Type"] == "application/octet-stream"
    assert other["Content-Disposition"].startswith("attachment")
    for answer in (image, other):
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer["Content-Security-Policy"]
    assert quill.get(reverse("sessions:media", args=[session.pk, 0, 2])).status_code == 404


def test_a_file_that_a_long_call_names_late_is_found(workspace: Workspace, quill: Client) -> None:
    """A row holds the beginning of a call's words; a patch of several files names most of them behind it."""
    patch = f"*** Begin Patch\n*** Update File: a.py\n+{LONG}\n*** Update File: src/late.py\n+x\n*** End Patch"
    found = make.a_session(
        workspace,
        [
            make.prompt("Both, please"),
            make.call("c1", "apply_patch", input=patch),
            make.result("c1", "Done"),
            make.call("c2", "apply_patch", input=patch.replace("late", "other")),
            make.result("c2", "Done"),
        ],
    )
    assert narrowed(quill, found, "file=src/late.py") == [1, 2]
    assert narrowed(quill, found, "file=src/other.py") == [3, 4]
