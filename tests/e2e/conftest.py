"""What walks in a browser share: signing in, and a page that accepts no error, no dialog and no request to another host."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

# Playwright's synchronous API keeps an event loop running in the thread of the tests, from the first browser test to the last test of the
# process. Django takes that for asynchronous code and would refuse every query of that thread, the fixtures' own among them.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

PATIENCE = 60_000  # milliseconds the browser waits for what must come; only a fault waits that long


@pytest.fixture
def aside() -> Iterator[Callable[..., Any]]:
    """Run a function in another thread, on a connection of its own: it sees what the pages have committed."""
    from django.db import connection

    def work(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        yield lambda function, *args, **kwargs: pool.submit(work, function, *args, **kwargs).result()


@pytest.fixture
def strict_page(page: Any, live_server: Any) -> Iterator[Any]:
    """Open a page on the live server. At the end it fails for console errors, dialogs, failed answers and requests to other hosts."""
    faults: list[str] = []
    host = urlsplit(live_server.url).netloc

    def request(route: Any) -> None:
        if urlsplit(route.request.url).netloc == host:
            route.continue_()
        else:
            faults.append(f"a request to another host: {route.request.url}")
            route.abort()

    page.context.route("**/*", request)
    page.on(
        "console", lambda said: faults.append(f"console: {said.text}") if said.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on(
        "response", lambda answer: faults.append(f"{answer.status}: {answer.url}") if answer.status >= 400 else None
    )
    page.set_default_timeout(PATIENCE)
    page.faults = faults
    yield page
    assert faults == []
