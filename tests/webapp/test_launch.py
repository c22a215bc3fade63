"""How commands come to a database: which ones do, from where, and that nothing is left running afterwards."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import CHECKOUT, MANAGE, manage, plain_environment, read_until
from webapp.embedded.data_dir import lock
from webapp.embedded.shared import server_of
from webapp.launch import needs_database, needs_worker, take_option


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="palimpsest-launch-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "data"


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("", False),
        ("help", False),
        ("--version", False),
        ("up", False),
        ("check", False),
        ("check --database default", True),
        ("makemigrations --check", False),
        ("compact --help", False),
        ("compact 1a2b", True),
        ("ingest /somewhere", True),
        ("migrate", True),
    ],
)
def test_which_commands_start_a_database(line: str, needs: bool) -> None:
    assert needs_database(["manage.py", *line.split()]) is needs


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("compact 1a2b", True),
        ("compact 1a2b --preview", False),
        ("compact 1a2b --no-wait", False),
        ("undo 1a2b", False),
    ],
)
def test_which_commands_bring_a_worker(line: str, needs: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    monkeypatch.setenv("PALIMPSEST_DATA_DIR", str(tmp_path))
    assert needs_worker(["manage.py", *line.split()]) is needs


def test_a_named_broker_has_workers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://localhost/0")
    assert not needs_worker(["manage.py", "compact", "1a2b"])


@pytest.mark.parametrize(
    "line", [["a", "--data-dir", "/d", "b"], ["a", "b", "--data-dir=/d"], ["--data-dir", "/d", "a", "b"]]
)
def test_the_data_folder_may_be_named_anywhere(line: list[str]) -> None:
    assert take_option(line, "--data-dir") == (["a", "b"], "/d")


def test_an_option_without_its_value_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        take_option(["a", "--data-dir"], "--data-dir")
    assert end.value.code == 2
    assert capsys.readouterr().err == "--data-dir needs a value.\n"


@pytest.fixture(scope="module")
def kept() -> Iterator[Path]:
    """Give one data folder to the tests that only need some database in it."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-launch-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "data"


def test_a_command_has_a_database_for_its_own_time(kept: Path) -> None:
    # The first makes and migrates it, the second finds it; asked for by an option and by the environment.
    first = manage("sqlsequencereset", "webapp", "--data-dir", str(kept), environment=plain_environment())
    assert (first.returncode, first.stderr) == (0, "")
    assert server_of(kept).postmaster is None

    second = manage("showmigrations", "--plan", environment=plain_environment(PALIMPSEST_DATA_DIR=str(kept)))
    assert (second.returncode, second.stderr) == (0, "")
    assert "[X]  webapp.0001_accounts" in second.stdout
    assert "[ ]" not in second.stdout
    assert server_of(kept).postmaster is None


def test_of_two_commands_the_last_one_out_stops_the_database(kept: Path) -> None:
    # `shell` runs what it reads: this one says that it is inside, and leaves when its input ends.
    first = subprocess.Popen(
        [*MANAGE, "shell", "--no-imports", "--data-dir", str(kept), "-c", "print('inside', flush=True); input()"],
        env=plain_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=CHECKOUT,
    )
    read_until(first, "inside")
    server = server_of(kept)
    running = server.postmaster
    assert running is not None

    second = manage("showmigrations", "--data-dir", str(kept), environment=plain_environment())
    assert (second.returncode, second.stderr) == (0, "")
    assert server.postmaster == running, "the first still uses it"

    first.communicate("\n")
    assert server.postmaster is None
    assert not running.alive()


def test_a_database_left_by_a_killed_command_is_used_and_stopped_by_the_next(kept: Path) -> None:
    killed = manage(
        "shell",
        "--no-imports",
        "--data-dir",
        str(kept),
        "-c",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        environment=plain_environment(),
    )
    assert killed.returncode == -9
    left = server_of(kept).postmaster
    assert left is not None

    assert manage("showmigrations", "--data-dir", str(kept), environment=plain_environment()).returncode == 0

    assert not left.alive()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = manage("showmigrations", "--data-dir", str(tmp_path / "data"), environment=plain_environment())
    assert done.returncode == 1
    assert done.stderr.startswith(f"The data folder {tmp_path / 'data'} cannot be written: Permission denied.")


def test_a_file_in_the_place_of_the_data_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    done = manage("showmigrations", "--data-dir", str(tmp_path / "data"), environment=plain_environment())
    assert done.returncode == 1
    assert done.stderr.startswith(f"The data folder {tmp_path / 'data'} cannot be written: ")
    assert done.stderr.count("\n") == 1


def test_a_command_that_does_not_exist_is_usage() -> None:
    done = manage("frobnicate", environment=os.environ)
    assert (done.returncode, done.stderr) == (2, "There is no command 'frobnicate'; `manage.py help` lists them.\n")


@pytest.mark.parametrize("port", ["-1", "0", "65536", "99999", "abc", "²"])
def test_a_port_that_is_none_is_usage(data_dir: Path, port: str) -> None:
    done = manage("up", f"--port={port}", "--data-dir", str(data_dir), environment=plain_environment())
    assert done.returncode == 2
    assert "is no port: 1 to 65535" in done.stderr
    assert not (data_dir / "postgres").exists()


def test_help_starts_nothing(data_dir: Path) -> None:
    done = manage("up", "--help", "--data-dir", str(data_dir), environment=plain_environment())
    assert done.returncode == 0
    assert "--no-discover" in done.stdout
    assert not (data_dir / "postgres").exists()


def test_who_runs_on_another_database_is_told_so(data_dir: Path) -> None:
    """Commands beside an `up` on a server of one's own must not answer from an empty embedded one."""
    from webapp.embedded.data_dir import ProcessId, UpState

    data_dir.mkdir()
    me = ProcessId.of(os.getpid())
    assert me is not None
    UpState(me, "http://127.0.0.1:1/", 1, "postgresql://db.example/team", embedded=False, token="t").write(data_dir)
    with lock(data_dir / "up.lock"):
        done = manage("showmigrations", "--data-dir", str(data_dir), environment=plain_environment())
    assert done.returncode == 1
    assert done.stderr == (
        "`up` runs here on postgresql://db.example/team; set DATABASE_URL to it for this command too.\n"
    )
