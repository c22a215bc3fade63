"""The chart's addresses: windows of steps that never grow with the session, the drawing as a file, every step as CSV, as if."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from sessions.models import Session, Step, Version
from sessions.prices import price_of
from tests import factories as make
from webapp.models import Membership, Role, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def quill(workspace: Workspace) -> Client:
    user = User.objects.create_user("quill", password="a long pass phrase")
    Membership.objects.create(user=user, workspace=workspace, role=Role.OPERATOR)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def session(workspace: Workspace) -> Session:
    """300 entries, a step every fourth, the first 100 entries folded by the agent."""
    found = make.a_session(workspace, make.conversation(300))
    make.compacted(found, 0, 100)
    return found


def many_steps(session: Session, count: int) -> Session:
    """So many steps, written by one statement: the entries stay as they are."""
    session.steps.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO agent_sessions_step (session_id, n, turn, first_seq, last_seq, model, fresh, cache_read, cache_write, output, "
            "reasoning, estimated, copied) SELECT %s, n, n / 20 + 1, n * 4, n * 4 + 3, 'claude-sonnet-4-5-20250929', 10, "
            "20000 + (n %% 4000) * 30, 60, 200, 80, false, false FROM generate_series(1, %s) AS n",
            [session.pk, count],
        )
        cursor.execute("ANALYZE agent_sessions_step")
    session.steps_count = count
    session.turns = count // 20 + 1
    session.save()
    return session


def window(client: Client, session: Session, **query: Any) -> dict[str, Any]:
    answer = client.get(reverse("sessions:steps-json", args=[session.pk]), query)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_every_step_is_a_bar_with_its_figures(quill: Client, session: Session) -> None:
    data = window(quill, session)

    assert data["steps"] == len(data["n"]) == session.steps_count
    assert (data["from"], data["to"]) == (1, session.steps_count)
    step = session.steps.get(n=5)
    assert (data["cache_read"][4], data["cache_write"][4], data["fresh"][4], data["output"][4]) == (
        step.cache_read,
        step.cache_write,
        step.fresh,
        step.output,
    )
    assert data["reasoning"][4] is None
    assert data["seq"][4] == step.first_seq
    (flag,) = data["flags"]
    assert (flag["number"], session.steps.get(n=flag["at"]).first_seq >= 100) == (1, True)
    assert session.steps.get(n=flag["at"] - 1).first_seq < 100
    assert flag["before"] == session.steps.get(n=flag["at"] - 1).context
    assert flag["after"] == session.steps.get(n=flag["at"]).prompt
    assert {one["name"] for one in data["thresholds"]} == {"compaction", "block", "input_limit", "total"}
    assert all(one["whose"] and one["rule"] for one in data["thresholds"])


def test_a_stretch_is_held_within_what_there_is(quill: Client, session: Session) -> None:
    data = window(quill, session, **{"from": 10, "to": 20})
    assert (data["from"], data["to"], data["n"]) == (10, 20, list(range(10, 21)))

    for wrong in ({"from": "x"}, {"from": -5, "to": 10**12}, {"w": "NaN", "h": 10**9}):
        assert window(quill, session, **wrong)["to"] == session.steps_count
    last = window(quill, session, **{"from": 10**12})
    assert (last["from"], last["to"]) == (session.steps_count, session.steps_count)


def test_merged_bars_keep_the_largest_of_each_stretch(quill: Client, session: Session) -> None:
    many_steps(session, 5_000)
    Step.objects.filter(session=session, n=3_333).update(cache_read=999_999)

    data = window(quill, session, w=700)

    assert len(data["n"]) <= 700
    assert 3_333 in data["n"]
    assert data["start"][0] == 1
    assert data["stop"][-1] == 5_001
    assert data["start"][1:] == data["stop"][:-1]
    assert all(start <= n < stop for start, n, stop in zip(data["start"], data["n"], data["stop"], strict=True))
    for start, n, stop in list(zip(data["start"], data["n"], data["stop"], strict=True))[::97]:
        inside = session.steps.filter(n__gte=start, n__lt=stop)
        assert session.steps.get(n=n).context == max(step.context or 0 for step in inside)


def test_a_hundred_thousand_steps_cost_what_a_hundred_do(quill: Client, workspace: Workspace, session: Session) -> None:
    other = make.a_session(workspace, make.conversation(300), native_id="native-2")
    make.compacted(other, 0, 100)
    many_steps(session, 100_000)
    window(quill, session)

    def asked(one: Session, **query: Any) -> tuple[int, int]:
        with CaptureQueriesContext(
            connection,
        ) as counted:
            size = len(quill.get(reverse("sessions:steps-json", args=[one.pk]), query).content)
        assert not any("OFFSET" in query["sql"] for query in counted.captured_queries)
        return len(counted), size

    few, _ = asked(other)
    for stretch in ({}, {"from": 50_000, "to": 50_400}, {"from": 1, "to": 50_000}):
        queries, size = asked(session, **stretch)
        assert queries == few
        assert size < 400_000
    assert len(window(quill, session, w=1200)["n"]) <= 1200
    with CaptureQueriesContext(connection) as counted:
        page = quill.get(reverse("sessions:chart", args=[session.pk]), {"from": 50_000})
    assert len(counted) <= few + 2
    assert page.content.decode().count("<tr>") == 201


def test_steps_without_usage_are_no_bars(quill: Client, session: Session) -> None:
    session.steps.update(fresh=None, cache_read=None, cache_write=None, output=None)

    data = window(quill, session)

    assert data["n"] == []
    assert "records no usage" in data["svg"]


def test_a_total_alone_is_a_bar_whose_parts_are_not_told_apart(quill: Client, session: Session) -> None:
    session.steps.filter(n=7).update(fresh=None, cache_read=None, cache_write=None, output=40, total=5_000)

    data = window(quill, session)

    assert (data["whole"][6], data["context"][6], data["fresh"][6]) == (4_960, 5_000, None)


def test_rollbacks_and_forks_are_marked_where_they_happened(
    quill: Client, workspace: Workspace, session: Session
) -> None:
    from sessions.contexts import Hide
    from sessions.ranges import Ranges
    from sessions.versions import make as make_version

    steps = list(session.steps.order_by("n"))
    start, stop = steps[40].first_seq, steps[50].first_seq
    session.native_head = make_version(
        session,
        parent=session.native_head,
        edits=[Hide(Ranges.of([(start, stop)]))],
        origin=Version.Origin.NATIVE,
        kind="rollback",
        label="Rolled back 2 turns",
        at_seq=stop - 1,
    )
    session.save()
    fork = make.a_session(
        workspace,
        make.conversation(120),
        native_id="native-fork",
        title="Another way",
        parent=session,
        parent_kind="fork",
    )
    fork.steps.filter(n__lte=12).update(copied=True)

    data = window(quill, session)
    (rolled,) = data["rolled"]
    assert (rolled["first"], rolled["last"], rolled["label"]) == (41, 50, "Rolled back")
    assert rolled["before"] == steps[49].context
    assert [(one["at"], one["label"]) for one in data["forks"]] == [(13, "Fork: Another way")]
    assert [one["at"] for one in window(quill, fork)["forks"]] == [13]
    assert (
        f'href="{reverse("sessions:session", args=[fork.pk])}"'
        in quill.get(reverse("sessions:chart", args=[session.pk])).content.decode()
    )


def test_csv_has_every_step_and_is_streamed(quill: Client, session: Session) -> None:
    many_steps(session, 4_500)
    session.steps.filter(n=2).update(model='=HYPERLINK("http://elsewhere.example")', reasoning=None)

    answer = quill.get(reverse("sessions:steps-csv", args=[session.pk]))

    assert answer.streaming
    assert answer.headers["Content-Disposition"].startswith("attachment")
    blocks = list(answer.streaming_content)  # type: ignore[attr-defined, arg-type]
    assert len(blocks) == 4
    rows = list(csv.DictReader(io.StringIO(b"".join(blocks).decode())))
    assert [int(row["step"]) for row in rows] == list(range(1, 4_501))
    step = session.steps.get(n=4_000)
    assert (int(rows[3_999]["cache_read"]), int(rows[3_999]["context"])) == (step.cache_read, step.context)
    assert rows[1]["reasoning"] == ""
    assert rows[1]["model"].startswith("'=")


def test_the_drawing_is_a_file_of_its_own(quill: Client, session: Session) -> None:
    address = reverse("sessions:chart-svg", args=[session.pk])

    answer = quill.get(address, {"from": 5, "to": 60, "w": 900})

    assert answer.headers["Content-Type"].startswith("image/svg+xml")
    root = ET.fromstring(answer.content)
    assert (root.get("width"), root.tag) == ("900", "{http://www.w3.org/2000/svg}svg")
    text = answer.content.decode()
    assert f"steps 5 to 60 of {session.steps_count}" in text
    assert "var(" not in text
    assert "style" not in text
    # Everything that has a place has a colour: without a stylesheet the default would be black.
    for element in root.iter():
        if element.tag.endswith(("rect", "path", "line")) and element.get("class"):
            assert element.get("fill") or element.get("stroke"), element.attrib
    dark = quill.get(address, {"scheme": "dark"}).content.decode()
    assert "#191714" in dark
    assert "attachment" in quill.get(address, {"download": ""}).headers["Content-Disposition"]


HOSTILE = '"><script>alert(1)</script>\x00\x1b[31m\u202e\ufffe]]>&'


def test_hostile_words_leave_the_drawing_whole(quill: Client, workspace: Workspace) -> None:
    session = make.a_session(
        workspace, make.conversation(100), title=HOSTILE.replace("\x00", ""), models_used=[HOSTILE.replace("\x00", "")]
    )
    version = make.compacted(session, 0, 30)
    version.label = HOSTILE.replace("\x00", "")
    version.save()

    for text in (
        quill.get(reverse("sessions:chart-svg", args=[session.pk])).content.decode(),
        window(quill, session)["svg"],
    ):
        ET.fromstring(text)
        assert "<script" not in text
        assert "\u202e" not in text


def test_as_if_moves_the_lines_and_has_an_address(quill: Client, session: Session) -> None:
    own = window(quill, session)
    other = window(quill, session, rule="codex-0.148", model="100k")

    lines = {one["name"]: one["tokens"] for one in other["thresholds"]}
    assert (lines["total"], lines["compaction"]) == (100_000, 90_000)
    assert lines["compaction"] != {one["name"]: one["tokens"] for one in own["thresholds"]}["compaction"]
    assert other["rule"] == "Codex 0.148"
    page = quill.get(
        reverse("sessions:session", args=[session.pk]), {"rule": "codex-0.148", "model": "100k"}
    ).content.decode()
    assert re.search(r'<option value="codex-0.148"[^>]* selected>', page)
    assert 'value="100k"' in page
    assert "rule=codex-0.148&amp;model=100k" in page
    # Where it would have compacted is marked, counted and said, with what that assumes; zoomed in, only what lies there is drawn.
    small = window(quill, session, rule="codex-0.148", model="3k")
    assert small["marks"] == small["svg"].count('class="would"') > 0
    assert "Codex 0.148 would have compacted" in small["as_if"]
    assert small["assumes"]
    assert small["as_if"] in page.replace("&#x27;", "'") or "never" in other["as_if"]
    part = window(quill, session, rule="codex-0.148", model="3k", **{"from": 1, "to": 10})
    assert part["svg"].count('class="would"') < small["marks"]
    assert (own["marks"], own["as_if"]) == (0, "")
    # A preset brings its own window.
    preset = window(quill, session, rule="claude-code-200k-187k")
    assert {one["name"]: one["tokens"] for one in preset["thresholds"]}["compaction"] == 187_000
    # What makes no sense is the session's own.
    assert window(quill, session, rule="nonesuch")["thresholds"] == own["thresholds"]


def test_the_chart_without_script_leads_through_the_session(quill: Client, session: Session) -> None:
    page = quill.get(
        reverse("sessions:chart", args=[session.pk]), {"from": 11, "to": 30, "model": "100k"}
    ).content.decode()

    assert "<svg" in page
    assert page.count("?at=step") == 20
    for words, low, high in (
        ("Earlier", 1, 20),
        ("Later", 31, 50),
        ("First half", 11, 20),
        ("All steps", 1, session.steps_count),
    ):
        assert f"model=100k&amp;from={low}&amp;to={high}" in page, words


def test_the_five_numbers_at_the_head_and_at_a_step(quill: Client, session: Session) -> None:
    five = (
        "total window",
        "prompt input",
        "until compaction",
        "output of the last step",
        "output budget of the next request",
    )
    head = quill.get(reverse("sessions:session", args=[session.pk])).content.decode()
    assert all(label in head for label in five)
    assert "as the agent’s own screen shows it" in head

    there = quill.get(reverse("sessions:meter", args=[session.pk]), {"step": 40}).content.decode()
    step = session.steps.get(n=40)
    assert "After step 40" in there
    assert f"{step.context:,}" in there
    assert all(label in there for label in five)
    assert quill.get(reverse("sessions:meter", args=[session.pk]), {"step": 999}).status_code == 404

    inspected = quill.get(reverse("sessions:inspect", args=[session.pk, step.first_seq])).content.decode()
    assert "Right after step 40" in inspected
    assert "Until compaction" in inspected


def test_a_snapshot_that_no_window_holds_is_warned_of(quill: Client, session: Session) -> None:
    last = session.steps.order_by("-n").first()
    assert last is not None
    session.steps.filter(n=last.n).update(cache_read=400_000)

    page = quill.get(reverse("sessions:meter", args=[session.pk])).content.decode()

    assert "more than 1.5 times the window" in page
    assert "warned" in page


def test_history_of_pages_stays_out_of_the_browsers_store(quill: Client, session: Session) -> None:
    page = quill.get(reverse("sessions:session", args=[session.pk])).content.decode()

    assert '"historyCacheSize":0' in page


def test_cost_in_the_list_the_header_the_inspector_and_by_model(quill: Client, session: Session) -> None:
    listed = quill.get("/").content.decode()
    head = quill.get(reverse("sessions:session", args=[session.pk])).content.decode()
    inspected = quill.get(reverse("sessions:inspect", args=[session.pk, 9])).content.decode()
    whole = quill.get(reverse("sessions:cost", args=[session.pk])).content.decode()
    part = quill.get(reverse("sessions:cost", args=[session.pk]), headers={"HX-Request": "true"}).content.decode()

    # 3, 0.30, 3.75 and 15 dollars a million: 10 fresh, 30 written, 40 of output each, and what was read.
    read = sum(session.steps.values_list("cache_read", flat=True))
    steps = session.steps_count
    total = (steps * (10 * 3 + 30 * 3.75 + 40 * 15) + read * 0.3) / 1e6
    price = price_of("claude-sonnet-4-5-20250929", make.START.date())
    assert price is not None
    words = f"${total:,.4f}" if total < 0.1 else f"${total:,.2f}"
    for text in (listed, head, whole, part):
        assert f">{words}</span>" in text
        assert price.source in text
    assert "Writes to the cache are priced" in whole
    one = session.steps.get(first_seq=9)
    assert f"${(10 * 3 + 30 * 3.75 + 40 * 15 + one.cache_read * 0.3) / 1e6:.4f}" in inspected
    assert "<html" not in part


def test_a_cost_that_nobody_knows_is_a_dash_and_says_why(quill: Client, session: Session) -> None:
    session.steps.update(model="nobodys-model")

    for address in ("/", reverse("sessions:cost", args=[session.pk])):
        page = quill.get(address).content.decode()
        assert "nobodys-model: no price is known" in page
        assert ">—</span>" in page
    assert (
        "no price is known for the model"
        in quill.get(reverse("sessions:inspect", args=[session.pk, 9])).content.decode()
    )


def test_a_long_sessions_cost_comes_after_its_page(quill: Client, session: Session) -> None:
    many_steps(session, 3_000)

    page = quill.get(reverse("sessions:session", args=[session.pk])).content.decode()

    assert f'hx-get="{reverse("sessions:cost", args=[session.pk])}" hx-trigger="load"' in page


def test_a_number_goes_with_its_noun(quill: Client, workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    from django.core.management import call_command

    from sessions.templatetags.palimpsest import noun

    make.a_session(workspace, make.conversation(1))

    call_command("sessions")
    told = capsys.readouterr().out
    assert " 1 entry " in told
    assert " 1 turn " in told
    assert [noun(count, "entry,entries") for count in (0, 1, 2, None)] == ["entries", "entry", "entries", "entries"]


@pytest.mark.parametrize(
    ("label", "left"),
    [
        ("Old tool results cleared (31,509 tokens saved)", "Old tool results cleared"),
        ("Compacted (auto, 176,700 tokens before)", "Compacted (auto)"),
        ("Compacted (176,700 tokens before)", "Compacted"),
        ("Rewound to turn 3", "Rewound to turn 3"),
    ],
)
def test_a_flag_says_its_figures_once(label: str, left: str) -> None:
    from sessions.templatetags.palimpsest import brief

    assert brief(label) == left
