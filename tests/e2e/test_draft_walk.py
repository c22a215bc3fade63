"""With a model: the draft is written by a worker, read, a lost item pinned, the words changed, applied, and the model was asked once."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PATIENCE
from tests.loopback import Hang, Server, serving
from tests.summarisers.texts import nine

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MODEL = "compatible:scribe"
TIGHT = "set.free=1000000&set.aim=9000&set.keep=3000&set.summary=700&set.files=1"


@pytest.fixture
def model(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A model on loopback, known to the pages and to the worker that starts after it."""
    with serving() as server:
        settings.LLM_MODELS, settings.LLM_FALLBACK = [MODEL], None
        settings.LLM_KEYS, settings.LLM_URLS = {"compatible": None}, {"compatible": f"{server.url}/v1"}
        monkeypatch.setenv("PALIMPSEST_LLM_MODELS", MODEL)
        monkeypatch.setenv("PALIMPSEST_COMPATIBLE_URL", f"{server.url}/v1")
        yield server


@pytest.fixture
def session(transactional_db: None, tmp_path: Path) -> Any:
    """A session of about 300 entries, its owner signed up as `quill`."""
    from tests.compaction.stage import a_workspace, member_of, taken_in
    from webapp.models import Role

    workspace = a_workspace("scriptorium")
    member_of(workspace, "quill", Role.OPERATOR)
    return taken_in(workspace, tmp_path, entries=300)


@pytest.fixture
def compact(strict_page: Any, live_server: Any, session: Any, model: Server, aside: Callable[..., Any]) -> Any:
    """The compact page with the model chosen, after a one-time link."""
    from webapp.auth import issue_link
    from webapp.models import User

    secret = aside(lambda: issue_link(User.objects.get(username="quill")))
    strict_page.goto(f"{live_server.url}/sign-in/{secret}")
    strict_page.goto(f"{live_server.url}/s/{session.pk}/compact?{TIGHT}&summariser=llm:{MODEL}")
    return strict_page


def test_a_draft_is_written_read_changed_and_applied(
    compact: Any, session: Any, model: Server, aside: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    from compaction.models import Run
    from sessions.store import edits_of
    from tests.compaction.stage import context_hash, head_of

    page = compact
    model.says(nine("Bytes are read in pieces of 64 KiB."))
    before, head = aside(context_hash, session), aside(head_of, session)

    # Asked for: the page says how far it is, and Apply waits.
    page.get_by_role("button", name="Write the draft").click()
    page.locator("#drafting", has_text="waiting for a worker").wait_for()
    assert page.get_by_role("button", name="Apply", exact=True).is_disabled()
    request.getfixturevalue("live_worker")

    # It comes by itself: in the editor, with what it cost, and the report of what this text keeps.
    page.locator("#part-summary", has_text=f"written by {MODEL}").wait_for(timeout=4 * PATIENCE)
    assert "Bytes are read in pieces of 64 KiB." in page.locator("#section-1").input_value()
    cost = page.locator("#part-cost").inner_text()
    assert f"Written by {MODEL}, 1 call" in cost
    assert "90,100 in, 77 out" in cost
    assert page.locator(".retention tbody tr").count() > 3
    run = aside(Run.objects.get)
    assert (run.state, aside(head_of, session), aside(context_hash, session)) == (Run.State.HELD, head, before)

    # A loss is pinned and a section changed; the draft stays the model's otherwise.
    loss = page.locator("[data-loss]").first
    seq = int(loss.locator("[data-pin]").get_attribute("value"))
    loss.focus()
    page.keyboard.press("P")
    page.locator(".pins", has_text=f"entry {seq}").wait_for()
    page.locator("#part-summary", has_text=f"written by {MODEL}").wait_for()
    page.locator("#section-1").fill("- Stream it, and say what went wrong")
    page.locator("#section-1").press("Control+Enter")

    page.wait_for_url(re.compile(r"/runs/\d+$"))
    page.locator("#run .state", has_text="completed").wait_for()
    run = aside(Run.objects.get)
    assert (run.state, seq in run.pins) == (Run.State.COMPLETED, True), run.reason
    text = aside(
        lambda: [one.text for one in edits_of(Run.objects.get().version) if getattr(one, "kind", "") == "summary"]
    )
    assert "Stream it, and say what went wrong" in text[0]
    assert "Bytes are read in pieces of 64 KiB. (Current Work)" in text[0]
    assert "exit code" in text[0], "the list of files and commands is gone"
    assert len(model.asked) == 1, json.dumps([one.path for one in model.asked])
    page.get_by_role("button", name="Undo", exact=True).first.click()
    page.get_by_text("Undone").first.wait_for()
    assert aside(context_hash, session) == before


def test_a_bad_answer_is_said_where_one_stands_and_a_draft_can_be_given_up(
    compact: Any, session: Any, model: Server, live_worker: Any, aside: Callable[..., Any]
) -> None:
    from compaction.models import Run
    from tests.compaction.stage import context_hash

    page = compact
    before = aside(context_hash, session)
    model.says("I would rather not.", "I would rather not.", Hang())
    page.get_by_role("button", name="Write the draft").click()
    page.locator(".refusal", has_text="There is no draft: failed bad template").wait_for()
    page.locator(".refusal", has_text="Primary Request and Intent").wait_for()
    assert page.locator("#section-1").is_visible()

    page.get_by_role("button", name="Write the draft").click()
    page.locator("#drafting .log", has_text=f"asking {MODEL}").wait_for()
    page.get_by_role("button", name="Give it up").click()
    page.get_by_role("button", name="Apply", exact=True).and_(page.locator(":enabled")).wait_for()
    states = aside(lambda: list(Run.objects.order_by("pk").values_list("state", flat=True)))
    assert states[0] == "refused"
    assert aside(context_hash, session) == before
