"""A lead's way through the audit: filter, open a row, follow the evidence into the session, follow up with a comment, take the rows along."""

import csv
import io
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


def goals(workspace: Any, folder: Path) -> list[int]:
    from tests.sessions.test_abandoned import given_up
    from tests.sessions.test_audit import given_up_session

    named = (("Map the ledger file", True), ("Rotate the keys", False), ("Cache the answers", False))
    sessions = [
        given_up_session(workspace, folder, text, n, compacted=folded) for n, (text, folded) in enumerate(named, 1)
    ]
    return [given_up(session, "1").pk for session in sessions]


def test_from_a_filter_to_the_evidence_a_follow_up_and_a_file(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any], tmp_path: Path
) -> None:
    first, *others = aside(goals, workspace, tmp_path)
    page = signed_in
    page.goto(f"{live_server.url}/abandoned")
    assert page.locator("tbody.goal-row").count() == 3

    # Words narrow the rows and the figures; the address holds them, and what is exported follows.
    page.locator("#audit-q").fill("ledger")
    page.locator("tbody.goal-row").nth(1).wait_for(state="detached")
    page.wait_for_url("**/abandoned?**q=ledger**")
    assert "1 match" in page.locator("#audit-sum").inner_text()
    page.locator("#f-cause-1").check()
    page.wait_for_url("**cause=**")
    assert page.locator(".facet-value.set").count() >= 1

    # The row opens in place by keys.
    page.locator("h1").click()
    page.keyboard.press("j")
    page.keyboard.press("o")
    opened = page.locator(f"#r{first} .laid-open")
    opened.wait_for()
    assert "First I will map the whole file with mmap." in opened.inner_text()
    assert opened.locator(".audit-ghost .tag", has_text="not sent to the model").count() == 1
    assert "ENODEV" in opened.locator(".audit-errors").inner_text()

    # The evidence leads into the session, to the very entry.
    link = opened.locator("[data-evidence]").first
    seq = link.get_attribute("href").rpartition("at=e")[2]
    with page.context.expect_page() as opening:
        link.click(modifiers=["Control"])  # in a tab of its own, as one follows several
    told = opening.value
    told.locator(f"#entries :is([data-seq='{seq}'], [data-results~='{seq}'])").first.wait_for()
    told.close()

    # Follow up with a comment: the row stays open, says so, and keeps what was said.
    page.locator(f"#c{first}").fill("Write the mount's limit into the project's memory file.")
    page.locator(f"#r{first} select[name='assignee']").select_option("quill")
    page.locator(f"#r{first} button[value='follow_up']").click()
    page.locator(f"#r{first} .state.follow_up").wait_for()
    assert "Write the mount's limit" in page.locator(f"#r{first} .review-history").inner_text()
    assert "quill" in page.locator(f"#r{first} .state").inner_text()

    # The file holds what is chosen now.
    with page.expect_download() as waiting:
        page.locator("a[data-audit-export]", has_text="CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text("utf-8-sig"))))
    assert [(int(row["id"]), row["review"], row["assignee"]) for row in rows] == [(first, "follow_up", "quill")]
    assert rows[0]["comment"].startswith("Write the mount's limit")

    # A closed row is accepted by one key; several by their boxes.
    page.goto(f"{live_server.url}/abandoned?sort=recent")
    page.locator(f"#r{others[0]} .opener").focus()
    page.keyboard.press("a")
    page.locator(f"#r{others[0]} .state.accepted").wait_for()
    page.locator(f"#r{others[1]} input[name='n']").check()
    page.locator(f"#r{first} input[name='n']").check()
    page.locator(".bulk-bar button[value='not_abandoned']").click()
    page.locator(".messages").wait_for()
    assert page.locator("tbody.goal-row").count() == 0


def test_what_is_typed_into_the_tree_outlives_its_refresh(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any], tmp_path: Path
) -> None:
    from sessions import goalmarks
    from sessions.models import Session

    aside(goals, workspace, tmp_path)
    session = aside(lambda: Session.objects.order_by("pk").first())
    page = signed_in
    page.goto(f"{live_server.url}/s/{session.pk}")
    page.locator("#goal-add summary").click()
    page.locator("#goal-words").fill("Half a goal")
    aside(goalmarks.add, session.pk, text="Came meanwhile")
    looked = (
        "document.body.dispatchEvent(new CustomEvent('looked'))"  # as a live session's page does when something came
    )
    with page.expect_response("**/goals/since?*"):
        page.evaluate(looked)
    page.keyboard.type(" more")
    assert page.locator("#goal-words").input_value() == "Half a goal more", "the caret stayed too"

    # What came is shown as soon as nobody is typing.
    page.locator("#goal-words").fill("")
    page.locator("#goal-words").blur()
    page.locator("#goal-add summary").click()
    page.evaluate(looked)
    page.locator("#outline .goal", has_text="Came meanwhile").wait_for()
