"""The API's description in a browser, under our own policy for scripts and styles."""

from typing import Any

import pytest


@pytest.mark.browser
def test_the_description_of_the_api_works_under_our_policy(live_server: Any, page: Any) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))

    page.goto(f"{live_server.url}/api/docs")
    page.locator(".opblock").first.wait_for()

    assert page.locator(".opblock-summary-path", has_text="/api/runs").count() > 0
    assert complaints == []
