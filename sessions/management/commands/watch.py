"""`watch`: take in what the agents write, as they write it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import InterfaceError, OperationalError, close_old_connections

from sessions import watched
from sessions.abreast import crew, usual
from sessions.discover import agent_folders, may_hold, meant
from sessions.ingest import CHANGED, Taken
from sessions.ingesting import ingest_paths
from sessions.intake import How
from sessions.management.base import SessionsCommand
from sessions.management.commands.ingest import line
from sessions.resting import Rests
from sessions.watching import Changes, changes

_SAID = frozenset({"added", "grown", "rewritten", "failed"})


class Command(SessionsCommand):
    help = "Watch the agents' folders (or PATHs) and take in what changes, until it is stopped."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a folder or file to watch")

    def answer(self, options: dict[str, Any]) -> None:
        stop = threading.Event()
        given: list[Path] = [path.absolute() for path in options["paths"]]

        def wanted() -> list[Path]:
            return given or [folder for _, folder in agent_folders(Path.home(), os.environ)]

        heart = _Heart(self, options, wanted)
        taker = _Taker(self, options, heart)
        taker.say("Watching " + (", ".join(map(str, wanted())) or "for the folders of agents; there is none yet"))
        with ended_by_signal(stop):
            for found in changes(wanted, stop, idle=taker.idle):
                taker.take(found)
        heart.stop()


class _Heart:
    """Writes down that the watcher lives, and whether it has read all there is. A database that does not answer is no news here."""

    def __init__(self, command: Command, options: dict[str, Any], wanted: Callable[[], list[Path]]) -> None:
        self.command = command
        self.options = options
        self.wanted = wanted
        self.last: float | None = None
        self.read = False  # what the last beat said

    def beat(self, *, read: bool) -> None:
        now = time.monotonic()
        # That all is read is said at once; that there is something to read, or nothing new, only every so often.
        if self.last is not None and now - self.last < watched.BEAT and not (read and not self.read):
            return
        self.last, self.read = now, read
        folders = [str(path) for path in self.wanted() if path.exists()]
        try:
            watched.beat(self.command.workspace(self.options), platform.node(), folders, read=read)
        except (OperationalError, InterfaceError):
            close_old_connections()

    def stop(self) -> None:
        try:
            watched.ended(self.command.workspace(self.options), platform.node())
        except (OperationalError, InterfaceError):
            return


class _Taker:
    """Takes changed files in; what the database did not take is tried again with the next changes."""

    def __init__(self, command: Command, options: dict[str, Any], heart: _Heart) -> None:
        self.command = command
        self.options = options
        self.heart = heart
        self.waiting: set[Path] = set()
        self.rests = Rests()

    def idle(self) -> None:
        if not self.waiting and (due := self.rests.due()):
            self.take_in(due)
        self.heart.beat(read=not (self.waiting or self.rests.held))

    def take(self, found: Changes) -> None:
        changed = {meant(path) for path in found.paths if path.is_dir() or may_hold(path)}
        self.take_in(self.rests.due(self.waiting | changed))

    def take_in(self, paths: set[Path]) -> None:
        if not paths:
            return
        try:
            close_old_connections()
            workspace = self.command.workspace(self.options)
            with crew(usual()) as beside:
                ingest_paths(workspace, sorted(paths), told=self.told, how=How.WATCH, crew=beside)
        except (OperationalError, InterfaceError) as error:
            self.waiting = paths
            self.say(f"The database did not answer; {len(paths)} changes wait for it: {_first_line(error)}")
        else:
            self.waiting = set()
            self.rests.done()

    def told(self, taken: Taken) -> None:
        self.heart.beat(read=False)
        if taken.outcome in CHANGED and ("#" in taken.path or taken.path.endswith(".json")):
            self.rests.read(taken.path, taken.size)
        if taken.outcome not in _SAID or (taken.outcome == "failed" and not Path(taken.path).exists()):
            return
        self.say(line(taken), taken)

    def say(self, words: str, taken: Taken | None = None) -> None:
        if not self.options["as_json"]:
            self.command.stdout.write(words)
        elif taken is not None:
            self.command.stdout.write(json.dumps(taken.to_json(), ensure_ascii=False))
        self.command.stdout.flush()


class ended_by_signal:  # noqa: N801 -- used as the function it reads as
    """While it holds, Ctrl-C and SIGTERM end the watch at once, and quietly."""

    def __init__(self, stop: threading.Event) -> None:
        self.stop = stop
        self.before: list[tuple[int, Any]] = []

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before.append((number, signal.signal(number, lambda *_: self.stop.set())))

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before:
            signal.signal(number, handler)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
