"""The pages of compaction: what they show, what they refuse, and that a preview writes nothing."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.test import Client

from compaction import runs
from compaction.models import Run
from compaction.strategies.hybrid import STRATEGY
from sessions import versions
from sessions.models import Session
from tests.compaction.stage import a_workspace, everything, member_of, taken_in
from webapp.models import Role, User, Workspace

pytestmark = pytest.mark.django_db

SMALL = "strategy=hybrid&set.aim=4000&set.keep=2000&set.protect=800&set.free=400&set.summary=900&set.files=2"
PARAMS = {"aim": 4000, "keep": 2000, "protect": 800, "free": 400, "summary": 900, "files": 2}


@pytest.fixture
def workspace() -> Workspace:
    return a_workspace()


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> Session:
    return taken_in(workspace, tmp_path, entries=150, bulk=40)


@pytest.fixture
def quill(workspace: Workspace) -> User:
    return member_of(workspace, "quill", Role.OPERATOR)


@pytest.fixture
def operator(quill: User) -> Client:
    client = Client()
    client.force_login(quill)
    return client


@pytest.fixture
def viewer(workspace: Workspace) -> Client:
    client = Client()
    client.force_login(member_of(workspace, "reed", Role.VIEWER))
    return client


@pytest.fixture
def stranger() -> Client:
    client = Client()
    client.force_login(member_of(a_workspace("two"), "mote", Role.ADMIN))
    return client


class Form(HTMLParser):
    """The fields of one form of a page, also those that stand elsewhere and name it."""

    def __init__(self, page: str, form: str) -> None:
        super().__init__()
        self.form, self.inside = form, False
        self.fields: list[tuple[str, str]] = []
        self.area: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.inside = given.get("id") == self.form
        mine = given.get("form", self.form if self.inside else None) == self.form
        if not mine or not given.get("name"):
            return
        name = given["name"] or ""
        if tag == "textarea":
            self.area = name
            self.fields.append((name, ""))
        elif tag == "input" and (given.get("type") not in ("checkbox", "radio") or "checked" in given):
            self.fields.append((name, given.get("value") or ""))

    def handle_data(self, data: str) -> None:
        if self.area is not None:
            name, text = self.fields.pop()
            self.fields.append((name, text + data))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        if tag == "textarea":
            self.area = None

    @property
    def data(self) -> dict[str, list[str]]:
        out: dict[str, list[str]] = {}
        for name, value in self.fields:
            # A browser drops the line break that opens a text field.
            out.setdefault(name, []).append(value.removeprefix("\n"))
        return out


def address(session: Session, *rest: object) -> str:
    return "/".join(["", "s", str(session.pk), *map(str, rest)])


def text(html: str) -> str:
    """A page as it is read: no tags, white space folded."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))


# ── the preview ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_preview_shows_what_a_run_would_do_and_writes_nothing(operator: Client, session: Session) -> None:
    operator.get(address(session, "compact"))
    before = everything()
    response = operator.get(f"{address(session, 'compact')}?{SMALL}")
    page = response.content.decode()
    assert response.status_code == 200
    assert everything() == before

    shown = runs.preview_run(session, strategy="hybrid", params=PARAMS).preview
    read = text(page)
    assert f"{shown.tokens_before:,} → {shown.tokens_after:,} tokens" in read
    assert f"{shown.counts['folded']} entries folded, readable as ghosts" in read
    assert f"{shown.retention.losses_total} items lost" in read
    assert shown.lands
    assert Form(page, "apply").data["plan_digest"] == [shown.digest]
    assert all(f'id="section-{n}"' in page for n in range(1, 10))


def test_htmx_gets_the_preview_the_bar_and_the_figures_alone(operator: Client, session: Session) -> None:
    response = operator.get(f"{address(session, 'compact')}?{SMALL}", headers={"HX-Request": "true"})
    page = response.content.decode()
    assert "<html" not in page
    assert page.lstrip().startswith('<section id="preview"')
    assert page.count('hx-swap-oob="true"') == 2
    assert "HX-Request" in response["Vary"]
    assert "set.aim=4%2C000" in response["HX-Replace-Url"]


def test_no_page_has_anything_inline(operator: Client, session: Session) -> None:
    run = done(session)
    for path in ("compact?" + SMALL, "runs", f"runs/{run.pk}"):
        page = operator.get(address(session, path)).content.decode()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", page), path


def test_a_figure_that_cannot_be_is_refused_beside_its_field(operator: Client, session: Session) -> None:
    response = operator.get(address(session, "compact") + "?set.aim=plenty")
    page = response.content.decode()
    assert response.status_code == 422
    assert "'plenty' is no number" in text(page).replace("&#x27;", "'")
    assert 'value="plenty"' in page
    assert re.search(r'data-apply disabled aria-describedby="why-not"', page)


def test_what_cannot_be_shrunk_says_why_apply_is_off(operator: Client, session: Session) -> None:
    page = operator.get(address(session, "compact") + "?set.aim=900000&set.free=900000").content.decode()
    assert re.search(r"data-apply disabled", page)
    assert "at most the 900,000 aimed for." in text(page)


def test_a_strategy_that_is_not_installed_is_said_not_guessed(operator: Client, session: Session) -> None:
    page = operator.get(address(session, "compact") + "?strategy=%3Cnone%3E").content.decode()
    assert "There is no strategy called &lt;none&gt; here; this is Hybrid mask + summary." in page


def test_a_pin_takes_the_entry_out_of_the_fold(operator: Client, session: Session) -> None:
    shown = runs.preview_run(session, strategy="hybrid", params=PARAMS).preview
    seq = next(iter(shown.plan.fold))
    page = operator.get(f"{address(session, 'compact')}?{SMALL}&pin={seq}").content.decode()
    assert f'name="unpin" value="{seq}"' in page
    assert str(seq) in Form(page, "apply").data["pin"]
    again = runs.preview_run(session, strategy="hybrid", params=PARAMS, pins=[seq]).preview
    assert Form(page, "apply").data["plan_digest"] == [again.digest]
    assert again.digest != shown.digest


def test_an_unticked_file_is_not_brought_back_and_can_be_ticked_again(operator: Client, session: Session) -> None:
    page = operator.get(f"{address(session, 'compact')}?{SMALL}").content.decode()
    data = Form(page, "choose").data
    first = data["file"][0]
    assert data["offered"] == data["file"]
    fewer = operator.get(address(session, "compact"), {**data, "file": data["file"][1:]}).content.decode()
    shown = runs.preview_run(session, strategy="hybrid", params=PARAMS, without=[first]).preview
    assert first not in [file.path for file in shown.files.files]
    assert Form(fewer, "apply").data["plan_digest"] == [shown.digest]
    assert Form(fewer, "apply").data["without"] == [first]
    assert "left out by you" in text(fewer)
    again = Form(fewer, "choose").data
    back = operator.get(address(session, "compact"), {**again, "file": [*again["file"], first]}).content.decode()
    assert Form(back, "apply").data["plan_digest"] == Form(page, "apply").data["plan_digest"]


def test_a_run_brings_back_what_was_ticked(operator: Client, session: Session) -> None:
    page = operator.get(f"{address(session, 'compact')}?{SMALL}").content.decode()
    first = Form(page, "choose").data["file"][0]
    apply(operator, session, f"{SMALL}&without={first}")
    run = Run.objects.get()
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.without) == (Run.State.COMPLETED, [first])
    assert first not in [file["path"] for file in run.report["files"]["given"]]


def test_characters_no_database_takes_are_no_error(operator: Client, session: Session) -> None:
    response = apply(operator, session, f"{SMALL}&instructions=a%00b&without=x%00y")
    assert response.status_code == 302


def test_edited_words_are_previewed_as_they_will_be_sent(operator: Client, session: Session) -> None:
    page = operator.get(f"{address(session, 'compact')}?{SMALL}").content.decode()
    data = Form(page, "apply").data
    data["section-4"] = ["- never mmap the network mount"]
    response = operator.post(address(session, "compact"), {**data, "do": "preview"})
    again = response.content.decode()
    assert response.status_code == 200
    assert "edited by you" in text(again)
    assert Form(again, "apply").data["section-4"] == ["- never mmap the network mount"]
    assert Form(again, "apply").data["plan_digest"] != data["plan_digest"]
    assert not Run.objects.exists()
    back = operator.post(
        address(session, "compact"), {**Form(again, "apply").data, "do": "write-again"}
    ).content.decode()
    assert Form(back, "apply").data["plan_digest"] == data["plan_digest"]


def test_hostile_words_stay_words(operator: Client, session: Session) -> None:
    Session.objects.filter(pk=session.pk).update(title="<script>alert(1)</script>\u202e")
    page = operator.get(address(session, "compact") + "?instructions=%3C/textarea%3E%3Cb%3Ehi").content.decode()
    assert "<script>alert" not in page
    assert "</textarea><b>hi" not in page
    assert "\u202e" not in page


# ── apply ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def apply(client: Client, session: Session, query: str = SMALL, **more: str):
    data = Form(client.get(f"{address(session, 'compact')}?{query}").content.decode(), "apply").data
    return client.post(address(session, "compact"), {**data, "do": "apply", **more})


def test_apply_makes_the_run_that_was_previewed(operator: Client, quill: User, session: Session) -> None:
    response = apply(operator, session)
    run = Run.objects.get()
    assert (response.status_code, response["Location"]) == (302, address(session, "runs", run.pk))
    assert (run.strategy, run.by, run.state) == (f"hybrid:{STRATEGY.version}", quill, Run.State.QUEUED)
    assert run.edited_summary is None
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.reason) == (Run.State.COMPLETED, "")
    assert Session.objects.get(pk=session.pk).current == run.version


def test_the_persons_words_are_what_lands(operator: Client, session: Session) -> None:
    page = operator.get(f"{address(session, 'compact')}?{SMALL}").content.decode()
    data = {**Form(page, "apply").data, "section-4": "- never mmap the network mount"}
    previewed = operator.post(address(session, "compact"), {**data, "do": "preview"}).content.decode()
    operator.post(address(session, "compact"), {**Form(previewed, "apply").data, "do": "apply"})
    run = Run.objects.get()
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == Run.State.COMPLETED, run.reason
    assert "## 4. Errors and Fixes\n- never mmap the network mount\n" in (run.edited_summary or "")
    # Their words whole, and below them what no person and no model is trusted with.
    words, _, made = run.report["summary"]["text"].partition("\n\n## Files, commands and exit codes")
    assert words == run.edited_summary
    assert made


def test_words_typed_and_applied_at_once_land_too(operator: Client, session: Session) -> None:
    apply(operator, session, **{"section-4": "- never mmap the network mount"})
    run = Run.objects.get()
    runs.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.reason) == (Run.State.COMPLETED, "")
    assert "- never mmap the network mount\n" in run.report["summary"]["text"]


def test_words_with_which_it_would_not_land_are_refused_and_kept(operator: Client, session: Session) -> None:
    long = "- " + "much more than there was " * 9_000
    response = apply(operator, session, **{"section-4": long})
    page = response.content.decode()
    assert response.status_code == 409
    assert "Apply was refused: not with these words" in text(page)
    assert Form(page, "apply").data["section-4"][0].startswith("- much more than there was")
    assert not Run.objects.exists()


def test_a_head_that_moved_refuses_in_place_and_says_what_stayed(operator: Client, session: Session) -> None:
    data = Form(operator.get(f"{address(session, 'compact')}?{SMALL}").content.decode(), "apply").data
    versions.roll_back(session.pk, to_entry=session.entries_count - 20)
    response = operator.post(address(session, "compact"), {**data, "do": "apply"})
    read = text(response.content.decode())
    assert response.status_code == 409
    assert "Apply was refused: the head has moved" in read
    assert f"Nothing was written; the head is {Session.objects.get(pk=session.pk).current}, as it was." in read
    assert re.search(
        r'<a class="button primary" href="/s/[^"]*/compact\?strategy=hybrid[^"]*">Preview again</a>',
        response.content.decode(),
    )
    assert not Run.objects.exists()


def test_while_a_run_is_live_apply_is_off_and_a_second_is_refused(operator: Client, session: Session) -> None:
    data = Form(operator.get(f"{address(session, 'compact')}?{SMALL}").content.decode(), "apply").data
    run = runs.request(session.pk, strategy="hybrid")
    page = operator.get(f"{address(session, 'compact')}?{SMALL}").content.decode()
    assert re.search(r"data-apply disabled", page)
    assert f"Run {run.pk} is going on" in text(page)
    response = operator.post(address(session, "compact"), {**data, "do": "apply"})
    assert response.status_code == 409
    assert "Apply was refused: a run is going on" in text(response.content.decode())
    assert Run.objects.count() == 1


def test_a_viewer_sees_and_may_not_apply(viewer: Client, session: Session) -> None:
    page = viewer.get(f"{address(session, 'compact')}?{SMALL}").content.decode()
    assert "Your role may look but not apply" in text(page)
    assert re.search(r"data-apply disabled", page)
    response = apply(viewer, session)
    assert response.status_code == 403
    assert "Your role does not allow this" in text(response.content.decode())
    assert not Run.objects.exists()


def test_a_stranger_learns_nothing(stranger: Client, session: Session) -> None:
    run = done(session)
    for path in ("compact", "runs", f"runs/{run.pk}"):
        assert stranger.get(address(session, path)).status_code == 404
    assert stranger.post(address(session, "compact"), {"do": "apply"}).status_code == 404
    assert stranger.post(address(session, "runs", run.pk, "cancel")).status_code == 404
    assert str(session.pk) not in stranger.get("/runs").content.decode()


# ── runs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def done(session: Session) -> Run:
    run = runs.request(session.pk, strategy="hybrid", params=PARAMS)
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == Run.State.COMPLETED, run.reason
    return run


def test_a_completed_run_says_what_it_did_and_leads_back(operator: Client, session: Session) -> None:
    run = done(session)
    read = text(operator.get(address(session, "runs", run.pk)).content.decode())
    assert "completed" in read
    assert f"{run.tokens_before:,} → {run.tokens_after:,} tokens." in read
    assert f"It became {run.version}; undo leads back to {run.base}, hash for hash." in read
    assert "as previewed: same plan, same summary" in read
    assert "Move the head" not in read


@pytest.mark.parametrize(
    ("params", "digest", "word", "reason"),
    [
        ({"aim": 900_000}, None, "refused", "aimed for."),
        (PARAMS, "another", "stale", "The plan is no longer the one previewed."),
    ],
)
def test_a_run_that_did_not_land_says_why_and_that_nothing_was_written(
    operator: Client, session: Session, params: dict[str, int], digest: str | None, word: str, reason: str
) -> None:
    run = runs.request(session.pk, strategy="hybrid", params=params, plan_digest=digest)
    runs.execute(run.pk)
    read = text(operator.get(address(session, "runs", run.pk)).content.decode())
    assert word in read
    assert reason in read
    assert "Nothing was written." in read


def test_a_live_run_is_polled_for_its_progress_alone_and_ends_with_the_whole(
    operator: Client, session: Session
) -> None:
    run = runs.request(session.pk, strategy="hybrid", params=PARAMS)
    page = operator.get(address(session, "runs", run.pk)).content.decode()
    assert 'hx-trigger="every 1s"' in page
    assert "waiting for a worker" in text(page)
    poll = f"{address(session, 'runs', run.pk)}?part=progress"
    part = operator.get(poll, headers={"HX-Request": "true"})
    assert part.content.decode().strip().startswith('<div id="progress"')
    assert "<html" not in part.content.decode()
    runs.execute(run.pk)
    end = operator.get(poll, headers={"HX-Request": "true"})
    assert (end["HX-Retarget"], end["HX-Reswap"]) == ("#run", "outerHTML")
    assert "every 1s" not in end.content.decode()
    assert "data-focus" in end.content.decode()
    assert 'id="versions-area"' in end.content.decode()


def test_a_poll_costs_few_queries(operator: Client, session: Session, django_assert_max_num_queries) -> None:
    run = runs.request(session.pk, strategy="hybrid", params=PARAMS)
    poll = f"{address(session, 'runs', run.pk)}?part=progress"
    operator.get(poll, headers={"HX-Request": "true"})
    with django_assert_max_num_queries(7):  # who asks (3), the session, the run, its calls, its hooks
        operator.get(poll, headers={"HX-Request": "true"})


def test_cancelling_is_for_operators_and_ends_a_run_that_waits(
    operator: Client, viewer: Client, session: Session
) -> None:
    run = runs.request(session.pk, strategy="hybrid", params=PARAMS)
    assert viewer.post(address(session, "runs", run.pk, "cancel")).status_code == 403
    assert "Cancel the run" not in viewer.get(address(session, "runs", run.pk)).content.decode()
    response = operator.post(address(session, "runs", run.pk, "cancel"), follow=True)
    assert "Cancelled before it started" in text(response.content.decode())
    assert Run.objects.get().state == Run.State.CANCELLED
    assert operator.post(address(session, "runs", run.pk, "cancel")).status_code == 302  # it has ended: shown, no error


def test_the_version_line_offers_undo_then_redo(operator: Client, session: Session) -> None:
    base = session.current
    run = done(session)
    page = operator.get(address(session, "runs", run.pk)).content.decode()
    assert f"Undo to {base}" in text(page)
    operator.post(address(session, "undo"))
    page = operator.get(address(session, "runs", run.pk)).content.decode()
    assert f"Redo to {run.version}" in text(page)
    assert re.search(r'class="current[^"]*"[^>]*aria-current="true"', page)


def test_while_a_run_is_live_undo_waits_and_says_so(operator: Client, session: Session) -> None:
    done(session)
    live = runs.request(session.pk, strategy="hybrid", params=PARAMS)
    read = operator.get(address(session, "runs")).content.decode()
    assert f"Undo waits for run {live.pk} to end" in text(read)
    assert re.search(r"<button[^>]*disabled[^>]*>[^<]*<svg[^>]*g-undo", read)


def test_runs_of_all_sessions_are_those_of_the_workspace_and_paged_by_key(
    operator: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [done(session)]
    for aim in (900_000, 900_001):
        run = runs.request(session.pk, strategy="hybrid", params={"aim": aim})
        runs.execute(run.pk)
        made.append(run)
    page = operator.get("/runs").content.decode()
    assert [page.index(f"/runs/{run.pk}") for run in reversed(made)] == sorted(
        page.index(f"/runs/{run.pk}") for run in made
    )
    older = operator.get(f"/runs?before={made[1].pk}").content.decode()
    assert f"/runs/{made[0].pk}" in older
    assert f"/runs/{made[1].pk}" not in older


def test_a_run_of_another_session_is_not_found_under_this_one(
    operator: Client, session: Session, tmp_path: Path
) -> None:
    other = taken_in(session.workspace, tmp_path, entries=60, bulk=10, seed=3)
    run = runs.request(other.pk, strategy="hybrid")
    assert operator.get(address(session, "runs", run.pk)).status_code == 404


def test_an_empty_strategy_name_and_a_wrong_method_are_no_errors_of_ours(operator: Client, session: Session) -> None:
    assert operator.get(address(session, "compact") + "?strategy=&preset=nothing&pin=x&before=").status_code == 200
    assert operator.get(address(session, "compact") + "?pin=99999").status_code == 200
    assert operator.put(address(session, "compact")).status_code == 405
    assert operator.get("/runs?before=x").status_code == 200
