"""`screenshots`: pictures of the pages for docs/screenshots, of made-up sessions, in both widths and both schemes."""

from __future__ import annotations

import argparse
import base64
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

CHECKOUT = Path(__file__).resolve().parents[3]
MANAGE = (sys.executable, str(CHECKOUT / "manage.py"))
S = "/s/{session}"
PAGES = {
    "sign-in": "/sign-in",
    "sessions": "/",
    "session": S,
    "transcript": S + "?at=e{entry}",
    "model-view": S + "?view=model",
    "compact": S + "/compact?strategy=hybrid",
    "compare": S + "/compare?now=1",
    "run": S + "/runs/{run}",
    "runs": "/runs",
    "rules-and-hooks": "/runs/standing",
    "versions": S + "/versions",
    "diff": S + "/diff",
    "edit": S + "/edit",
    "rollback": S + "/rollback?to=e{entry}",
    "session-memory": S + "/session-memory",
    "context": S + "/context",
    "usage": S + "/fills",
    "memory": S + "/memory",
    "cost": S + "/cost",
    "chart": S + "/chart",
    "goal": S + "/goal/1",
    "files": S + "/files",
    "errors": S + "/errors",
    "resume": S + "/resume",
    "export": S + "/export",
    "abandoned": "/abandoned?review=",
    "search": "/search?q=importer",
    "intake": "/intake",
    "take-in": "/take-in",
    "settings": "/settings",
    "people": "/settings/people",
}
WIDTHS = {"wide": (1440, 1000), "phone": (390, 844)}
PATIENCE = 120_000  # ms for a page; only a fault waits that long
QUALITY = 62  # of WebP: letters stay sharp, and a hundred pictures weigh a few megabytes


class Command(BaseCommand):
    help = (
        "Take the pictures of docs/screenshots anew: a server of its own, made-up sessions, a Chromium of the system."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--out", type=Path, default=CHECKOUT / "docs" / "screenshots", metavar="DIR")
        parser.add_argument("--only", nargs="*", choices=sorted(PAGES), metavar="PAGE", help="these pages alone")

    def handle(self, *args: Any, **options: Any) -> None:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if chromium is None:
            raise CommandError("There is no Chromium on this machine.")
        with tempfile.TemporaryDirectory(prefix="palimpsest-pictures-") as name:
            folder = Path(name)
            with _served(folder / "data") as link:
                given = _filled(folder)
                count, size = _taken(chromium, link, given, options["out"], options["only"] or list(PAGES))
        self.stdout.write(f"{count} pictures, {size / 1e6:.1f} MB, in {options['out']}")


@contextmanager
def _served(data: Path) -> Iterator[str]:
    """Run `up` on a data folder of its own; give its one-time link."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    up = subprocess.Popen(
        [*MANAGE, "up", "--data-dir", str(data), "--port", str(port), "--no-discover"],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert up.stdout is not None
    try:
        for line in up.stdout:
            found = re.search(r"https?://\S+/sign-in/\S+", line)
            if found:
                yield found[0]
                return
        raise CommandError("The server did not start.")
    finally:
        up.send_signal(signal.SIGINT)
        up.communicate()  # what it still says has to go somewhere, or it waits


def _filled(folder: Path) -> dict[str, str]:
    """Take in two made-up sessions, give up a goal, compact once; give what the addresses name."""
    from tests.make_session import write_session  # noqa: PLC0415 -- the tests' own, in a checkout alone

    native = write_session(folder, entries=700, bulk=160)

    def told(*arguments: str) -> Any:
        command = [*MANAGE, *arguments, "--data-dir", str(folder / "data"), "--json"]
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CommandError(f"{arguments[0]}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    told("ingest", str(folder / f"{native}.jsonl"))
    told("ingest", "--sample")
    added = told("goal", native, "add", "Map the file into memory")
    told("goal", native, "abandon", str(added["path"]), "The network mount cannot be mapped.")
    run = told("compact", native, "--strategy", "hybrid")
    return {"session": native, "entry": "640", "run": str(run["run"] if "run" in run else run["id"])}


def _taken(chromium: str, link: str, given: dict[str, str], out: Path, names: list[str]) -> tuple[int, int]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- of the group for browsers alone

    out.mkdir(parents=True, exist_ok=True)
    host = link.split("/sign-in/", maxsplit=1)[0]
    count = size = 0
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(locale="en-GB", timezone_id="UTC", reduced_motion="reduce")
        stranger = browser.new_context(locale="en-GB", timezone_id="UTC", reduced_motion="reduce")
        context.set_default_timeout(PATIENCE)
        stranger.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(link)
        for name in names:
            tab = page if name != "sign-in" else stranger.new_page()
            for width, (across, down) in WIDTHS.items():
                tab.set_viewport_size({"width": across, "height": down})
                tab.emulate_media(color_scheme="light")
                tab.goto(host + PAGES[name].format(**given))
                # An open stream of events never ends: what was asked for at the beginning is waited for, no more.
                tab.wait_for_function("() => !document.querySelector('[aria-busy=true], [hx-trigger=load] > .waiting')")
                for scheme in ("light", "dark"):
                    tab.emulate_media(color_scheme=scheme)
                    picture = context.new_cdp_session(tab) if tab is page else stranger.new_cdp_session(tab)
                    drawn = picture.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
                    picture.detach()
                    data = base64.b64decode(drawn["data"])
                    (out / f"{name}-{width}-{scheme}.webp").write_bytes(data)
                    count, size = count + 1, size + len(data)
        browser.close()
    return count, size
