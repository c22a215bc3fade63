"""Taking files in by hand in a real browser: dropped and chosen files, a folder, progress, outcomes and reasons; and without a script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.claude_lines import ClaudeLines, turns

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NAME = "11111111-2222-4333-8444-555555555555.jsonl"
OTHER = "99999999-2222-4333-8444-555555555555"

# A real DataTransfer with real files, let go over the page: what a drag from the desktop ends in.
DROP = """([files, target]) => {
    const carried = new DataTransfer();
    for (const [name, text] of files) carried.items.add(new File([text], name));
    const at = document.querySelector(target);
    at.dispatchEvent(new DragEvent("dragover", { dataTransfer: carried, bubbles: true, cancelable: true }));
    const over = document.getElementById("drop").classList.contains("over");
    at.dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
    return over;
}"""


@pytest.fixture
def signed_in(strict_page: Any, live_server: Any, aside: Callable[..., Any], transactional_db: None) -> Any:
    """The list of an empty workspace."""
    from tests.compaction.stage import a_workspace, member_of
    from webapp.auth import issue_link
    from webapp.models import Role, User

    member_of(a_workspace("scriptorium"), "quill", Role.OPERATOR)
    secret = aside(lambda: issue_link(User.objects.get(username="quill")))
    strict_page.goto(f"{live_server.url}/sign-in/{secret}")
    return strict_page


def row(page: Any, name: str) -> Any:
    return page.locator("#rows tr", has=page.get_by_text(name, exact=True))


def test_files_are_dropped_chosen_and_told_of(
    signed_in: Any, tmp_path: Path, aside: Callable[..., Any], live_server: Any
) -> None:
    from sessions.models import Intake, Session

    page = signed_in
    page.get_by_role("link", name="Take in…").first.click()
    page.wait_for_url("**/take-in")  # and until it is loaded, its script too

    # Dropped: two sessions and a text, each with its outcome and the reason.
    long = bytes(turns(6))
    files = [
        [NAME, long.decode()],
        ["other.jsonl", bytes(turns(2, ClaudeLines(OTHER))).decode()],
        ["notes.md", "hello\n"],
    ]
    assert page.evaluate(DROP, [files, "#drop"])
    row(page, NAME).locator(".tag.accent", has_text="new session").wait_for()
    row(page, "other.jsonl").locator(".tag.accent", has_text="new session").wait_for()
    row(page, "notes.md").locator(".tag", has_text="skipped").wait_for()
    assert row(page, "notes.md").locator(".reason").inner_text() == "no records of an agent known here"
    page.locator("#sum", has_text="new session 2, skipped 1").wait_for()
    assert row(page, NAME).locator("td").nth(3).inner_text() == "24"
    assert aside(lambda: Session.objects.get(native_id=NAME[:36]).source.size) == len(long)

    # Chosen: a shorter copy is refused, and what stands is told; with the box ticked it becomes a revision.
    short = tmp_path / NAME
    short.write_bytes(bytes(turns(2)))
    page.faults.clear()
    page.locator("#files").set_input_files(short)
    page.locator("#rows .tag.signal", has_text="refused").wait_for()
    assert f"{len(long):,} are stored under its name" in page.locator("#rows tr").last.locator(".reason").inner_text()
    assert all("409" in fault for fault in page.faults), page.faults
    page.faults.clear()
    page.locator("#rewrite").check()
    page.locator("#files").set_input_files(short)
    page.locator("#rows .tag", has_text="new revision").wait_for()

    # A folder: only what may hold sessions is sent, under its place in the folder.
    folder = tmp_path / "projects"
    (folder / "ledger").mkdir(parents=True)
    (folder / "ledger" / "third.jsonl").write_bytes(
        bytes(turns(1, ClaudeLines("77777777-2222-4333-8444-555555555555")))
    )
    (folder / "ledger" / "picture.png").write_bytes(b"no session")
    page.locator("#folder").set_input_files(folder)
    row(page, "projects/ledger/third.jsonl").locator(".tag", has_text="new session").wait_for()
    page.locator("#sum", has_text="1 left out").wait_for()
    assert row(page, "projects/ledger/picture.png").count() == 0

    # A row leads to its session; the log has it all, and filters.
    row(page, "projects/ledger/third.jsonl").get_by_role("link").click()
    page.locator("#entries").wait_for()
    page.goto(f"{live_server.url}/intake")
    assert page.locator(".log-of-files tbody tr").count() == aside(Intake.objects.count) == 6
    page.locator(".outcomes a", has_text="refused").click()
    page.locator(".log-of-files .tag.signal", has_text="refused").wait_for()
    assert page.locator(".log-of-files tbody tr").count() == 1
    assert page.locator(".outcomes [aria-current]").inner_text() == "refused 1"


def test_a_lost_connection_says_so_and_can_be_tried_again(signed_in: Any, live_server: Any) -> None:
    page = signed_in
    page.goto(f"{live_server.url}/take-in")
    page.context.route("**/api/sources*", lambda route: route.abort())
    page.evaluate(DROP, [[[NAME, bytes(turns(2)).decode()]], "body"])
    page.locator("#rows .reason", has_text="The connection was lost").wait_for()
    page.context.unroute("**/api/sources*")
    page.get_by_role("button", name="Try again").click()
    row(page, NAME).locator(".tag", has_text="new session").wait_for()
    assert page.locator("#rows .reason").count() == 0
    page.locator("#sum", has_text="new session 1").wait_for()
    page.faults.clear()  # the browser itself reports the request that was cut


def test_the_form_works_without_a_script(
    signed_in: Any, live_server: Any, chromium: Any, tmp_path: Path, aside: Callable[..., Any]
) -> None:
    from sessions.models import Session

    context = chromium.new_context(java_script_enabled=False, storage_state=signed_in.context.storage_state())
    page = context.new_page()
    page.goto(f"{live_server.url}/take-in")
    path = tmp_path / NAME
    path.write_bytes(bytes(turns(3)))
    notes = tmp_path / "notes.md"
    notes.write_text("hello\n")
    page.locator("#files").set_input_files([path, notes])
    assert not page.locator("#choose-folder").is_visible()
    page.get_by_role("button", name="Take in").click()
    page.locator("#rows .tag", has_text="new session").wait_for()
    assert "no records of an agent known here" in page.locator("#rows").inner_text()
    assert aside(lambda: Session.objects.get().entries_count) == 12
    context.close()
