"""A searcher's way by keys alone: ask, narrow, go from hit to hit, open one. And an exported file that does nothing, whatever it holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.test_export import HOSTILE

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


def written(workspace: Any) -> Any:
    from sessions.search.index import index_waiting
    from tests.factories import a_session, call, message, prompt, result

    session = a_session(
        workspace,
        [
            prompt("Could we mmap the file?"),
            call("c", "Bash", command="strace -e mmap cargo run"),
            result("c", f"mmap failed: ENODEV {HOSTILE}", failed=True),
            message(f"mmap returns ENODEV. {HOSTILE}"),
            message("内存映射在网络挂载上失败。"),
        ],
        title=f"Port {HOSTILE}",
    )
    index_waiting()
    return session


def test_search_by_keys(workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any]) -> None:
    session = aside(written, workspace)
    page = signed_in
    page.keyboard.press("/")
    page.keyboard.type("mmap")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?*q=mmap*")
    assert page.locator("#found mark").first.text_content() == "mmap"
    assert page.locator("#search-sum").text_content().startswith("4 hits in 1 session")

    # Typing goes on asking, and the address follows.
    page.keyboard.press("/")
    page.keyboard.type("mmap enodev")
    page.wait_for_url("**/search?q=mmap%20enodev*")
    page.locator("#search-sum", has_text="2 hits").wait_for()

    # A facet by the space bar keeps its focus, and what it leaves.
    page.locator("#found input[name=role][value=outputs]").focus()
    page.keyboard.press("Space")
    page.locator("#search-sum", has_text="1 hit").wait_for()
    assert page.evaluate("document.activeElement.value") == "outputs"
    page.keyboard.press("Space")
    page.locator("#search-sum", has_text="2 hits").wait_for()

    # Chinese has an answer too, and back leads to the one before.
    page.goto(f"{live_server.url}/search?q=内存映射")
    assert page.locator("#found mark").text_content() == "内存映射"
    page.go_back()
    page.locator("#search-sum", has_text="2 hits").wait_for()

    # From hit to hit, and from session to session. A page that is left while its fragments are on their way says so
    # on the console, which is no fault.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "2"
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "3"
    page.keyboard.press("k")
    page.keyboard.press("p")
    assert page.evaluate("document.activeElement.hasAttribute('data-session')")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/s/{session.pk}?at=e3*")
    page.locator("#e3").wait_for()
    left = ("console: htmx:afterRequest", "console: htmx:sendAbort")
    page.faults[:] = [fault for fault in page.faults if not fault.startswith(left)]


def test_an_exported_page_does_nothing(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any], tmp_path: Path
) -> None:
    session = aside(written, workspace)
    page = signed_in
    page.goto(f"{live_server.url}/s/{session.pk}/export")
    page.locator("input[name=format][value=html]").check()
    with page.expect_download() as coming:
        page.locator("#export button.primary").click()
    file = tmp_path / "session.html"
    coming.value.save_as(file)
    # In a page of its own, served by nobody: whatever it asked for would be a request to elsewhere.
    alone = page.context.new_page()
    page.context.unroute("**/*")
    asked: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(file.as_uri())
    assert alone.locator("article").count() == 5
    assert alone.evaluate("document.scripts.length") == 0
    assert [url for url in asked if not url.startswith("file:")] == []
