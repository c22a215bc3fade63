"""`ingest`: take in files, folders, the sessions of this machine's agents, or the bundled sample."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from sessions.abreast import crew, usual
from sessions.answers import taken_all
from sessions.discover import agent_folders, files_under
from sessions.ingest import Taken
from sessions.ingesting import ingest_paths
from sessions.management.base import SessionsCommand, counted, figures
from sessions.sample import SAMPLE

QUIET = frozenset({"unchanged", "skipped", "kept"})  # outcomes of a discovery that are only counted
HELD = frozenset({"added", "grown", "unchanged", "same", "rewritten", "kept"})  # the file is here, now or already


class Command(SessionsCommand):
    help = "Take in session files: PATH is a file or a folder. What is here already is left as it is."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a session file, or a folder with some")
        parser.add_argument("--discover", action="store_true", help="also take in what the agents of this machine keep")
        parser.add_argument(
            "--processes",
            type=int,
            default=usual(),
            metavar="N",
            help="take so many files in abreast (%(default)s here)",
        )
        parser.add_argument("--sample", action="store_true", help="also take in a small bundled sample session")

    def answer(self, options: dict[str, Any]) -> None:
        paths: list[Path] = list(options["paths"])
        if not (paths or options["discover"] or options["sample"]):
            raise CommandError("Name a PATH, or --discover, or --sample.", returncode=2)
        if options["sample"]:
            paths.append(SAMPLE)
        folders = [folder for _, folder in agent_folders(Path.home(), os.environ)] if options["discover"] else []
        teller = _Teller(self, silent=options["as_json"], quiet=bool(folders) and options["verbosity"] < 2)
        with crew(options["processes"]) as beside:
            taken = ingest_paths(self.workspace(options), teller.counted([*paths, *folders]), told=teller, crew=beside)
        teller.clear()
        if options["as_json"]:
            self.print_json(taken_all(taken))
        else:
            self._tell_sum(taken, folders, discover=options["discover"])
        self._judge(taken, options["paths"])

    def _tell_sum(self, taken: Sequence[Taken], folders: Sequence[Path], *, discover: bool) -> None:
        if discover and not folders:
            self.stdout.write("No folder of an agent known here was found on this machine.")
        if not taken:
            return
        totals = taken_all(taken)["totals"]
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(totals["outcomes"].items()))
        self.stdout.write(
            f"{counted(totals['files'], 'file')}: {outcomes}. {counted(totals['sessions'], 'session')}, "
            f"{counted(totals['entries'], 'entry', 'entries')}, {figures(totals['added'])} of them new."
        )

    def _judge(self, taken: Sequence[Taken], paths: Sequence[Path]) -> None:
        """Exit 1 where a file failed, or where nothing of what was named is a session."""
        failed = [one for one in taken if one.outcome == "failed"]
        if len(failed) == 1:
            raise CommandError(f"{failed[0].path}: {failed[0].reason}")
        if failed:
            raise CommandError(f"{len(failed)} files failed; the first: {failed[0].path}: {failed[0].reason}")
        if not paths or any(one.outcome in HELD for one in taken):
            return
        if not taken:
            raise CommandError(f"No session found: {', '.join(map(str, paths))} holds no file that may be one.")
        if len(taken) == 1:
            raise CommandError(f"No session found: {taken[0].path} is {taken[0].reason}.")
        raise CommandError(f"No session found in {len(taken)} files; the first, {taken[0].path}, is {taken[0].reason}.")


class _Teller:
    """One line for each file, and on a terminal how far it is."""

    def __init__(self, command: Command, *, silent: bool, quiet: bool) -> None:
        self.command = command
        self.silent = silent
        self.quiet = quiet
        self.done = 0
        self.all: int | None = None
        self.live = not silent and sys.stderr.isatty()

    def counted(self, paths: list[Path]) -> list[Path]:
        if self.live:
            self.all = sum(1 for _ in files_under(paths))
        return paths

    def __call__(self, taken: Taken) -> None:
        self.done += 1
        if self.silent:
            return
        self.clear()
        if not (self.quiet and taken.outcome in QUIET):
            self.command.stdout.write(line(taken))
        if self.live:
            self._write(f"{self.done} of {self.all} files\r")

    def clear(self) -> None:
        if self.live:
            self._write("\x1b[K")

    def _write(self, text: str) -> None:
        # Django would paint what goes to stderr red: this is no error.
        self.command.stderr.write(text, style_func=str, ending="")
        self.command.stderr.flush()


def line(taken: Taken) -> str:
    """What became of a file, on one line."""
    words = f"{taken.outcome:<9} {taken.path}"
    if taken.session is not None and taken.outcome != "kept":
        words += f"  {taken.session[:8]}  {taken.agent}, {counted(taken.entries, 'entry', 'entries')}, {counted(taken.turns, 'turn')}"
        if taken.added and taken.added != taken.entries:
            words += f", {taken.added:,} new"
        if taken.malformed:
            words += f", {taken.malformed:,} malformed"
    problems = [taken.reason, *taken.problems] if taken.reason else taken.problems
    return f"{words}  ({'; '.join(problems)})" if problems else words
