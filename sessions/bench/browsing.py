"""How long a person waits for a session's page in a browser: a server of its own, and Chromium that opens the page anew each time."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import urlopen

from django.conf import settings
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from sessions.bench import corpus
from sessions.bench.places import a_place, analyse
from sessions.ingest import take_file
from sessions.models import Session

HOST = "127.0.0.1"
PATIENCE = 30.0  # seconds that the server may take to come up
SETTLED = "() => document.querySelector('#map svg') && document.querySelector('#chart svg.tokens')"

# The first entry is there and has been painted: told by the browser itself, before any script of the page is asked.
WATCH = """
const seen = new MutationObserver(function () {
  if (!document.querySelector("#entries .entry")) return;
  seen.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.transcriptAt = performance.now(); }));
});
seen.observe(document, { childList: true, subtree: true });
"""
TIMES = """() => ({
  answer: performance.getEntriesByType("navigation")[0].responseStart,
  paint: (performance.getEntriesByName("first-contentful-paint")[0] || {}).startTime ?? null,
  transcript: window.transcriptAt ?? null,
  bytes: performance.getEntries().reduce((sum, one) => sum + (one.transferSize || 0), 0),
  elements: document.querySelectorAll("*").length,
})"""
# What the page's own main thread worked for, however busy the machine is.
WORK = {"ScriptDuration": "script", "LayoutDuration": "layout", "RecalcStyleDuration": "style", "TaskDuration": "all"}
TURNS = 60  # of the wheel, down and as many up


def bench(*, entries: int, runs: int) -> dict[str, Any]:
    """Medians in seconds since the navigation began, of a session of so many `entries`: with an empty cache, with a full one, and of a link
    into a ghost. `bytes` and `elements` once all has come; `work`: CPU seconds of the page's main thread till then. `scrolled`: the most
    elements while one wheels far down and back. Needs Playwright and Chromium (PALIMPSEST_CHROMIUM, or the one on the PATH).
    """
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- only this measure needs a browser
    except ImportError as error:
        raise CommandError("This measure needs Playwright (the group “browser”).") from error
    path = os.environ.get("PALIMPSEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise CommandError("There is no Chromium on this machine; PALIMPSEST_CHROMIUM names one.")
    with a_place() as place:
        taken = take_file(place.workspace, corpus.write(place.folder, entries))
        analyse()
        assert taken.session is not None, taken
        session = Session.objects.get(pk=taken.session)
        head = session.current
        ghost = next(iter(head.hidden.spans), None) if head is not None else None
        address = reverse("sessions:session", args=[session.pk])
        client = Client()
        client.force_login(place.user)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        load = os.getloadavg()[0]
        # Playwright keeps an event loop in this thread: nothing is asked of the database until it is over.
        with _server() as base, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
            named = {"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": base}
            rows = [
                _opened("empty cache", browser, named, base + address, runs, keeps=False),
                _opened("full cache", browser, named, base + address, runs, keeps=True),
            ]
            if ghost is not None:
                inside = f"{base}{address}?at=e{(ghost[0] + ghost[1]) // 2}"
                rows.append(_opened("into a ghost", browser, named, inside, runs, keeps=True))
            scrolled = _scrolled(browser, named, base + address)
            browser.close()
    return {
        "entries": entries,
        "runs": runs,
        "load": round(load, 1),
        "cpus": os.cpu_count(),
        "browser": rows,
        "scrolled": scrolled,
    }


def _opened(
    words: str, browser: Any, cookie: dict[str, str], address: str, runs: int, *, keeps: bool
) -> dict[str, Any]:
    """The page opened `runs` times (once more before them where the cache `keeps` what came)."""
    found: list[dict[str, float]] = []
    work: list[dict[str, float]] = []
    context = None
    for n in range(runs + keeps):
        if context is None or not keeps:
            if context is not None:
                context.close()
            context = browser.new_context(viewport={"width": 1440, "height": 1000})
            context.add_cookies([cookie])
            context.add_init_script(WATCH)
        page = context.new_page()
        watch = context.new_cdp_session(page)
        watch.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(address)
        page.wait_for_function(SETTLED, timeout=60_000)
        if n or not keeps:
            found.append(page.evaluate(TIMES))
            said = {one["name"]: one["value"] for one in watch.send("Performance.getMetrics")["metrics"]}
            work.append({words: said[name] for name, words in WORK.items()})
        page.close()
    if context is not None:
        context.close()

    def middle(name: str) -> float | None:
        known = [row[name] for row in found if row[name] is not None]
        return median(known) if known else None

    seconds = {f"{name}_seconds": _seconds(middle(name)) for name in ("answer", "paint", "transcript")}
    return {
        "page": words,
        **seconds,
        "bytes": int(middle("bytes") or 0),
        "elements": int(middle("elements") or 0),
        "work": {name: round(median(one[name] for one in work), 3) for name in WORK.values()},
    }


def _scrolled(browser: Any, cookie: dict[str, str], address: str) -> dict[str, int]:
    """The most elements that the page holds while a person wheels down from its beginning and back."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    context.add_cookies([cookie])
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(SETTLED, timeout=60_000)
    page.mouse.move(600, 700)
    most = 0
    for by in (1400, -1400):
        for _ in range(TURNS):
            page.mouse.wheel(0, by)
            page.wait_for_timeout(60)
            most = max(most, page.evaluate("document.querySelectorAll('*').length"))
    leaves = page.evaluate("document.querySelectorAll('#entries > .leaf').length")
    context.close()
    return {"turns_of_the_wheel": 2 * TURNS, "most_elements": most, "leaves_after": leaves}


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds / 1000, 3)


@contextmanager
def _server() -> Iterator[str]:
    """The web server as `up` starts it, on a free port, until the measure is over."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "granian",
        "--interface",
        "asginl",
        "--host",
        HOST,
        "--port",
        str(port),
        "--no-log",
    ]
    child = subprocess.Popen(
        [*command, "webapp.asgi:application"], cwd=Path(settings.BASE_DIR), stdout=subprocess.DEVNULL
    )
    base = f"http://{HOST}:{port}"
    # Who ends this process ends the server with it.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for _ in range(int(PATIENCE * 10)):
            try:
                urlopen(f"{base}/healthz", timeout=10).close()  # noqa: S310 -- the address is our own
                break
            except OSError:
                time.sleep(0.1)
        yield base
    finally:
        signal.signal(signal.SIGTERM, before)
        child.terminate()
        try:
            child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
