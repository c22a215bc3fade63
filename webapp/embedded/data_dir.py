"""The data folder: where it is, what lies in it, who holds it, and what a running `up` says of itself there.

- `secret_key`: made once, readable by its owner only
- `up.lock`: held by the running `up`
- `up.json`: what that `up` is: address, processes; nothing in it opens a door
- `cluster`: where the embedded cluster lies (it cannot always lie here, see embedded.shared)
- `postgres/`: the cluster, where it can
- `postgres.password`: of the embedded server
- `server.lock`: held while the server is started or stopped; `server.users`: held by everybody who uses it
- `vocabularies/`: tiktoken's files
- `logs/`: one file for each child of `up`
- `pages/`: first pages of PDFs as pictures, by the hash of the PDF; they may be thrown away
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import platformdirs
import psutil
from django.core.exceptions import ImproperlyConfigured

SECRET_BYTES = 48


def locate() -> Path:
    """Name the data folder: `PALIMPSEST_DATA_DIR`, else the user's own by the platform's custom."""
    given = os.environ.get("PALIMPSEST_DATA_DIR")
    path = Path(given).expanduser() if given else platformdirs.user_data_path("palimpsest")
    return path.absolute()


def secret_key(data_dir: Path) -> str:
    """Read the key of this data folder, made at the first call."""
    return kept_secret(data_dir / "secret_key")


def kept_secret(path: Path) -> str:
    """Read a secret from `path`; where there is none, make one that only its owner can read.

    Linked into place whole, so that of two processes starting together one wins and both read the same.
    """
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be read: {error.strerror}.") from error
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(secrets.token_urlsafe(SECRET_BYTES))
        try:
            os.link(aside, path)
        except FileExistsError:
            pass
        finally:
            aside.unlink()
    except OSError as error:
        raise ImproperlyConfigured(
            f"The data folder {path.parent} cannot be written: {error.strerror}. "
            "Name another one with --data-dir or PALIMPSEST_DATA_DIR."
        ) from error
    return path.read_text(encoding="ascii").strip()


def write_whole(path: Path, text: str) -> None:
    """Replace the file at `path` in one step, readable by its owner only."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
    aside.replace(path)


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process that cannot be mistaken for a later one that was given the same number."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Describe a live process; None where there is none, or only its unreaped remains."""
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            return cls(pid=pid, started=process.create_time())
        except psutil.Error:
            return None

    def alive(self) -> bool:
        """Say whether that very process still runs. A clock that was set may shift start times by a little."""
        now = ProcessId.of(self.pid)
        return now is not None and abs(now.started - self.started) < 2


@dataclass(slots=True)
class UpState:
    """What a running `up` says of itself, for the commands beside it and for the `up` after a crash."""

    process: ProcessId
    url: str
    port: int
    database: str
    embedded: bool
    token: str
    children: dict[str, ProcessId] = field(default_factory=dict)

    def write(self, data_dir: Path) -> None:
        write_whole(data_dir / "up.json", json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, data_dir: Path) -> Self | None:
        """Read what the last `up` wrote; None where there was none or its file is no longer readable as such."""
        try:
            raw: dict[str, Any] = json.loads((data_dir / "up.json").read_text(encoding="utf-8"))
            return cls(
                process=ProcessId(**raw["process"]),
                url=str(raw["url"]),
                port=int(raw["port"]),
                database=str(raw["database"]),
                embedded=bool(raw["embedded"]),
                token=str(raw["token"]),
                children={name: ProcessId(**child) for name, child in raw["children"].items()},
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None


def running_up(data_dir: Path) -> UpState | None:
    """Give the state of the `up` that runs on this data folder; None where none does.

    The lock decides, not the file: a lock dies with its process, a file does not.
    """
    if not (data_dir / "up.lock").exists() or not locked(data_dir / "up.lock"):
        return None
    return UpState.read(data_dir)


class Held(Exception):
    """Somebody else holds the lock."""


@contextmanager
def lock(path: Path, *, shared: bool = False, wait: bool = True) -> Iterator[int]:
    """Hold the lock at `path` for the block, exclusively or with others; without `wait`, raises Held at once."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise Held(str(path)) from error
        yield handle
    finally:
        os.close(handle)


def locked(path: Path) -> bool:
    """Say whether somebody holds the lock at `path` now."""
    try:
        with lock(path, wait=False):
            return False
    except Held:
        return True
