"""The processes that `up` keeps alive: started in sessions of their own, restarted when they die, stopped in order."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from webapp.embedded.data_dir import ProcessId, UpState

# Put into the environment of every child, so that the next `up` knows the orphans of one that was killed.
TOKEN_VARIABLE: Final = "PALIMPSEST_UP"  # noqa: S105 -- the name of a variable
FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 30.0
# A child that lived this long was well; its next death starts again from the first delay.
WELL_AFTER: Final = 60.0
LOG_LIMIT: Final = 10 * 1024 * 1024


@dataclass(slots=True)
class Child:
    """One process kept alive. `patience` is how many seconds it is given to end by itself."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str]
    folder: Path
    patience: float
    process: "subprocess.Popen[bytes] | None" = None
    started: float = 0.0
    deaths: int = 0
    due: float | None = None

    def start(self) -> None:
        """Start the process, its words into its log."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                list(self.command),
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started = time.monotonic()
        self.due = None

    @property
    def identity(self) -> ProcessId | None:
        return None if self.process is None else ProcessId.of(self.process.pid)

    def look_after(self) -> str | None:
        """Start the process again if it died and its time has come; give a line to say where something happened."""
        now = time.monotonic()
        if self.process is not None:
            code = self.process.poll()
            if code is None:
                return None
            # Its own children may have outlived it, and hold its port or its messages.
            self._signal(signal.SIGKILL)
            self.process = None
            self.deaths = 1 if now - self.started > WELL_AFTER else self.deaths + 1
            delay = min(FIRST_DELAY * 2 ** (self.deaths - 1), LONGEST_DELAY)
            self.due = now + delay
            how = f"signal {-code}" if code < 0 else f"code {code}"
            return f"The {self.name} ended ({how}); it is started again in {delay:.0f} s. Its log: {self.log}"
        if self.due is not None and now >= self.due:
            self.start()
            return f"The {self.name} is started again."
        return None

    def ask_to_stop(self) -> None:
        self.due = None
        if self.process is not None and self.process.poll() is None:
            with suppress(ProcessLookupError):
                self.process.terminate()

    def wait_to_stop(self, *, hurry: bool) -> None:
        """Wait until the process has ended; where its patience is over, or in a hurry, end it and all of its own."""
        if self.process is None:
            return
        try:
            self.process.wait(timeout=0 if hurry else self.patience)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self.process.wait()
        else:
            self._signal(signal.SIGKILL)
        self.process = None

    def _signal(self, number: int) -> None:
        """Signal the child's whole group; the group is its own, since it leads a session."""
        if self.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)


def end_orphans(state: UpState) -> list[str]:
    """End what an `up` that was killed has left running; give the names of the processes ended.

    Recognised by session and by the token in their environment; a process that merely has an old number is left alone.
    """
    sessions = {child.pid: name for name, child in state.children.items()}
    found: list[tuple[str, psutil.Process]] = []
    for process in psutil.process_iter():
        try:
            name = sessions.get(os.getsid(process.pid))
            if name is not None and process.environ().get(TOKEN_VARIABLE) == state.token:
                found.append((name, process))
        except (psutil.Error, OSError):
            continue
    for _, process in found:
        with suppress(psutil.Error):
            process.terminate()
    _, stubborn = psutil.wait_procs([process for _, process in found], timeout=3)
    for process in stubborn:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(stubborn, timeout=3)
    return sorted({name for name, _ in found})
