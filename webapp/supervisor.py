"""`manage.py up`: a database, a broker, the web server, a worker and the watcher, kept running until Ctrl-C.

The order is: what a killed `up` left is ended; database; broker; migrations; local person; web; address; worker;
watcher; first ingest. It is taken down the other way round, the database last.
"""

import http
import http.client
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from webapp.children import TOKEN_VARIABLE, Child, end_orphans
from webapp.embedded import broker
from webapp.embedded import data_dir as folders
from webapp.embedded.data_dir import Held, ProcessId, UpState, lock
from webapp.embedded.postgres import Server
from webapp.embedded.shared import attached
from webapp.launch import CHECKOUT, WORKER, LaunchError, a_database, make_folder, prepare

HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8765
PORTS_TRIED: Final = 50
WEB_READY_WITHIN: Final = 60.0
LOOK_EVERY: Final = 0.5


@dataclass(slots=True)
class Options:
    """What the command line of `up` asks for. `port` is None where any free one will do."""

    port: int | None = None
    discover: bool = True
    open_browser: bool = False


@dataclass(slots=True)
class Stop:
    """The wish to stop, set by a signal. The handler does nothing else: one that waits for a child can hang for good."""

    asked: int = 0
    at: float = 0.0
    wake: tuple[int, int] = field(default_factory=os.pipe)

    def listen(self) -> None:
        for number in self.wake:
            os.set_blocking(number, False)
        for wanted in (signal.SIGINT, signal.SIGTERM):
            signal.signal(wanted, self._ask)
        # Whoever started us with nohup wants us to outlive the terminal.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._ask)
        signal.set_wakeup_fd(self.wake[1], warn_on_full_buffer=False)

    def _ask(self, signum: int, frame: object) -> None:
        now = time.monotonic()
        # A terminal's Ctrl-C may reach us twice, once through the tool that started us.
        if not self.asked or now - self.at > 1:
            self.asked += 1
            self.at = now

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds` or until a signal; say whether to stop."""
        if not self.asked:
            select.select([self.wake[0]], [], [], seconds)
            with suppress(BlockingIOError):
                os.read(self.wake[0], 512)
        return bool(self.asked)

    @property
    def hurry(self) -> bool:
        return self.asked > 1


def say(line: str) -> None:
    """Print a line at once. A terminal that is gone is no reason to stop."""
    with suppress(OSError):
        print(line, flush=True)


def up(options: Options) -> int:
    """Run everything until a signal; where one runs already, say where and give a fresh link. Returns the exit code."""
    data_dir = folders.locate()
    make_folder(data_dir)
    try:
        with lock(data_dir / "up.lock", wait=False):
            return Supervisor(data_dir, options).run()
    except Held:
        return point_to_running(data_dir, options)


def point_to_running(data_dir: Path, options: Options) -> int:
    """Say that an `up` runs on this data folder and where, with a link of one's own."""
    state = UpState.read(data_dir)
    if state is None or not state.process.alive():
        say(f"Another `up` is just starting on {data_dir}. Try again in a moment.")
        return 0
    with a_database(data_dir, current=False):
        link = fresh_link(state.url)
    say(f"Palimpsest is running already (process {state.process.pid}): {state.url}")
    say(f"Sign in, once:  {link}")
    if options.open_browser:
        webbrowser.open(link)
    return 0


def fresh_link(url: str) -> str:
    """Make a one-time address for the local person."""
    import django  # noqa: PLC0415 -- the settings read the environment, which is complete only now

    django.setup()
    from django.db import connection  # noqa: PLC0415 -- as above

    from webapp.auth import issue_link  # noqa: PLC0415 -- as above
    from webapp.workspaces import local_workspace  # noqa: PLC0415 -- as above

    person, _ = local_workspace()
    secret = issue_link(person)
    # The supervisor lives for days; it holds no connection.
    connection.close()
    return f"{url}sign-in/{secret}"


@dataclass(slots=True)
class Supervisor:
    """The one `up` of a data folder. Its lock is held by the caller."""

    data_dir: Path
    options: Options
    stop: Stop = field(default_factory=Stop)
    children: list[Child] = field(default_factory=list)
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    port: int = 0
    server: Server | None = None

    def run(self) -> int:
        self.stop.listen()
        began = time.monotonic()
        self._end_orphans()
        self.port = choose_port(self.options.port)
        with ExitStack() as stack:
            stack.callback((self.data_dir / "up.json").unlink, missing_ok=True)
            self.server = stack.enter_context(self._database())
            if prepare():
                say("The database was brought up to date.")
            self._lay_broker()
            stack.callback(self._stop_children)
            self._start(self._web())
            self._await_web()
            link = fresh_link(self.url)
            say(f"Palimpsest is at  {self.url}  ({time.monotonic() - began:.1f} s to start; data in {self.data_dir})")
            say(f"Sign in, once:    {link}")
            if self.options.open_browser:
                webbrowser.open(link)
            self._start(self._worker())
            self._first_ingest()
            self._start(self._watcher())
            if not self.stop.asked:
                say("Everything runs. Ctrl-C stops it.")
            while not self.stop.wait(LOOK_EVERY):
                self._look_after_all()
            say("Stopping …")
        say("Stopped. What was taken in is kept.")
        return 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"

    # -- what is started --------------------------------------------------------------------------------------------

    def _end_orphans(self) -> None:
        left = UpState.read(self.data_dir)
        if left is not None:
            ended = end_orphans(left)
            say("The last `up` was killed; " + (f"ended what it left: {', '.join(ended)}." if ended else "recovering."))

    @contextmanager
    def _database(self) -> Iterator[Server | None]:
        """Name the database: the one of the environment, else the embedded one, which ends with us."""
        os.environ.setdefault("PALIMPSEST_LOCAL", "1")
        if os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE"):
            yield None
            return
        with attached(self.data_dir, always_stop=True) as server:
            os.environ["DATABASE_URL"] = server.url()
            say(f"Database: PostgreSQL in {server.cluster}" + (f", as {server.account.name}" if server.account else ""))
            yield server

    def _lay_broker(self) -> None:
        from django.conf import settings  # noqa: PLC0415 -- the settings read DATABASE_URL, which is known only now

        if settings.BROKER.conninfo is not None:
            broker.lay(settings.BROKER.conninfo)
        elif not broker.reachable(settings.BROKER):
            say("The broker of CELERY_BROKER_URL is not reachable. Reading works; a run is refused until it is.")

    def _child(self, name: str, *command: str, patience: float) -> Child:
        return Child(
            name=name,
            command=(sys.executable, *command),
            log=self.data_dir / "logs" / f"{name.replace(' ', '-')}.log",
            environment={**os.environ, TOKEN_VARIABLE: self.token, "PYTHONUNBUFFERED": "1"},
            folder=CHECKOUT,
            patience=patience,
        )

    def _web(self) -> Child:
        # A browser's open event streams would hold the server for good; after two seconds they are cut.
        options = ["--interface", "asginl", "--host", HOST, "--port", str(self.port), "--workers-kill-timeout", "2"]
        return self._child("web server", "-m", "granian", *options, "webapp.asgi:application", patience=5)

    def _worker(self) -> Child:
        # Warm stop first; a task that takes longer is cut off, and its message comes back.
        return self._child("worker", *WORKER[1:], "--concurrency", "2", patience=4)

    def _watcher(self) -> Child:
        return self._child("watcher", str(CHECKOUT / "manage.py"), "watch", patience=3)

    def _start(self, child: Child) -> None:
        child.start()
        self.children.append(child)
        self._note()

    def _note(self) -> None:
        """Write down what runs, for the commands beside us and for the next `up` should we be killed."""
        me = ProcessId.of(os.getpid())
        assert me is not None, "a process that runs can see itself"
        known = {child.name: child.identity for child in self.children}
        if self.server is not None:
            database = self.server.public_address()
        else:
            from django.db import connection  # noqa: PLC0415 -- Django is set up by now

            given = connection.settings_dict
            database = f"postgresql://{given['HOST'] or 'localhost'}/{given['NAME']}"
        UpState(
            process=me,
            url=self.url,
            port=self.port,
            database=database,
            embedded=self.server is not None,
            token=self.token,
            children={name: identity for name, identity in known.items() if identity is not None},
        ).write(self.data_dir)

    def _await_web(self) -> None:
        """Wait until the web server answers; raise with its log's name where it does not."""
        web = self.children[0]
        deadline = time.monotonic() + WEB_READY_WITHIN
        while not self.stop.asked:
            if answers(self.port):
                return
            if web.process is not None and web.process.poll() is not None:
                raise LaunchError(f"The web server ended at its start. Its log: {web.log}")
            if time.monotonic() > deadline:
                raise LaunchError(f"The web server does not answer. Its log: {web.log}")
            self.stop.wait(0.1)

    def _first_ingest(self) -> None:
        """Take in the sessions of this machine's agents, the sample where there are none. Progress goes to the terminal."""
        if self.options.discover and not self.stop.asked:
            say("Looking for the sessions of this machine's agents …")
            self._ingest("--discover")
        if not self.stop.asked and not any_session():
            say("No sessions were found; a small sample is taken in, so that the first page is not empty.")
            self._ingest("--sample")

    def _ingest(self, option: str) -> None:
        """Run `ingest` as a child and look after the others meanwhile. Its failure is said, and is not ours."""
        process = subprocess.Popen(
            [sys.executable, str(CHECKOUT / "manage.py"), "ingest", option],
            cwd=CHECKOUT,
            env={**os.environ, TOKEN_VARIABLE: self.token, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            while process.poll() is None and not self.stop.wait(0.1):
                self._look_after_all()
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=3)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if process.returncode and not self.stop.asked:
            say(f"The ingest ended with code {process.returncode}; what it had taken in is kept.")

    # -- while it runs, and after -----------------------------------------------------------------------------------

    def _look_after_all(self) -> None:
        if self.server is not None and self.server.postmaster is None and not self.stop.asked:
            say(f"The database ended; it is started again. Its log: {self.server.log}")
            # Under the lock of `attached`: a command may be about to start it as well.
            with lock(self.data_dir / "server.lock"):
                self.server.start()
            say("The database is back.")
        for child in self.children:
            line = child.look_after()
            if line is not None:
                say(line)
                self._note()

    def _stop_children(self) -> None:
        """Stop all at once, and wait for each in the order web, worker, watcher; the database follows after them."""
        for child in self.children:
            child.ask_to_stop()
        for child in self.children:
            child.wait_to_stop(hurry=self.stop.hurry)


def any_session() -> bool:
    """Say whether the database holds a session of any agent."""
    from django.apps import apps  # noqa: PLC0415 -- Django is set up by now
    from django.db import connection  # noqa: PLC0415 -- as above

    found = apps.get_model("agent_sessions", "Session")._default_manager.exists()
    connection.close()
    return bool(found)


def choose_port(wanted: int | None) -> int:
    """Give the port asked for, or the first free one from the default on. Raises where the one asked for is taken."""
    if wanted is not None:
        if not is_free(wanted):
            raise LaunchError(f"Port {wanted} is taken by another program. Without --port, up takes the next free one.")
        return wanted
    for port in range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED):
        if is_free(port):
            return port
    raise LaunchError(f"No port from {DEFAULT_PORT} to {DEFAULT_PORT + PORTS_TRIED - 1} is free; name one with --port.")


def is_free(port: int) -> bool:
    """Say whether the port can be listened on."""
    with socket.socket() as probe:
        # As the server itself does: connections that are only fading away do not hold a port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def answers(port: int) -> bool:
    """Say whether our web server answers on the port."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
