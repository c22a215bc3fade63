"""Processes that tests start, and how they wait for them: by what a process says or by its end, never by the clock."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
MANAGE = (sys.executable, str(CHECKOUT / "manage.py"))


def read_until(process: "subprocess.Popen[str]", words: str) -> list[str]:
    """Read a process's output line by line until one contains `words`; fail with what it said if it ends before."""
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        seen.append(line.rstrip())
        if words in line:
            return seen
    pytest.fail(f"the process ended without saying {words!r}:\n" + "\n".join(seen))


def plain_environment(**more: str) -> dict[str, str]:
    """Give an environment without the tests' own database, as a person's shell has it."""
    dropped = {
        "DATABASE_URL",
        "CELERY_BROKER_URL",
        "PALIMPSEST_DATA_DIR",
        "DJANGO_SETTINGS_MODULE",
        "TIKTOKEN_CACHE_DIR",
    }
    return {name: value for name, value in os.environ.items() if name not in dropped} | more


def manage(*arguments: str, environment: Mapping[str, str], **more: object) -> "subprocess.CompletedProcess[str]":
    """Run a management command to its end."""
    return subprocess.run(
        [*MANAGE, *arguments], env=dict(environment), cwd=CHECKOUT, capture_output=True, text=True, check=False
    )


@dataclass
class Up:
    """A running `up` in a process of its own."""

    process: "subprocess.Popen[str]"
    said: list[str] = field(default_factory=list)

    def wait_for(self, words: str) -> str:
        """Wait for a line with `words` and give it."""
        self.said += read_until(self.process, words)
        return self.said[-1]

    @property
    def link(self) -> str:
        found = re.search(r"http://\S+/sign-in/\S+", "\n".join(self.said))
        assert found is not None, self.said
        return found[0]

    @property
    def url(self) -> str:
        return self.link.split("sign-in/")[0]

    def interrupt(self) -> int:
        """Send Ctrl-C and give the exit code."""
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate()
        self.said += rest.splitlines()
        return self.process.returncode


@contextmanager
def run_up(data_dir: Path, *arguments: str, environment: Mapping[str, str], user: int | None = None) -> Iterator[Up]:
    """Start `up` on a data folder, perhaps as another user; whatever happens, it has ended after the block."""
    process = subprocess.Popen(
        [*MANAGE, "up", "--data-dir", str(data_dir), "--no-discover", *arguments],
        env=dict(environment),
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )
    try:
        yield Up(process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.communicate()
        if process.stdout is not None:
            process.stdout.close()
