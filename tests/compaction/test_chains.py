"""Whatever is done to a context in whatever order, a version is the same context whenever the head stands on it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compaction import runs
from compaction.editing import edit
from compaction.handwork import Fold, Mask, Note, Unfold
from compaction.models import Run
from compaction.rollingback import go_back
from sessions import restoring, versions
from sessions.entries import Kind
from sessions.models import Entry, Session, Source
from sessions.ranges import Ranges
from sessions.versions import Refused
from tests.compaction.stage import a_workspace, context_hash, head_of, taken_in
from webapp.models import Workspace

pytestmark = pytest.mark.django_db

SMALL = {"aim": 4000, "keep": 2000, "protect": 800, "free": 400, "summary": 900, "files": 1}

moves = st.one_of(
    st.sampled_from(["undo", "redo", "compact", "mask", "unfold", "restore"]),
    st.tuples(st.sampled_from(["fold", "note", "back", "head"]), st.integers(0, 60)),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chain=st.lists(moves, max_size=8))
def test_any_chain_of_verbs_gives_the_same_context_at_the_same_version(tmp_path: Path, chain: list[object]) -> None:
    Session.objects.all().delete()
    Source.objects.all().delete()
    workspace = Workspace.objects.filter(slug="one").first() or a_workspace()
    session = taken_in(workspace, tmp_path, entries=60, bulk=20)
    before = list(Entry.objects.filter(session=session).order_by("seq").values_list("seq", "parts"))
    seen: dict[int, str] = {}
    for move in chain:
        try:
            do(session, move)
        except Refused:
            continue
        head, digest = head_of(session), context_hash(session)
        assert head is not None
        assert seen.setdefault(head.n, digest) == digest, f"v{head.n} is another context after {move}"
    for n, digest in seen.items():
        if (now := head_of(session)) is not None and now.n != n:
            versions.move_head(session.pk, n)
        assert context_hash(session) == digest
    assert list(Entry.objects.filter(session=session).order_by("seq").values_list("seq", "parts")) == before


def do(session: Session, move: object) -> None:
    match move:
        case "undo":
            versions.undo(session.pk)
        case "redo":
            versions.redo(session.pk)
        case "compact":
            run = runs.request(session.pk, strategy="hybrid", params=SMALL)
            runs.execute(run.pk)
            assert Run.objects.get(pk=run.pk).state not in Run.LIVE
        case "mask":
            found = Entry.objects.filter(session=session, kind=Kind.TOOL_RESULT).order_by("-tokens").first()
            assert found is not None
            edit(session.pk, Mask(found.seq))
        case "unfold":
            edit(session.pk, Unfold(0))
        case "restore":
            head = head_of(session)
            assert head is not None
            restoring.restore(session.pk, taken_by=head.n)
        case ("fold", int(seq)):
            edit(session.pk, Fold(Ranges.of([(seq, seq + 4)])))
        case ("note", int(seq)):
            edit(session.pk, Note(seq, "Mind the mount."))
        case ("back", int(seq)):
            go_back(session.pk, to_entry=seq, reason="it failed", notice=seq % 2 == 0)
        case ("head", int(n)):
            versions.move_head(session.pk, n % 5)
        case _:
            raise AssertionError(move)
