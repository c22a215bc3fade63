"""Where agents on this machine look for their sessions, and how a new file comes to lie there: whole or not at all, never over another."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from django.utils.translation import gettext as _

from sessions.versions import Refused
from sessions.writers.base import File

LIVE = 300  # seconds since its last change within which a session's own file looks as if its agent had it open

type Place = Callable[[str, str | None, Path, Mapping[str, str]], Path | None]


def place_of(agent: str, name: str, cwd: str | None, home: Path, env: Mapping[str, str]) -> Path | None:
    """Where the agent looks for a file of this name; None: it has no such place, or the session says no folder to find it by."""
    place = _PLACES.get(agent)
    return None if place is None else place(name, cwd, home, env)


def put(files: Iterable[tuple[Path, File]]) -> list[Path]:
    """Write new files: each under another name first, flushed to the disk, then named. Refused where one is there already.

    Where one of several cannot be written, none of them stays.
    """
    done: list[Path] = []
    try:
        for path, file in files:
            _put(path, file.data)
            done.append(path)
    except FileExistsError as error:
        _take_away(done)
        words = _("There is a file %(path)s already: nothing was written.") % {
            "path": error.filename2 or error.filename
        }
        raise Refused("exists", words) from error
    except OSError as error:
        _take_away(done)
        code = {errno.ENOSPC: "no_space", errno.EDQUOT: "no_space"}.get(error.errno or 0, "not_writable")
        words = _("Nothing was written: %(path)s: %(reason)s.") % {
            "path": error.filename or "",
            "reason": error.strerror or str(error),
        }
        raise Refused(code, words) from error
    return done


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    # No agent looks at a name that begins so.
    waiting = path.parent / f".palimpsest-{secrets.token_hex(8)}.tmp"
    try:
        with os.fdopen(os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(waiting, path)  # unlike a rename it never takes the place of a file that came meanwhile
    finally:
        waiting.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _take_away(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def live_because(path: str, size: int) -> str | None:
    """Why a session's own file looks as if its agent were still at work; None where it does not, or lies elsewhere."""
    file = Path(path.partition("#")[0])
    found = [one for one in (file, file.with_name(f"{file.name}-wal")) if one.is_file()]
    if not found:
        return None
    changed = max(one.stat().st_mtime for one in found)
    if time.time() - changed < LIVE:
        return _("its file changed within the last %(n)s minutes") % {"n": LIVE // 60}
    if "#" not in path and (more := file.stat().st_size - size) > 0:
        return _("its file holds %(n)s bytes that were not taken in yet") % {"n": f"{more:,}"}
    return None


# -- places -----------------------------------------------------------------------------------------------------------


def _claude_code(name: str, cwd: str | None, home: Path, env: Mapping[str, str]) -> Path | None:
    if cwd is None:
        return None
    root = Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else home / ".claude"
    slug = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    if len(slug) > 200:  # the agent ends a long one in a hash of its own: the folder that is there is taken
        there = sorted(path.name for path in (root / "projects").glob(f"{slug[:200]}-*"))
        if not there:
            return None
        slug = there[0]
    return root / "projects" / slug / name


def _codex(name: str, cwd: str | None, home: Path, env: Mapping[str, str]) -> Path | None:
    root = Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else home / ".codex"
    year, month, day = name.removeprefix("rollout-")[:10].split("-")
    return root / "sessions" / year / month / day / name


def _gemini_cli(name: str, cwd: str | None, home: Path, env: Mapping[str, str]) -> Path | None:
    """In the folder of the project, which the agent must have been started in once: it names it itself."""
    if cwd is None:
        return None
    root = (Path(env["GEMINI_CLI_HOME"]) if env.get("GEMINI_CLI_HOME") else home) / ".gemini"
    try:
        known = json.loads((root / "projects.json").read_bytes())["projects"].get(cwd)
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    return root / "tmp" / known / "chats" / name if isinstance(known, str) and known else None


def _jcli(name: str, cwd: str | None, home: Path, env: Mapping[str, str]) -> Path | None:
    root = Path(env["J_DATA_PATH"]) if env.get("J_DATA_PATH") else home / ".jdata"
    return root / "agent" / "data" / "sessions" / name


def _trace(name: str, cwd: str | None, home: Path, env: Mapping[str, str]) -> Path | None:
    return (Path(cwd) if cwd is not None else home) / ".trace" / name


_PLACES: Mapping[str, Place] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "j-cli": _jcli,
    "trace": _trace,
}


def command(agent: str, files: Iterable[str], going_on: str, cwd: str | None, *, placed: bool) -> str:
    """The exact line for a shell that goes on from a session. `files`: where they lie; `placed`: the agent finds them there."""
    steps: list[str] = []
    if not placed:
        steps += [step for file in files for step in _bring(agent, file, cwd)]
    if cwd and going_on:
        steps.append(f"cd {shlex.quote(cwd)}")
    return " && ".join([*steps, *([going_on] if going_on else [])])


def _bring(agent: str, file: str, cwd: str | None) -> list[str]:
    name = Path(file).name
    match agent:
        case "claude-code" if cwd:
            folder = (
                f'"${{CLAUDE_CONFIG_DIR:-$HOME/.claude}}"/projects/{shlex.quote(re.sub(r"[^A-Za-z0-9]", "-", cwd))}'
            )
        case "codex":
            year, month, day = name.removeprefix("rollout-")[:10].split("-")
            folder = f'"${{CODEX_HOME:-$HOME/.codex}}"/sessions/{year}/{month}/{day}'
        case "j-cli":
            folder = f'"${{J_DATA_PATH:-$HOME/.jdata}}"/agent/data/sessions/{shlex.quote(Path(file).parent.name)}'
        case _:
            return []
    return [f"mkdir -p {folder}", f"cp -n {shlex.quote(file)} {folder}/"]
