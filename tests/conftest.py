"""What tests of more than one folder use: a real PostgreSQL, a real worker, a real browser, the shared recordings."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent

# Tests write neither into the user's data folder nor into their agents'.
SCRATCH = Path(tempfile.mkdtemp(prefix="palimpsest-tests-"))
SCRATCH.chmod(0o755)
os.environ["PALIMPSEST_DATA_DIR"] = str(SCRATCH / "data")
(SCRATCH / "data").mkdir()
# What tests take in lies in a transaction of theirs, which other processes do not see.
os.environ["PALIMPSEST_INGEST_PROCESSES"] = "1"

from tests.processes import read_until  # noqa: E402 -- as below
from webapp.embedded import broker, data_dir, postgres  # noqa: E402 -- after the data folder is named


def end_leftovers() -> None:
    """Stop the servers of test runs that were killed, of this user, and remove their folders."""
    for folder in SCRATCH.parent.glob("palimpsest-tests-*"):
        try:
            owner = data_dir.ProcessId(**json.loads((folder / "owner.json").read_text()))
            if owner.alive() or folder.stat().st_uid != os.getuid():
                continue
            postgres.Server.at(folder / "pg", password_file=folder / "password", log=folder / "log").stop(fast=False)
        except (OSError, ValueError, TypeError):
            continue
        shutil.rmtree(folder, ignore_errors=True)


def start_database() -> postgres.Server | None:
    """Start a server that is thrown away, unless the environment names one. Before Django reads its settings."""
    if os.environ.get("DATABASE_URL"):
        return None
    server = postgres.Server.at(
        SCRATCH / "pg",
        password_file=SCRATCH / "password",
        log=SCRATCH / "postgres.log",
        options={**postgres.THROW_AWAY_OPTIONS, "shared_buffers": "128MB"},
    )
    server.start()
    os.environ["DATABASE_URL"] = server.url()
    return server


ME = data_dir.ProcessId.of(os.getpid())
assert ME is not None
(SCRATCH / "owner.json").write_text(json.dumps(dataclasses.asdict(ME)))
end_leftovers()
DATABASE = start_database()
BROKER = broker.address(os.environ.get("CELERY_BROKER_URL"), os.environ["DATABASE_URL"])
if BROKER.conninfo is not None:
    broker.lay(BROKER.conninfo)
os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"

from django.conf import settings  # noqa: E402 -- after the database is named

# pytest-django sets Django up once the settings are read, and not before.
assert settings.DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server and leave nothing behind."""
    if DATABASE is not None:
        DATABASE.stop(fast=False)
    shutil.rmtree(SCRATCH, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Give the folder of recorded sessions of real agents; it is not part of the project, so it may be missing."""
    folder = Path(os.environ.get("PALIMPSEST_SHARED_DATA") or CHECKOUT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"the recorded sessions are not on this machine ({folder}; PALIMPSEST_SHARED_DATA names another)")
    return folder


@pytest.fixture
def worker_environment(transactional_db: None) -> dict[str, str]:
    """Give the environment of a process that works on the test's own database and broker."""
    from django.db import connection
    from psycopg.conninfo import make_conninfo

    name = str(connection.settings_dict["NAME"])
    environment = {**os.environ, "DATABASE_URL": make_conninfo(os.environ["DATABASE_URL"], dbname=name)}
    environment["CELERY_BROKER_URL"] = broker_url()
    return environment


def broker_url() -> str:
    """Give the tests' broker as a URL, which the database's name would otherwise decide."""
    given = os.environ.get("CELERY_BROKER_URL")
    if given:
        return given
    return "pgmq" + _with_database(os.environ["DATABASE_URL"]).removeprefix("postgresql")


def _with_database(url: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts._replace(path=f"{parts.path}{broker.BROKER_SUFFIX}").geturl()


@pytest.fixture
def live_worker(worker_environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """Run a real Celery worker (prefork, one child) on the test's database until the test ends."""
    command = [sys.executable, "-m", "celery", "-A", "webapp", "worker", "--concurrency", "1", "--loglevel", "INFO"]
    command += ["--queues", "ingest,compaction", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    worker = subprocess.Popen(
        command, cwd=CHECKOUT, env=worker_environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        read_until(worker, " ready.")
        yield worker
    finally:
        worker.terminate()
        try:
            worker.wait(timeout=20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
        if worker.stdout is not None:
            worker.stdout.close()


# -- the browser ----------------------------------------------------------------------------------------------------


CHROMIUM_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
CHROMIUM_OPTIONS += ["--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Find Chromium. Without one the browser tests skip; where PALIMPSEST_REQUIRE_BROWSER is 1 that is a failure."""
    found = os.environ.get("PALIMPSEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found:
        return found
    reason = "no Chromium on this machine (PALIMPSEST_CHROMIUM names one)"
    if os.environ.get("PALIMPSEST_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium(chromium_path: str) -> Iterator[Any]:
    """Run one headless Chromium for all browser tests of this process."""
    from playwright.sync_api import sync_playwright

    # Playwright's plain interface keeps an event loop in this thread, in which Django would refuse to ask the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium_path,
            args=CHROMIUM_OPTIONS,
        )
        yield browser
        browser.close()
    os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """Open a fresh page in a context of its own."""
    context = chromium.new_context(viewport={"width": 1360, "height": 900})
    yield context.new_page()
    context.close()
