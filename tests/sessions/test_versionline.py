"""The version line: lanes and strokes, and what each version weighed when it was made and weighs at its end."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from sessions import versionline
from sessions.measuring import measured
from sessions.meters import DEFAULT, by_id
from sessions.models import Version
from sessions.versions import roll_back, undo
from tests import factories as make
from tests.sessions.test_views import HTMX, member
from webapp.models import Role, Workspace


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def quill(workspace: Workspace) -> Client:
    return member(workspace, "quill", Role.OPERATOR)


def version(n: int, parent: int | None, origin: str = "run") -> Version:
    return Version(pk=n + 100, n=n, parent_id=None if parent is None else parent + 100, origin=origin, label=f"v{n}")


def placed(head: int, tip: int, *versions: Version) -> dict[int, tuple[str, int, bool]]:
    newest = sorted(versions, key=lambda one: -one.n)
    by_n = {one.n: one for one in versions}
    nodes = versionline.place(newest, by_n[head], by_n[tip], 100)
    return {node.version.n: (node.glyph, node.lane, node.undone) for node in nodes}


def test_the_line_the_head_stands_on_is_lane_0_and_a_branch_beside_it_is_undone() -> None:
    line = placed(3, 3, version(0, None, "recorded"), version(1, 0), version(2, 1), version(3, 1))
    assert line == {
        0: ("native", 0, False),
        1: ("made", 0, False),
        2: ("undone", 1, True),
        3: ("head", 0, False),
    }


def test_what_was_undone_and_can_be_redone_stays_on_the_line() -> None:
    line = placed(1, 2, version(0, None, "recorded"), version(1, 0, "native"), version(2, 1))
    assert line == {0: ("native", 0, False), 1: ("head", 0, False), 2: ("undone", 0, True)}


def test_branches_that_overlap_take_lanes_of_their_own_and_others_share_one() -> None:
    versions = [version(0, None, "recorded"), version(1, 0), version(2, 0), version(3, 2), version(4, 3), version(5, 3)]
    lanes = {n: lane for n, (_, lane, _) in placed(5, 5, *versions).items()}
    assert lanes == {0: 0, 1: 1, 2: 0, 3: 0, 4: 1, 5: 0}
    both = [version(0, None, "recorded"), version(1, 0), version(2, 0), version(3, 0)]
    assert {n: lane for n, (_, lane, _) in placed(3, 3, *both).items()} == {0: 0, 1: 2, 2: 1, 3: 0}


def test_a_branch_arrives_at_the_version_it_left() -> None:
    versions = [version(3, 1), version(2, 1), version(1, 0), version(0, None, "recorded")]
    nodes = {node.version.n: node for node in versionline.place(versions, versions[0], versions[0], 100)}
    assert [(stroke.lane, stroke.dashed) for stroke in nodes[1].arrives] == [(1, True)]
    assert [(stroke.lane, stroke.dashed) for stroke in nodes[2].under] == [(0, False), (1, True)]
    assert [(stroke.lane, stroke.dashed) for stroke in nodes[1].over] == [(0, False)]


# ── what each weighs ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db
def test_a_version_says_what_it_weighed_before_and_after_it_was_made_and_at_its_end(workspace: Workspace) -> None:
    session = make.a_session(workspace, make.conversation(8))
    make.compacted(session, 0, 5)
    line = versionline.line(session)
    made, recorded = line.nodes
    meter = by_id(DEFAULT)

    def weight(version: Version, until: int | None = None) -> int:
        return measured(session.pk, version, [meter], until_seq=until)[DEFAULT]

    seq = made.version.at_seq
    assert (made.before, made.after) == (weight(recorded.version, seq), weight(made.version, seq))
    assert made.tokens == weight(made.version)
    assert (recorded.before, recorded.after, recorded.tokens) == (None, None, weight(recorded.version, seq))
    assert made.before is not None
    assert made.after is not None
    assert made.after < made.before < weight(recorded.version)
    assert line.undo == recorded.version
    assert line.redo is None


@pytest.mark.django_db
def test_beside_a_transcript_stand_the_newest_and_the_head_however_old(workspace: Workspace) -> None:
    session = make.a_session(workspace, make.conversation(60))
    for seq in (50, 40, 30, 20):
        roll_back(session.pk, to_entry=seq)
    session.refresh_from_db()
    for _ in range(3):
        undo(session.pk)
    session.refresh_from_db()
    line = versionline.line(session, newest=2)
    assert [node.version.n for node in line.nodes] == [4, 3, 1]
    assert [node.current for node in line.nodes] == [False, False, True]
    assert line.older == 2


@pytest.mark.django_db
def test_the_page_of_versions_leads_on_from_each(quill: Client, workspace: Workspace) -> None:
    session = make.a_session(workspace, make.conversation(8))
    make.compacted(session, 0, 5)
    session.refresh_from_db()
    page = quill.get(reverse("sessions:versions", args=[session.pk])).content.decode()
    for href in (
        f"{reverse('sessions:diff', args=[session.pk])}?right=v1",
        f"{reverse('sessions:diff', args=[session.pk])}?left=v0&amp;right=v1",
        f"{reverse('sessions:resume', args=[session.pk])}?version=0",
        reverse("sessions:name-version", args=[session.pk, 1]),
        reverse("sessions:undo", args=[session.pk]),
        reverse("sessions:head", args=[session.pk]),
    ):
        assert href in page, href
    beside: dict[str, Any] = {"few": "1"}
    few = quill.get(reverse("sessions:versions", args=[session.pk]), beside, headers=HTMX)
    assert reverse("sessions:name-version", args=[session.pk, 1]) not in few.content.decode()
