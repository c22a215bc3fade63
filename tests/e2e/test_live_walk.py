"""A session grows while somebody reads it: a real watcher, a real server with event streams, a real file that is written on."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.claude_lines import ClaudeLines
from tests.processes import CHECKOUT, MANAGE, read_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TOP = "() => document.querySelector('#e40').getBoundingClientRect().top"


def ended(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@pytest.fixture
def served(worker_environment: dict[str, str]) -> Iterator[str]:
    """Serve the test's database as `up` does, by granian; give the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "granian", "--interface", "asginl", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers-kill-timeout", "2", "webapp.asgi:application"]
    server = subprocess.Popen(
        command, cwd=CHECKOUT, env=worker_environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        read_until(server, "Listening at")
        yield f"http://127.0.0.1:{port}"
    finally:
        ended(server)


@pytest.fixture
def watched(worker_environment: dict[str, str], tmp_path: Path) -> Iterator[Path]:
    """A folder that `watch` watches on the test's database."""
    folder = tmp_path / "agent"
    folder.mkdir()
    command = [*MANAGE, "watch", str(folder)]
    watcher = subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env={**worker_environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        read_until(watcher, "Watching")
        yield folder
    finally:
        ended(watcher)


class Written:
    """A session file as an agent writes it: lines are appended, and on disk at once."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.lines = ClaudeLines(name)
        self.sent = 0

    def write(self) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in self.lines.lines[self.sent :]))
            file.flush()
            os.fsync(file.fileno())
        self.sent = len(self.lines.lines)

    def goes_on(self, entries: int, words: str) -> None:
        for n in range(entries):
            self.lines.says(f"{words} {n}. " + "The importer reads in chunks. " * 12, usage={"input_tokens": 900 + n})
        self.write()


def test_a_session_grows_on_the_open_page_and_nothing_moves_under_the_reader(
    served: str, watched: Path, strict_page: Any, aside: Any
) -> None:
    from django.conf import settings
    from django.test import Client

    from webapp.workspaces import local_workspace

    def cookie() -> str:
        client = Client()
        client.force_login(local_workspace()[0])
        return client.cookies[settings.SESSION_COOKIE_NAME].value

    page = strict_page
    page.context.unroute("**/*")
    page.set_default_timeout(30_000)
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": aside(cookie), "url": served}])

    session = Written(watched / "11111111-2222-4333-8444-555555555555.jsonl", "11111111-2222-4333-8444-555555555555")
    session.lines.prompt("Make the importer stream.")
    session.goes_on(59, "First")

    # The list learns of it by itself.
    page.goto(f"{served}/")
    page.locator("tr[data-row], #fresh:not([hidden]) a").first.wait_for()
    if not page.locator("tr[data-row]").count():
        page.locator("#fresh a").click()
    address = page.locator("tr[data-row] .title a", has_text="Make the importer stream").get_attribute("href")
    page.goto(f"{served}{address}?at=e40")
    page.locator("#e40[aria-current]").wait_for()
    # To the end, which comes as one scrolls there.
    page.mouse.move(600, 700)
    page.mouse.wheel(0, 6_000)
    page.locator("#e59").wait_for(state="attached")
    page.wait_for_function("() => document.documentElement.dataset.following === ''")
    page.locator("#chart svg.tokens").wait_for(state="attached")

    # In the middle of reading, with words half typed: twelve more entries.
    page.locator(".goal-add summary").click()
    page.locator("#goal-words").fill("Half a thought")
    page.locator("#e40").evaluate("one => { one.scrollIntoView({ block: 'center' }); window.stays = true; }")
    for _ in range(3):  # what loads because of the scrolling
        page.evaluate("() => new Promise(done => requestAnimationFrame(done))")
    was = page.evaluate(TOP)
    session.goes_on(12, "Second")
    page.locator("#live a", has_text="12 new").wait_for()
    page.locator("#e60").wait_for(state="attached")
    page.wait_for_function("() => document.querySelector('#chart-counts').textContent.includes('71')")
    page.wait_for_function("() => document.querySelector('#chart [data-plot]').getAttribute('aria-valuemax') === '71'")
    assert abs(page.evaluate(TOP) - was) < 1
    assert page.locator("#goal-words").input_value() == "Half a thought"
    assert page.evaluate("window.stays")  # one and the same page

    # The pill leads to the first of them, and then has nothing to say.
    page.locator("#live a").click()
    page.locator("#e60[aria-current]").wait_for()
    page.locator("#live a").wait_for(state="detached")

    # Who follows stays at the end; who goes up is left alone.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("F")
    page.locator("[data-follow][aria-pressed='true']").wait_for()
    session.goes_on(8, "Third")
    page.wait_for_function(
        "() => { const one = document.querySelector('#e79'); return one && one.getBoundingClientRect().bottom <= innerHeight; }"
    )
    assert page.locator("#live a").count() == 0
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -900)
    page.locator("[data-follow][aria-pressed='false']").wait_for()

    # A head that a person moves elsewhere is told too.
    def roll_back() -> None:
        from sessions.models import Session
        from sessions.versions import roll_back

        roll_back(Session.objects.get().pk, to_entry=40)

    aside(roll_back)
    page.locator("#live a[data-moved]").wait_for()
    page.locator("#live a[data-moved]").click()
    page.wait_for_url(lambda url: "at=" not in url)
    page.wait_for_function("() => document.documentElement.dataset.following === ''")
    page.goto("about:blank")  # the stream ends with its page, not with the server
