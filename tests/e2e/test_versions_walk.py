"""A person takes work back with a reason and sees what that did; edits a context by hand; compares four strategies. A real browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

GOAL = "Map the whole file into memory"
REASON = "mmap fails with ENODEV on the network mount"


@pytest.fixture
def session(transactional_db: None, tmp_path: Path) -> Any:
    """A session of about 300 entries, its owner signed up as `quill`, with a goal in focus."""
    from sessions import goalmarks
    from tests.compaction.stage import a_workspace, member_of, taken_in
    from webapp.models import Role

    workspace = a_workspace("scriptorium")
    member_of(workspace, "quill", Role.OPERATOR)
    made = taken_in(workspace, tmp_path, entries=300)
    goalmarks.add(made.pk, text=GOAL, focus=True)
    return made


@pytest.fixture
def signed_in(strict_page: Any, live_server: Any, session: Any, aside: Callable[..., Any]) -> Any:
    """The session's page, after a one-time link."""
    from webapp.auth import issue_link
    from webapp.models import User

    secret = aside(lambda: issue_link(User.objects.get(username="quill")))
    strict_page.goto(f"{live_server.url}/sign-in/{secret}")
    strict_page.goto(f"{live_server.url}/s/{session.pk}")
    return strict_page


def test_roll_back_with_a_reason_then_undo(signed_in: Any, session: Any, aside: Callable[..., Any]) -> None:
    from sessions.projection import context_items
    from tests.compaction.stage import context_hash, head_of

    page = signed_in
    before, head = aside(context_hash, session), aside(head_of, session)

    # The question leads to a page that lists what goes; nothing has happened yet.
    page.keyboard.press("b")
    field = page.locator("#rollback-entry")
    field.fill(f"t{session.turns - 1}")
    field.press("Enter")
    page.wait_for_url("**/rollback?*")
    page.get_by_role("heading", name=f"Back to turn {session.turns - 1}").wait_for()
    assert aside(context_hash, session) == before

    # The words of the notice follow the reason as it is typed.
    page.locator("#back-reason").fill(REASON)
    page.locator("#back-seen pre", has_text=REASON).wait_for()
    page.get_by_label("Give up goal").check()
    page.get_by_label("Tell the agent what was tried").check()
    page.get_by_role("button", name="Roll back to turn").click()

    # The goal is given up for that reason, and the notice is in the context.
    page.wait_for_url(f"**/s/{session.pk}")
    page.get_by_text(f"Undo brings {head} back").wait_for()
    page.goto(f"{page.url}/goals")
    given_up = page.locator("li, tr", has_text=GOAL).first
    assert REASON in given_up.inner_text()
    texts = aside(lambda: [item.text for item in context_items(type(session).objects.get(pk=session.pk))])
    assert sum(REASON in text for text in texts) == 1

    page.goto(f"{page.url.removesuffix('/goals')}/runs")
    page.get_by_role("button", name=f"Undo to {head}").click()
    page.get_by_text("Undone:").wait_for()
    assert aside(context_hash, session) == before


def test_a_result_is_masked_by_hand(signed_in: Any, session: Any, aside: Callable[..., Any]) -> None:
    from sessions.entries import Kind
    from sessions.models import Entry
    from tests.compaction.stage import context_hash, head_of

    page = signed_in
    before, head = aside(context_hash, session), aside(head_of, session)
    seq = aside(
        lambda: (
            Entry.objects.filter(session=session, kind=Kind.TOOL_RESULT, seq__gt=200).order_by("-tokens").first().seq
        )
    )
    page.goto(f"{page.url}/edit")
    page.locator("[name=do][value=mask]").check()
    page.locator(".hand-verb.chosen [value=mask]").wait_for()  # what a verb takes comes with it
    page.get_by_label("Entry", exact=True).fill(str(seq))
    page.locator("#hand-weighs", has_text=f"Mask entry {seq}").wait_for()
    page.get_by_label("What stands there instead").fill("Nothing that matters.")
    page.locator("#hand-apply textarea", has_text="Nothing that matters.").wait_for(state="attached")
    page.get_by_role("button", name="Make this version").click()
    page.wait_for_url(f"**/s/{session.pk}")
    page.get_by_text(f"Undo brings {head} back").wait_for()
    assert aside(context_hash, session) != before
    assert aside(head_of, session).masked.spans[-1][0] == seq


def test_four_strategies_side_by_side(signed_in: Any, session: Any) -> None:
    page = signed_in
    wanted = ["hybrid", "mask", "codex", "opencode"]
    page.goto(f"{page.url}/compare?" + "&".join(f"with={name}" for name in wanted))
    page.locator(".dry-run").nth(3).wait_for()
    assert page.locator(".dry-run").count() == 4
    first = page.locator(".dry-run.chosen input").input_value()
    page.keyboard.press("j")
    page.locator(f".dry-run.chosen input:not([value={first}])").wait_for()
    chosen = page.locator(".dry-run.chosen input").input_value()
    page.locator(f"#compare-go[href*='strategy={chosen}']").wait_for()
    after = [int(text.replace(",", "")) for text in page.locator(".dry-run td b").all_inner_texts()]
    page.get_by_role("link", name="Tokens after").click()
    sorted_now = [int(text.replace(",", "")) for text in page.locator(".dry-run td b").all_inner_texts()]
    assert sorted_now == sorted(after)
    page.keyboard.press("c")
    page.wait_for_url(f"**/compact?*strategy={chosen}*")
