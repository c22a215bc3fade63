"""`up` as a person has it: started, looked at, asked again, interrupted, killed, started again."""

import http.client
import os
import pwd
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.processes import Up, manage, plain_environment, run_up
from webapp.embedded.data_dir import ProcessId, UpState
from webapp.embedded.places import Account, can_walk

CHILDREN = {"web server", "worker", "watcher"}


class Place:
    """A data folder that the server's account can walk to (unlike pytest's own), and an empty home beside it."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.data_dir = folder / "data"
        (folder / "home").mkdir()
        # Nothing of this machine's agents is taken in.
        self.environment = plain_environment(HOME=str(folder / "home"))

    @property
    def state(self) -> UpState:
        state = UpState.read(self.data_dir)
        assert state is not None
        return state

    @property
    def postmaster(self) -> int:
        return int((self.data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0])

    def everybody(self) -> list[psutil.Process]:
        """List the processes of the running `up`, the database and all below them included."""
        state = self.state
        assert set(state.children) == CHILDREN
        top = psutil.Process(state.process.pid)
        return [top, *top.children(recursive=True)]

    def run(self, *arguments: str) -> AbstractContextManager[Up]:
        return run_up(self.data_dir, *arguments, environment=self.environment)

    def manage(self, *arguments: str) -> "tuple[int, str, str]":
        done = manage(*arguments, "--data-dir", str(self.data_dir), environment=self.environment)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="palimpsest-up-") as folder:
        yield Place(Path(folder))


def get(address: str, cookie: str = "") -> http.client.HTTPResponse:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("GET", parts.path, headers={"Cookie": cookie} if cookie else {})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def test_up_from_its_start_to_ctrl_c(place: Place) -> None:
    with place.run() as up:
        up.wait_for("Everything runs")

        # It serves, and its link lets one browser in, once.
        assert get(f"{up.url}sign-in").status == 200
        first = get(up.link)
        assert (first.status, first.headers["Location"]) == (302, "/")
        cookies = SimpleCookie("; ".join(one.split(";")[0] for one in first.headers.get_all("Set-Cookie") or []))
        cookie = f"palimpsest_session={cookies['palimpsest_session'].value}"
        assert get(up.url, cookie=cookie).status == 200
        assert get(up.link).headers["Location"] == "/sign-in"

        # A second one says where the first runs, with a link of its own.
        code, output, complaint = place.manage("up")
        assert (code, complaint) == (0, "")
        assert f"running already (process {up.process.pid}): {up.url}" in output
        assert get(output.split("Sign in, once:")[1].strip()).headers["Location"] == "/"

        # A command beside it uses its database, and leaves it running.
        code, output, complaint = place.manage("showmigrations", "webapp")
        assert (code, complaint) == (0, "")
        assert "[X] 0001_accounts" in output

        # A child that is killed comes back; the others stay.
        before = place.state.children
        os.kill(before["worker"].pid, signal.SIGKILL)
        assert "signal 9" in up.wait_for("The worker ended")
        up.wait_for("The worker is started again")
        assert before["web server"].alive()

        # So does the database, with what it held.
        os.kill(place.postmaster, signal.SIGKILL)
        up.wait_for("The database is back")
        code, output, complaint = place.manage("showmigrations", "webapp")
        assert (code, complaint) == (0, "")
        assert "[X] 0001_accounts" in output
        assert get(up.url, cookie=cookie).status == 200

        # Ctrl-C ends all of it, whatever stays connected.
        processes = place.everybody()
        assert len(processes) > len(CHILDREN) + 1
        with socket.create_connection((urlsplit(up.url).hostname, urlsplit(up.url).port)):
            assert up.interrupt() == 0
        assert psutil.wait_procs(processes, timeout=10)[1] == []
        assert UpState.read(place.data_dir) is None


def test_up_after_kills(place: Place) -> None:
    with place.run() as up:
        up.wait_for("Everything runs")
        left = place.state.children
        kept = up.link.rsplit("/", 1)[1]
        up.process.kill()
        up.process.wait()
        assert all(child.alive() for child in left.values()), "they outlive it, and hold its port"

    with place.run() as up:
        assert "ended what it left: watcher, web server, worker" in up.wait_for("The last `up` was killed")
        up.wait_for("Everything runs")
        assert not any(child.alive() for child in left.values())
        for process in place.everybody():
            process.kill()
        up.process.wait()

    with place.run() as up:
        assert "recovering" in up.wait_for("The last `up` was killed")
        up.wait_for("Everything runs")
        assert get(f"{up.url}sign-in/{kept}").headers["Location"] == "/", "what the database held is there"


def test_up_as_an_ordinary_user(place: Place) -> None:
    """The other tests run it as whoever runs them; on a build machine that is root."""
    if os.geteuid() != 0:
        pytest.skip("the other tests of this file have shown it")
    nobody = pwd.getpwnam("nobody")
    account = Account(nobody.pw_uid, nobody.pw_gid, "nobody")
    if not can_walk(account, Path(sys.executable).resolve()):
        pytest.skip("Python lies where only root can run it")
    for folder in (place.data_dir.parent, place.data_dir.parent / "home"):
        os.chown(folder, account.uid, account.gid)

    with run_up(place.data_dir, environment=place.environment, user=account.uid) as up:
        up.wait_for("Everything runs")
        assert get(f"{up.url}sign-in").status == 200
        assert {process.uids().real for process in place.everybody()} == {account.uid}
        assert up.interrupt() == 0


def test_a_port_that_is_taken_is_said(place: Place) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        code, _, complaint = place.manage("up", "--no-discover", "--port", port)

    assert code == 1
    assert complaint == f"Port {port} is taken by another program. Without --port, up takes the next free one.\n"


def test_a_wrong_option_is_usage(place: Place) -> None:
    code, _, complaint = place.manage("up", "--prot", "1")
    assert code == 2
    assert "usage:" in complaint


def test_a_number_given_to_another_process_is_not_ours() -> None:
    me = ProcessId.of(os.getpid())
    assert me is not None
    assert me.alive()
    assert not ProcessId(pid=me.pid, started=me.started - 3600).alive()
