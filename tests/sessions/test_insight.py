"""What a context is made of, in pages, API and commands: the same answers everywhere, bounded, and nothing for strangers."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from sessions.contexts import Hide, Insert, InsertKind, Replace
from sessions.entries import Kind, Part, PartKind, Role
from sessions.ingest import take_file
from sessions.measuring import measured
from sessions.meters import by_id
from sessions.models import Session, Version
from sessions.moments import at_step, at_version, moment_of, rows_of
from sessions.projection import context_items
from sessions.ranges import Ranges
from sessions.sample import SAMPLE
from sessions.versions import make as make_version
from tests import factories as make
from webapp.models import Membership, User, Workspace
from webapp.models import Role as Member

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def sample(workspace: Workspace) -> Session:
    return Session.objects.get(pk=take_file(workspace, SAMPLE).session)


def client_of(workspace: Workspace, name: str) -> Client:
    user = User.objects.create_user(name)
    Membership.objects.create(user=user, workspace=workspace, role=Member.VIEWER)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def reader(workspace: Workspace) -> Client:
    return client_of(workspace, "reader")


def run(*args: Any) -> str:
    out = io.StringIO()
    call_command(*map(str, args), stdout=out)
    return out.getvalue()


def run_json(*args: Any) -> Any:
    return json.loads(run(*args, "--json"))


def words(text: str) -> tuple[Part, ...]:
    return (Part(PartKind.TEXT, text),)


def masked(session: Session) -> Version:
    """A version made here: entries 5 to 9 folded behind a summary, entry 11 masked, a file put back."""
    return make_version(
        session,
        parent=session.current,
        edits=[
            Hide(Ranges.of([(5, 10)])),
            Replace(11, words("[cut]")),
            Insert(9, Role.USER, InsertKind.SUMMARY, words("What was done."), Ranges.of([(5, 10)]), "Summary"),
            Insert(9, Role.USER, InsertKind.FILE, words("fn main() {}"), label="src/main.rs"),
        ],
        origin=Version.Origin.RUN,
        kind="run",
        label="Hybrid",
        at_seq=session.entries_count - 1,
    )


def addresses(session: Session) -> list[str]:
    one = [session.pk]
    return [
        reverse("sessions:fills", args=one),
        reverse("sessions:fills", args=one) + "?step=5",
        reverse("sessions:memory", args=one),
        reverse("sessions:context", args=one) + "?step=5",
        reverse("sessions:context", args=one),
        reverse("sessions:diff", args=one) + "?left=v0&right=v1",
        reverse("sessions:diff", args=one) + "?left=step3&right=step9",
        reverse("sessions:diff-entries", args=one) + "?left=v0&right=v1&first=0&last=40",
        f"/api/sessions/{session.pk}/fills",
        f"/api/sessions/{session.pk}/memory",
        f"/api/sessions/{session.pk}/diff?left=v0&right=v1",
    ]


# -- who, and in which size -------------------------------------------------------------------------------------------


def test_strangers_learn_nothing(sample: Session) -> None:
    stranger = client_of(Workspace.objects.create(name="Elsewhere", slug="elsewhere"), "stranger")
    for address in addresses(sample):
        assert stranger.get(address).status_code == 404, address


def test_every_address_is_a_whole_page_and_to_htmx_a_fragment(reader: Client, sample: Session) -> None:
    for address in addresses(sample):
        whole = reader.get(address)
        assert whole.status_code == 200, address
        if address.startswith("/api"):
            continue
        text = whole.content.decode()
        assert "<!doctype html>" in text
        assert " style=" not in text
        assert "<script>" not in text
        assert "INVALID" not in text
        part = reader.get(address, headers=HTMX).content.decode()
        assert "<!doctype html>" not in part
        assert part.strip()


def test_what_there_is_none_of_is_not_found(reader: Client, sample: Session) -> None:
    for address in (
        reverse("sessions:fills", args=[sample.pk]) + "?step=9999",
        reverse("sessions:fills", args=[sample.pk]) + "?v=77",
        reverse("sessions:fills", args=[sample.pk]) + "?after=nonsense",
        reverse("sessions:context", args=[sample.pk]) + "?step=9999",
        reverse("sessions:diff", args=[sample.pk]) + "?left=yesterday&right=head",
        reverse("sessions:diff", args=[sample.pk]) + "?left=v0&right=v77",
    ):
        assert reader.get(address).status_code == 404, address
    assert reader.get(f"/api/sessions/{sample.pk}/diff?left=nonsense").status_code == 422
    assert reader.get(f"/api/sessions/{sample.pk}/fills?after=nonsense").status_code == 422


# -- what fills it ----------------------------------------------------------------------------------------------------


def test_the_kinds_sum_to_what_the_version_weighs_at_every_version_and_step(sample: Session) -> None:
    version = masked(sample)
    for n in sample.versions.values_list("n", flat=True):
        moment = at_version(sample, n)
        row = run_json("context", sample.pk, "--by-kind", "--version", n)
        assert row["tokens"] == measured(sample.pk, moment.version, [by_id("o200k")])["o200k"]
        assert sum(one["tokens"] for one in row["by_kind"]) == row["tokens"]
        results = next((one["tokens"] for one in row["by_kind"] if one["kind"] == "tool_results"), 0)
        assert sum(one["tokens"] for one in row["tool_results"]) == results
    found = {one["kind"]: one for one in run_json("context", sample.pk, "--by-kind", "--version", version.n)["by_kind"]}
    assert (found["summary"]["entries"], found["reinjected"]["entries"]) == (2, 1)  # one the agent's own, one ours
    for step in (1, 7, 20):
        row = run_json("context", sample.pk, "--by-kind", "--step", step)
        moment = at_step(sample, step)
        assert row["tokens"] == measured(sample.pk, moment.version, [by_id("o200k")], until_seq=moment.until)["o200k"]


def test_its_rows_are_those_of_the_context_key_for_key(sample: Session) -> None:
    for version in [*sample.versions.all(), masked(sample)]:
        projected = [item.key for item in context_items(sample, version) if ":" not in item.key]
        rows = [row.key for row in rows_of(sample, at_version(sample, version.n))]
        assert sorted(set(projected) - set(rows)) == []
        # The agent's own wiring may leave out what is never sent; it invents none of these.
        assert rows == sorted(rows, key=rows.index)
        assert len(rows) == len(set(rows))


def test_results_are_named_by_their_call_and_the_biggest_are_links(reader: Client, sample: Session) -> None:
    row = run_json("context", sample.pk, "--by-kind", "--version", 0)
    tools = {one["kind"] for one in row["tool_results"]}
    assert {"Bash", "Read"} <= tools
    assert "" not in tools
    page = reader.get(reverse("sessions:fills", args=[sample.pk]) + "?v=0").content.decode()
    for big in row["biggest"][:10]:
        assert f"?v=0&amp;at=e{big['seq']}" in page
    sizes = [big["tokens"] for big in row["biggest"]]
    assert sizes == sorted(sizes, reverse=True)


def test_the_biggest_go_on_by_keyset_in_page_and_api(reader: Client, workspace: Workspace) -> None:
    session = make.a_session(workspace, make.conversation(180))
    seen: list[str] = []
    after: str | None = None
    while True:
        query = {"n": 50} | ({"after": after} if after else {})
        answer = reader.get(f"/api/sessions/{session.pk}/fills", query).json()
        seen += [big["key"] for big in answer["biggest"]]
        after = answer["next"]
        if after is None:
            break
    assert sorted(seen) == sorted(f"e{seq}" for seq in range(180))
    page = reader.get(reverse("sessions:fills", args=[session.pk])).content.decode()
    assert page.count('class="big"') == 50
    more = reader.get(
        reverse("sessions:fills", args=[session.pk]), {"after": answer_next(reader, session)}, headers=HTMX
    )
    assert more.content.decode().count('class="big"') == 50


def answer_next(reader: Client, session: Session) -> str:
    return str(reader.get(f"/api/sessions/{session.pk}/fills").json()["next"])


# -- the difference ---------------------------------------------------------------------------------------------------


def test_a_version_made_here_differs_by_what_it_did(sample: Session) -> None:
    base = sample.current
    assert base is not None
    version = masked(sample)
    hidden = version.hidden - base.hidden
    found = run_json("diff", sample.pk, f"v{base.n}", f"v{version.n}")
    changes = {name: one["items"] for name, one in found["changes"].items() if one["items"]}
    gone = sample.entries.filter(sent=True, seq__in=list(hidden)).count()
    assert changes.get("gone", 0) == gone
    assert found["right"]["tokens"] - found["left"]["tokens"] == sum(one["tokens"] for one in found["changes"].values())
    assert found["left"]["tokens"] == measured(sample.pk, base, [by_id("o200k")])["o200k"]
    assert found["right"]["tokens"] == measured(sample.pk, version, [by_id("o200k")])["o200k"]
    assert {block["is"]["kind"] for block in found["blocks"] if block["change"] == "inserted"} == {"summary", "file"}


def test_a_mask_is_one_difference_with_its_placeholder(sample: Session) -> None:
    version = make_version(
        sample, parent=None, edits=[Replace(11, words("[cut]"))], origin=Version.Origin.RUN, kind="run", label="Masked", at_seq=20
    )  # fmt: skip
    found = run_json("diff", sample.pk, "v0", f"v{version.n}")
    (block,) = [block for block in found["blocks"] if block["change"] != "same"]
    assert (block["change"], block["first"], block["is"]["words"], found["differences"]) == ("masked", 11, "[cut]", 1)


def test_between_two_steps_stands_what_came(sample: Session) -> None:
    one, other = at_step(sample, 3), at_step(sample, 6)
    assert one.version == other.version
    found = run_json("diff", sample.pk, "step3", "step6")
    assert one.until is not None
    assert other.until is not None
    added = [block for block in found["blocks"] if block["change"] == "added"]
    assert (added[0]["first"] > one.until, added[-1]["last"] <= other.until) == (True, True)
    assert found["left"]["tokens"] == measured(sample.pk, one.version, [by_id("o200k")], until_seq=one.until)["o200k"]


def test_nothing_differs_from_itself(reader: Client, sample: Session) -> None:
    assert run_json("diff", sample.pk, "head", "head")["differences"] == 0
    page = reader.get(reverse("sessions:diff", args=[sample.pk]) + "?left=head&right=head").content.decode()
    assert "Nothing differs" in page


def test_command_and_api_say_the_same(reader: Client, sample: Session) -> None:
    assert reader.get(f"/api/sessions/{sample.pk}/diff?left=v0&right=v2").json() == run_json(
        "diff", sample.pk, "v0", "v2"
    )
    assert reader.get(f"/api/sessions/{sample.pk}/fills").json() == run_json("context", sample.pk, "--by-kind")
    assert reader.get(f"/api/sessions/{sample.pk}/memory").json() == run_json("memory", sample.pk)


def test_commands_tell_it_in_words(sample: Session) -> None:
    version = masked(sample)
    told = run("diff", sample.pk, "v0", f"v{version.n}")
    assert "differences." in told
    assert "inserted summary: What was done." in told
    by_kind = run("context", sample.pk, "--by-kind", "--step", 9)
    assert "Biggest entries" in by_kind
    assert "The agent's own count:" in by_kind
    assert "No memory file" in run("memory", sample.pk)
    with pytest.raises(CommandError, match="no version 77"):
        run("diff", sample.pk, "v0", "v77")


def alternating(session: Session) -> Version:
    """A version that masks every other entry: the most differences there can be."""
    edits = [Replace(seq, words("[cut]")) for seq in range(0, session.entries_count, 2)]
    return make_version(
        session, parent=session.current, edits=edits, origin=Version.Origin.RUN, kind="run", label="Masks", at_seq=session.entries_count - 1
    )  # fmt: skip


def test_the_page_of_a_difference_is_bounded_and_goes_on_without_loss(reader: Client, workspace: Workspace) -> None:
    session = make.a_session(workspace, make.conversation(400))
    version = alternating(session)
    address = reverse("sessions:diff", args=[session.pk])
    seen: list[int] = []
    after = 0
    while True:
        answer = reader.get(address, {"left": "v0", "right": f"v{version.n}", "after": after})
        rows = answer.context["rows"]
        assert len(rows) <= 80
        seen += [row["block"].first for row in rows if row["block"].change == "masked"]
        if answer.context["result"].next is None:
            break
        after = answer.context["result"].next
    assert seen == list(range(0, 400, 2))


def test_a_block_opens_by_keyset(reader: Client, workspace: Workspace) -> None:
    session = make.a_session(workspace, make.conversation(300))
    make.compacted(session, 10, 250)
    address = reverse("sessions:diff-entries", args=[session.pk])
    query: dict[str, Any] = {"left": "v0", "right": "v1", "first": 10, "last": 249}
    seen: list[int] = []
    while True:
        answer = reader.get(address, query)
        rows = [row["seq"] for row in answer.context["rows"]]
        assert len(rows) <= 80
        seen += rows
        if answer.context["more"] is None:
            break
        query["after"] = rows[-1]
    assert seen == list(range(10, 250))


@pytest.mark.parametrize("page", ["fills", "memory", "diff"])
def test_it_takes_as_many_queries_for_many_entries_as_for_few(reader: Client, workspace: Workspace, page: str) -> None:
    def asked(session: Session) -> int:
        address = reverse(f"sessions:{page}", args=[session.pk]) + ("?left=v0&right=v1" if page == "diff" else "")
        with CaptureQueriesContext(connection) as queries:
            assert reader.get(address).status_code == 200
        return len(queries)

    short = make.a_session(workspace, make.conversation(60), native_id="short")
    make.compacted(short, 5, 30)
    long = make.a_session(workspace, make.conversation(900), native_id="long")
    make.compacted(long, 5, 600)
    few = asked(short)
    assert asked(long) <= few  # a short one shows its summary among its biggest, which takes one look more
    assert few <= 24


def test_the_moment_of_a_name(sample: Session) -> None:
    current = sample.current
    assert current is not None
    assert moment_of(sample).version == current
    assert moment_of(sample, "2").n == moment_of(sample, "v2").n == 2
    assert moment_of(sample, "step4").step == 4
    assert moment_of(sample, "native").version == sample.native_head


# -- pages hold on to where they are ----------------------------------------------------------------------------------


def test_the_page_of_a_step_leads_to_its_neighbours_and_to_the_differences(reader: Client, sample: Session) -> None:
    page = reader.get(reverse("sessions:context", args=[sample.pk]) + "?step=5").content.decode()
    here = reverse("sessions:context", args=[sample.pk])
    assert f'href="{here}?step=4"' in page
    assert f'href="{here}?step=6"' in page
    assert "?left=step4&amp;right=step5" in page
    assert "recorded a prompt of" in page


def test_a_session_without_any_entry_has_nothing_in_it(reader: Client, workspace: Workspace) -> None:
    session = make.a_session(workspace, [])
    for name in ("fills", "memory", "context", "diff"):
        assert reader.get(reverse(f"sessions:{name}", args=[session.pk])).status_code == 200, name


def test_a_call_and_its_result_in_one_record_are_told_apart(reader: Client, workspace: Workspace) -> None:
    both = make.Row(
        Kind.TOOL_CALL,
        Role.ASSISTANT,
        (
            Part(PartKind.TEXT, "I look at it." * 4),
            Part(PartKind.TOOL_CALL, '{"path": "a.py"}', tool="read_file", call_id="a"),
            Part(PartKind.TOOL_RESULT, "x = 1\n" * 400, call_id="a"),
        ),
    )
    session = make.a_session(workspace, [make.prompt("Read it."), both])
    row = reader.get(f"/api/sessions/{session.pk}/fills").json()
    kinds = {one["kind"]: one["tokens"] for one in row["by_kind"]}
    assert kinds["tool_results"] > 10 * (kinds["tool_calls"] + kinds["assistant"])
    assert [(one["kind"], one["entries"]) for one in row["tool_results"]] == [("read_file", 1)]
    assert sum(kinds.values()) == row["tokens"]
