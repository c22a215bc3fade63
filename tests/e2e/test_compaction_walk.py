"""A person's whole way: list, session, a ghost, Compact, Apply, the run, the new ghost, Undo, Redo. Real server, database, worker, browser."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.make_session import PROMPTS, TITLE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def session(transactional_db: None, tmp_path: Path) -> Any:
    """A session of about 300 entries with one native compaction, its owner signed up as `quill`."""
    from tests.compaction.stage import a_workspace, member_of, taken_in
    from webapp.models import Role

    workspace = a_workspace("scriptorium")
    member_of(workspace, "quill", Role.OPERATOR)
    return taken_in(workspace, tmp_path, entries=300)


@pytest.fixture
def signed_in(strict_page: Any, live_server: Any, session: Any, aside: Callable[..., Any]) -> Any:
    """The list of sessions, after a one-time link."""
    from webapp.auth import issue_link
    from webapp.models import User

    secret = aside(lambda: issue_link(User.objects.get(username="quill")))
    strict_page.goto(f"{live_server.url}/sign-in/{secret}")
    return strict_page


def fold_instead_of_masking(page: Any) -> None:
    """Ask for a fold: masks alone would do for this session. The preview follows by itself."""
    page.get_by_label("Mask if it frees at least").fill("1,000,000")
    page.locator("#part-changes", has_text="entries folded, readable as ghosts").wait_for()


def test_from_the_list_to_a_compaction_undone_and_redone(
    signed_in: Any, session: Any, aside: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    from compaction import runs
    from compaction.models import Run
    from sessions.models import Session
    from tests.compaction.stage import context_hash, head_of

    page = signed_in
    head = aside(head_of, session)
    before = aside(context_hash, session)

    # The list, the session, and what the agent's own compaction scraped away, readable again.
    page.get_by_role("link", name=TITLE).first.click()
    page.wait_for_url(f"**/s/{session.pk}*")
    ghost = page.locator(".band", has_text="Folded by compaction 1")
    assert "not sent to the model" not in ghost.inner_text()
    ghost.get_by_role("link", name="Read").click()
    ghost = page.locator(".band.open", has_text="Folded by compaction 1")
    ghost.get_by_text("not sent to the model").wait_for()
    ghost.get_by_text(PROMPTS[0]).first.wait_for()

    # The preview follows what is chosen, and is the plan that a run would carry out.
    page.get_by_role("link", name="Compact…").click()
    page.wait_for_url("**/compact")
    fold_instead_of_masking(page)
    shown = aside(lambda: runs.preview_run(session, strategy="hybrid", params={"free": 1_000_000}).preview)
    bar = page.locator("#apply")
    assert f"{shown.tokens_before:,} → {shown.tokens_after:,} tokens" in bar.inner_text()
    assert page.locator("#apply [name=plan_digest]").input_value() == shown.digest
    assert page.locator(".retention tbody tr").count() == len(shown.retention.kinds) + 1
    assert page.locator("#section-1").input_value().startswith("- ")
    assert aside(Run.objects.count) == 0
    assert aside(context_hash, session) == before

    # Applied: the run waits for a worker, and its page follows it to the end without being asked.
    bar.get_by_role("button", name="Apply").click()
    page.wait_for_url(re.compile(r"/runs/\d+$"))
    page.locator("#run", has_text="waiting for a worker").wait_for()
    assert page.get_by_role("button", name="Undo").first.is_disabled()
    assert aside(context_hash, session) == before
    request.getfixturevalue("live_worker")
    page.locator("#run .state", has_text="completed").wait_for()
    assert page.locator("#progress").count() == 0
    assert page.locator("#run-title").evaluate("title => title === document.activeElement")
    assert f"{shown.tokens_before:,} → {shown.tokens_after:,} tokens." in page.locator("#announce").inner_text()
    new_head = aside(head_of, session)
    assert (new_head.parent_id, new_head.n) == (head.pk, head.n + 1)
    assert page.locator(".version-line .current", has_text=f"v{new_head.n}").count() == 1
    run = aside(Run.objects.get)
    assert (run.state, run.version_id, run.plan_digest) == (Run.State.COMPLETED, new_head.pk, shown.digest)
    assert (run.tokens_before, run.tokens_after) == (shown.tokens_before, shown.tokens_after)
    after = aside(context_hash, session)
    assert after != before

    # The new ghost stands on the session's page and can be read.
    page.get_by_role("link", name="Open the session").click()
    page.wait_for_url(f"**/s/{session.pk}*")
    ours = page.locator(".band", has_text="Folded by compaction 2").first
    ours.get_by_role("link", name="Read").click()
    page.locator(".band.open", has_text="Folded by compaction 2").get_by_text(PROMPTS[4]).first.wait_for()

    # Undo: the context is what it was, hash for hash, and the ghost is gone. Redo brings both back.
    move_head(page, "Undo", f"Undo to v{head.n}")
    page.get_by_text(f"Undone: the head is v{head.n} again").wait_for()
    assert page.locator(".band", has_text="Folded by compaction 2").count() == 0
    assert page.locator(".band", has_text="Folded by compaction 1").count() == 1
    assert aside(head_of, session) == head
    assert aside(context_hash, session) == before

    move_head(page, "Redo", f"Redo to v{new_head.n}")
    page.get_by_text(f"Redone: the head is v{new_head.n}").wait_for()
    page.locator(".band", has_text="Folded by compaction 2").first.wait_for()
    assert aside(head_of, session) == new_head
    assert aside(context_hash, session) == after
    assert aside(
        lambda: list(Session.objects.get(pk=session.pk).events.order_by("pk").values_list("what", flat=True))
    ) == [
        "compacted",
        "undone",
        "redone",
    ]


def move_head(page: Any, verb: str, question: str) -> None:
    """Press a button at the head of the session's page and say yes to the question that names where it leads."""
    page.locator("header, .session-head").get_by_role("button", name=verb, exact=True).first.click()
    page.get_by_role("dialog").get_by_role("button", name=question).click()


def test_keys_pin_apply_and_cancel_and_edited_words_are_not_lost(
    signed_in: Any, session: Any, live_server: Any, aside: Callable[..., Any]
) -> None:
    from compaction.models import Run

    page = signed_in
    page.goto(
        f"{live_server.url}/s/{session.pk}/compact?set.free=1000000&set.aim=9000&set.keep=3000&set.summary=700&set.files=1"
    )

    # P pins the loss that has the focus, previews again, and the focus stays among the losses.
    loss = page.locator("[data-loss]").first
    seq = loss.locator("[data-pin]").get_attribute("value")
    digest = page.locator("#apply [name=plan_digest]").input_value()
    loss.focus()
    page.keyboard.press("P")
    page.locator(".pins", has_text=f"entry {seq}").wait_for()
    assert page.locator("#apply [name=plan_digest]").input_value() != digest
    assert f"pin={seq}" in page.url
    assert page.evaluate("Boolean(document.activeElement.closest('[data-loss], #part-retention'))")

    # Words of one's own stay when a figure changes.
    page.locator("#section-1").fill("- Stream it, and say what went wrong")
    page.locator("#set-aim").focus()
    page.locator("#part-summary", has_text="edited by you").wait_for()
    page.locator("#part-summary summary", has_text="Errors and Fixes").click()
    page.locator("#section-4").fill("- mmap fails on the network mount")
    page.locator("#set-aim").fill("10,000")
    page.locator("#strategy-part", has=page.locator("#set-aim[value='10,000']")).wait_for()
    assert page.locator("#section-1").input_value() == "- Stream it, and say what went wrong"
    assert page.locator("#section-4").input_value() == "- mmap fails on the network mount"
    assert page.locator("#section-4").is_visible()

    # Esc cancels: back to the session, nothing asked for.
    page.locator("#part-summary h2").click()
    page.keyboard.press("Escape")
    page.wait_for_url(f"{live_server.url}/s/{session.pk}")
    assert aside(Run.objects.count) == 0

    # Ctrl Enter applies, also while typing.
    page.goto(f"{live_server.url}/s/{session.pk}/compact?set.free=1000000")
    page.locator("#section-9").evaluate("field => { field.closest('details').open = true; }")
    page.locator("#section-9").focus()
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"/runs/\d+$"))
    assert aside(Run.objects.get).state == Run.State.QUEUED


def test_without_script_the_same_way_is_open(
    chromium: Any, live_server: Any, session: Any, aside: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    from compaction.models import Run
    from tests.compaction.stage import head_of
    from webapp.auth import issue_link
    from webapp.models import User

    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    try:
        secret = aside(lambda: issue_link(User.objects.get(username="quill")))
        page.goto(f"{live_server.url}/sign-in/{secret}")
        page.goto(f"{live_server.url}/s/{session.pk}/compact")
        page.get_by_label("Mask if it frees at least").fill("1000000")
        page.get_by_role("button", name="Preview", exact=True).click()
        page.locator("#part-changes", has_text="entries folded").wait_for()
        page.locator("#section-1").fill("- Stream it")
        page.get_by_role("button", name="Preview with these words").click()
        page.locator("#part-summary", has_text="edited by you").wait_for()
        page.get_by_role("button", name="Apply", exact=True).click()
        page.wait_for_url(re.compile(r"/runs/\d+$"))
        assert "- Stream it\n" in (aside(Run.objects.get).edited_summary or "")
        request.getfixturevalue("live_worker")
        page.locator("#run .state", has_text="completed").wait_for(timeout=60_000)
        page.get_by_role("button", name="Undo", exact=True).click()
        page.get_by_text("Undone: the head is v1 again").wait_for()
        assert aside(head_of, session).n == 1
    finally:
        context.close()
