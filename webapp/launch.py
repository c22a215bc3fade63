"""How every command comes to a database, a broker and, where it needs one, a worker.

`DATABASE_URL` wins. Else the embedded server of the data folder is used: the one of a running `up`, or one started for
the command's own time. An error is one line on stderr; exit codes are 0 done, 1 refused or failed, 2 usage.
"""

import io
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NoReturn

from webapp import env
from webapp.embedded import broker
from webapp.embedded import data_dir as folders
from webapp.embedded.places import PostgresError
from webapp.embedded.shared import attached

# These ask no database, or (`up`) bring their own, or (`push`) speak to another server.
WITHOUT_DATABASE: Final = frozenset(
    {
        "",
        "help",
        "version",
        "up",
        "push",
        "screenshots",
        "check",
        "makemigrations",
        "collectstatic",
        "findstatic",
        "makemessages",
    }
    | {"compilemessages", "diffsettings", "startapp", "startproject"}
)
# These work on the database as it is: they are how one looks at migrations or moves between them.
AS_IT_IS: Final = frozenset({"migrate", "showmigrations", "sqlmigrate", "dbshell"})
# Commands that wait for a task, and the options with which they do not.
NEED_WORKER: Final = {"compact": frozenset({"--preview", "--no-wait"})}

UNDEFINED_TABLE: Final = "42P01"
CHECKOUT: Final = Path(__file__).resolve().parent.parent
WORKER: Final = (
    *(sys.executable, "-m", "celery", "-A", "webapp", "worker", "--loglevel", "INFO", "--queues", "ingest,compaction"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
)


class LaunchError(Exception):
    """The command cannot be given what it needs. The message is one line for a person."""


def main(argv: Sequence[str]) -> int:
    """Run a management command and return its exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    arguments, given = take_option(list(argv), "--data-dir")
    if given is not None:
        os.environ["PALIMPSEST_DATA_DIR"] = str(Path(given).expanduser().absolute())
    loud = "--traceback" in arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its number, and the command goes on.
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _end)
    try:
        with ExitStack() as stack:
            if needs_database(arguments):
                stack.enter_context(a_database(folders.locate(), current=arguments[1] not in AS_IT_IS))
                if needs_worker(arguments):
                    stack.enter_context(a_worker(folders.locate()))
            return execute(arguments)
    except SystemExit as end:
        return _code(end)
    except KeyboardInterrupt:
        return complain("Interrupted; what was stored before is kept.")
    except BrokenPipeError:
        # Whoever read us has read enough. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:
        if loud:
            traceback.print_exc()
            return 1
        return complain(in_words(error), code=getattr(error, "returncode", 1))


def take_option(arguments: list[str], name: str) -> tuple[list[str], str | None]:
    """Take `name VALUE` or `name=VALUE` out of the arguments, wherever it stands; give the rest and the value."""
    rest: list[str] = []
    value: str | None = None
    walk = iter(arguments)
    for argument in walk:
        if argument == name:
            value = next(walk, None)
            if value is None:
                print(f"{name} needs a value.", file=sys.stderr)
                raise SystemExit(2)
        elif argument.startswith(f"{name}="):
            value = argument.removeprefix(f"{name}=")
        else:
            rest.append(argument)
    return rest, value


def needs_database(arguments: Sequence[str]) -> bool:
    """Say whether this command line asks a database anything. Asking for help never does."""
    command = arguments[1] if len(arguments) > 1 else ""
    if command.startswith("-") or {"--help", "-h"} & set(arguments[1:]):
        return False
    if arguments[1:3] == ["bench", "retention"]:  # it reads files alone
        return False
    return command not in WITHOUT_DATABASE or (command == "check" and "--database" in arguments)


def needs_worker(arguments: Sequence[str]) -> bool:
    """Say whether this command waits for a task that nobody would do: no `up` runs and no broker is named."""
    unless = NEED_WORKER.get(arguments[1])
    if unless is None or unless & set(arguments[2:]) or os.environ.get("CELERY_BROKER_URL"):
        return False
    return folders.running_up(folders.locate()) is None


@contextmanager
def a_database(data_dir: Path, *, current: bool = True) -> Iterator[None]:
    """Name a database in the environment for the block; where it is our own, started and (`current`) migrated."""
    if os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE"):
        yield
        return
    up = folders.running_up(data_dir)
    if up is not None and not up.embedded:
        raise LaunchError(f"`up` runs here on {up.database}; set DATABASE_URL to it for this command too.")
    make_folder(data_dir)
    with attached(data_dir) as server:
        os.environ["DATABASE_URL"] = server.url()
        os.environ.setdefault("PALIMPSEST_LOCAL", "1")
        if current:
            prepare()
        yield


def make_folder(data_dir: Path) -> None:
    """Make the data folder, or say why it cannot be used."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        if not os.access(data_dir, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise LaunchError(
            f"The data folder {data_dir} cannot be written: {error.strerror}. "
            "Name another one with --data-dir or PALIMPSEST_DATA_DIR."
        ) from error


def prepare() -> bool:
    """Bring the database up to date and make sure that somebody lives in it; say whether anything was migrated.

    Sets Django up. Two commands may come here together; the second waits for the first.
    """
    import django  # noqa: PLC0415 -- the settings read DATABASE_URL, which is known only now

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415 -- as above
    from django.db import connection  # noqa: PLC0415 -- as above
    from django.db.migrations.executor import MigrationExecutor  # noqa: PLC0415 -- as above

    from webapp.workspaces import local_workspace  # noqa: PLC0415 -- as above

    executor = MigrationExecutor(connection)
    behind = bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if behind:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtext('palimpsest.migrate'))")
            call_command("migrate", verbosity=0, interactive=False)
            cursor.execute("SELECT pg_advisory_unlock(hashtext('palimpsest.migrate'))")
    local_workspace()
    connection.close()
    return behind


@contextmanager
def a_worker(data_dir: Path) -> Iterator[None]:
    """Run a Celery worker for the block; it takes messages as soon as it is up, so nobody needs to wait for it."""
    logs = data_dir / "logs"
    make_folder(logs)
    # On a server of one's own nobody may have laid the broker yet.
    place = broker.address(None, env.secret("DATABASE_URL")).conninfo
    if place is not None:
        broker.lay(place)
    with (logs / "worker.log").open("ab") as log:
        worker = subprocess.Popen(
            [*WORKER, "--concurrency", "1"],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
    finally:
        worker.terminate()
        try:
            worker.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def execute(arguments: list[str]) -> int:
    """Let Django run the command. Errors come up to `main`, which puts them into one line."""
    if arguments[1:2] == ["up"] and not {"--help", "-h"} & set(arguments[2:]):
        return execute_up(arguments)
    import django  # noqa: PLC0415 -- only now is the environment that the settings read complete
    from django.core.management import ManagementUtility, get_commands  # noqa: PLC0415 -- as above

    if len(arguments) > 1 and not arguments[1].startswith("-") and arguments[1] != "help":
        # With this option Django raises a command's error instead of printing it with the name of its class.
        arguments = [*arguments[:2], "--traceback", *(one for one in arguments[2:] if one != "--traceback")]
        # The commands of apps are known only once the apps are.
        django.setup()
        if arguments[1] not in get_commands():
            return complain(f"There is no command {arguments[1]!r}; `manage.py help` lists them.", code=2)
    ManagementUtility(arguments).execute()
    return 0


def execute_up(arguments: list[str]) -> int:
    """Run `up` before Django reads its settings: it is `up` that finds out which database they are to name."""
    from webapp.management.commands.up import Command, options_from  # noqa: PLC0415 -- it imports this module
    from webapp.supervisor import up  # noqa: PLC0415 -- as above

    command = Command()
    # Else a wrong option raises, as it should for callers in code, instead of printing the usage.
    vars(command)["_called_from_command_line"] = True
    parser = command.create_parser(arguments[0], "up")
    return up(options_from(vars(parser.parse_args(arguments[2:]))))


def in_words(error: Exception) -> str:
    """Say in one line what went wrong and what to do."""
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415 -- Django may be what is broken
    from django.core.management import CommandError  # noqa: PLC0415 -- as above
    from django.db import InterfaceError, OperationalError, ProgrammingError  # noqa: PLC0415 -- as above
    from kombu.exceptions import OperationalError as BrokerError  # noqa: PLC0415 -- as above

    if isinstance(error, CommandError | PostgresError | LaunchError | ImproperlyConfigured):
        return str(error)
    if isinstance(error, ProgrammingError) and getattr(error.__cause__, "sqlstate", None) == UNDEFINED_TABLE:
        return "The database has no tables for this yet; `manage.py migrate` makes them."
    if isinstance(error, BrokerError):
        return f"The broker is not reachable: {_first_line(error)} Nothing was sent; see CELERY_BROKER_URL."
    if isinstance(error, OperationalError | InterfaceError) or type(error).__module__.startswith("psycopg"):
        return f"The database is not reachable: {_first_line(error)} What was stored before is kept."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return f"{type(error).__name__}: {_first_line(error)} (--traceback shows where)"


def complain(message: str, *, code: int = 1) -> int:
    print(message, file=sys.stderr)
    return code


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    line = lines[0].rstrip(" .") if lines else "no reason was given"
    return f"{line}."


def _code(end: SystemExit) -> int:
    if isinstance(end.code, str):
        return complain(end.code)
    return int(end.code or 0)


def _end(signum: int, frame: object) -> NoReturn:
    """Leave by the ordinary way out, so that what was started for this command is stopped."""
    raise SystemExit(128 + signum)
