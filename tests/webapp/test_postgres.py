"""The runner of the embedded server, on real clusters of its own."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.processes import CHECKOUT
from webapp.embedded import broker
from webapp.embedded.data_dir import kept_secret
from webapp.embedded.places import Account, PostgresError, can_walk
from webapp.embedded.postgres import SOCKET_PATH_LIMIT, THROW_AWAY_OPTIONS, Server


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that the server's account can walk to."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-pg-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    made = Server.at(
        folder / "cluster",
        password_file=folder / "password",
        log=folder / "log",
        options={**THROW_AWAY_OPTIONS, "shared_buffers": "16MB"},
    )
    yield made
    made.stop(fast=False)


def rows(server: Server) -> list[tuple[int]]:
    with psycopg.connect(server.url("postgres")) as connection:
        return connection.execute("SELECT n FROM kept ORDER BY n").fetchall()


def write(server: Server) -> None:
    with psycopg.connect(server.url("postgres")) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (1), (2)")


def test_what_was_committed_survives_a_stop_and_a_kill(server: Server) -> None:
    server.start()
    write(server)
    server.stop()
    assert server.postmaster is None

    server.start()
    assert rows(server) == [(1,), (2,)]

    first = server.postmaster
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    assert server.process is not None
    server.process.wait()
    assert server.postmaster is None, "a file of a dead server is no server"

    server.start()
    assert rows(server) == [(1,), (2,)]
    assert server.postmaster != first


def test_a_file_with_a_number_that_is_somebody_elses_now_is_cleared(server: Server) -> None:
    server.start()
    write(server)
    server.stop()
    stale = "\n".join([str(os.getpid()), str(server.cluster), "1", "5432", str(server.cluster), "", "1 1", "ready"])
    (server.cluster / "postmaster.pid").write_text(stale)

    server.start()

    assert rows(server) == [(1,), (2,)]


def test_a_server_left_by_a_killed_process_is_taken_over(server: Server, folder: Path) -> None:
    start = (
        "import os, signal; from pathlib import Path; from webapp.embedded.postgres import Server;"
        f"f = Path({str(folder)!r});"
        "s = Server.at(f / 'cluster', password_file=f / 'password', log=f / 'log', options={'shared_buffers': '16MB'});"
        "s.start(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    died = subprocess.run([sys.executable, "-c", start], cwd=CHECKOUT, check=False)
    assert died.returncode == -signal.SIGKILL
    left = server.postmaster
    assert left is not None

    server.start()
    write(server)

    assert server.postmaster == left
    server.stop()
    assert not left.alive()


def test_a_cluster_whose_making_was_broken_off_is_made_anew(server: Server, folder: Path) -> None:
    start = (
        "from pathlib import Path; from webapp.embedded.postgres import Server;"
        f"f = Path({str(folder)!r});"
        "Server.at(f / 'cluster', password_file=f / 'password', log=f / 'log', options={'shared_buffers': '16MB'}).start()"
    )
    making = subprocess.Popen([sys.executable, "-c", start], cwd=CHECKOUT)
    while not any(folder.rglob("PG_VERSION")):
        assert making.poll() is None
    for process in [*psutil.Process(making.pid).children(recursive=True), psutil.Process(making.pid)]:
        process.kill()
    making.wait()

    server.start()
    write(server)

    assert rows(server) == [(1,), (2,)]
    assert sorted(path.name for path in folder.iterdir()) == ["cluster", "log", "password"]


def test_a_path_too_long_for_a_socket_gets_a_port_and_still_asks_for_the_password(folder: Path) -> None:
    deep = folder / ("x" * SOCKET_PATH_LIMIT)
    deep.mkdir()
    server = Server.at(
        deep / "cluster", password_file=folder / "password", log=folder / "log", options={"shared_buffers": "16MB"}
    )
    server.start()
    try:
        address = server.url("postgres")
        assert "@127.0.0.1:" in address
        with psycopg.connect(address) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("127.0.0.1",)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(address.replace(server.password, "guessed"))
    finally:
        server.stop(fast=False)


def test_the_socket_asks_for_the_password_too(server: Server) -> None:
    server.start()
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(server.url("postgres").replace(server.password, "guessed"))


def test_letters_beyond_ascii_have_cases(server: Server) -> None:
    server.start()
    with psycopg.connect(server.url("postgres")) as connection:
        assert connection.execute("SELECT lower('ÉÄ'), 'É' ILIKE 'é'").fetchone() == ("éä", True)


def test_a_folder_with_other_files_is_left_alone(server: Server) -> None:
    server.cluster.mkdir()
    (server.cluster / "letters.txt").write_text("mine")
    with pytest.raises(PostgresError, match="holds files but no database cluster"):
        server.start()
    assert (server.cluster / "letters.txt").read_text() == "mine"


def test_the_broker_is_laid_once_in_a_database_of_its_own(server: Server) -> None:
    server.start()
    conninfo = broker.address(None, server.url("some")).conninfo
    assert conninfo is not None

    assert broker.lay(conninfo) is True
    assert broker.lay(conninfo) is False
    with psycopg.connect(conninfo) as connection:
        assert connection.execute("SELECT current_database()").fetchone() == ("some_broker",)
        assert connection.execute("SELECT count(*) FROM pgmq.list_queues()").fetchone() == (0,)


def test_a_folder_closed_to_others_cannot_be_walked(folder: Path) -> None:
    other = Account(uid=54321, gid=54321, name="other")
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    assert can_walk(other, folder)
    assert not can_walk(other, closed)
    assert not can_walk(other, closed / "not made yet")
    assert can_walk(None, closed)


def test_a_secret_is_made_once_and_only_its_owner_reads_it(folder: Path) -> None:
    path = folder / "deep" / "secret"
    made = kept_secret(path)
    assert len(made) >= 64
    assert path.stat().st_mode & 0o777 == 0o600
    assert kept_secret(path) == made
    assert [one.name for one in path.parent.iterdir()] == ["secret"]
