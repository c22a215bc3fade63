"""A reader's way through what a context is made of: usage in the inspector, a big entry, a step, the difference of two by keys."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def workspace(transactional_db: None) -> Any:
    from tests.compaction.stage import a_workspace, member_of
    from webapp.models import Role

    made = a_workspace("scriptorium")
    member_of(made, "quill", Role.OPERATOR)
    return made


@pytest.fixture
def signed_in(strict_page: Any, live_server: Any, workspace: Any, aside: Callable[..., Any]) -> Any:
    from webapp.auth import issue_link
    from webapp.models import User

    secret = aside(lambda: issue_link(User.objects.get(username="quill")))
    strict_page.goto(f"{live_server.url}/sign-in/{secret}")
    return strict_page


def masks(session: Any) -> Any:
    """A version that masks a hundred entries one by one: more differences than one window holds."""
    from sessions.contexts import Replace
    from sessions.entries import Part, PartKind
    from sessions.models import Version
    from sessions.versions import make

    sent = list(session.entries.filter(sent=True, kind="tool_result").values_list("seq", "call_ids")[:100])
    return make(
        session,
        parent=session.versions.get(n=0),
        edits=[Replace(seq, (Part(PartKind.TOOL_RESULT, "[cleared]", call_id=call),)) for seq, (call, *_more) in sent],
        origin=Version.Origin.RUN,
        kind="run",
        label="Masks",
        at_seq=session.entries_count - 1,
    )


def test_usage_a_step_and_a_difference_by_keys(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any], tmp_path: Path
) -> None:
    from tests.compaction.stage import taken_in

    session = aside(taken_in, workspace, tmp_path, entries=500)
    version = aside(masks, session)
    page = signed_in
    page.goto(f"{live_server.url}/s/{session.pk}")

    # Usage: the bar by kind, and the biggest entry leads to its line in the transcript, back in the inspector.
    page.locator("#usage-tab").click()
    page.locator("#usage .fills-bar").wait_for()
    assert page.locator("#inspector").is_hidden()
    biggest = page.locator("#usage .big a.no").first
    seq = biggest.text_content().strip()
    biggest.click()
    # A result stands on the line of its call.
    chosen = page.locator(f"#entries .entry[aria-current]:is([data-seq='{seq}'], [data-results~='{seq}'])")
    chosen.wait_for()
    page.locator(f"#inspector [data-inspected='{chosen.get_attribute('data-seq')}']").wait_for()
    assert page.locator("#usage").is_hidden()
    assert page.locator("#usage-tab").get_attribute("aria-current") is None

    # From an entry to the context of its step, and on by a key.
    page.locator("#entries .entry[data-step] .no").last.click()
    seen = page.locator("#inspector a", has_text="What did it see at step")
    seen.wait_for()
    step = int(re.search(r"step=(\d+)", seen.get_attribute("href")).group(1))
    seen.click()
    page.wait_for_url(f"**/context?step={step}")
    page.locator("#model .item").first.wait_for()
    page.keyboard.press("]")
    page.wait_for_url(f"**/context?step={step + 1}")
    page.keyboard.press("[")
    page.wait_for_url(f"**/context?step={step}")

    # The difference, by keys beyond the first window.
    page.goto(f"{live_server.url}/s/{session.pk}/diff?left=v0&right=v{version.n}")
    assert page.locator("#diff-rows").get_attribute("data-total") == "100"
    for n in range(1, 61):
        page.keyboard.press("]")
        page.locator("#diff-place", has_text=f"difference {n} of 100").wait_for()
    assert page.evaluate("document.activeElement.id") == "d60"
    page.keyboard.press("[")
    page.locator("#diff-place", has_text="difference 59 of 100").wait_for()
    assert page.url.endswith("#d59")

    # What is the same opens in place and closes again.
    same = page.locator(".same:has([data-open])").first
    same.locator("[data-open]").click()
    same.locator(".within .big").first.wait_for()
    same.locator("[data-open]").click()
    assert same.locator(".within .big").count() == 0

    # A deep link stands at its difference.
    page.goto(f"{live_server.url}/s/{session.pk}/diff?left=v0&right=v{version.n}#d7")
    page.reload()
    assert page.evaluate("document.activeElement.id") == "d7"
