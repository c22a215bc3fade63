"""`push`: send session files of this machine to another Palimpsest server, appended bytes only."""

from __future__ import annotations

import argparse
import json
import os
import platform
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sessions.discover import agent_folders, may_hold
from sessions.management.base import figures
from sessions.management.commands.watch import ended_by_signal
from sessions.pushing import Pushed, Sender
from sessions.remote import Denied, Remote
from sessions.watching import changes

QUIET = frozenset({"unchanged", "skipped", "same"})  # outcomes in a folder that are only counted
BAD = frozenset({"failed", "refused"})
RETRIED = 30.0  # seconds after which a watch tries again what the server did not take


class Command(BaseCommand):
    help = "Send the sessions under PATH to another Palimpsest server: only what it does not have yet."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a session file, or a folder with some")
        parser.add_argument("--to", required=True, metavar="URL", help="the server: https://palimpsest.example")
        parser.add_argument(
            "--token-file", required=True, type=Path, metavar="F", help="a file that holds a token with scope write"
        )
        parser.add_argument("--discover", action="store_true", help="also push what the agents of this machine keep")
        parser.add_argument("--watch", action="store_true", help="go on pushing what changes, until stopped")
        parser.add_argument(
            "--machine",
            default=platform.node() or "machine",
            metavar="NAME",
            help="how the server is to call this machine (default: its name)",
        )
        parser.add_argument("--rewrite", action="store_true", help="send files that are shorter than the server's too")
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="print JSON; with --watch one line each"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        given: list[Path] = [path.absolute() for path in options["paths"]]
        if not (given or options["discover"]):
            raise CommandError("Name a PATH, or --discover.", returncode=2)
        stop = threading.Event()
        sender = self._sender(options, stop)
        try:
            if options["watch"]:
                with ended_by_signal(stop):
                    _Watch(self, sender, options, given, stop).run()
            else:
                self._once(sender, options, given)
        except Denied as denied:
            raise CommandError(f"{denied} (the token in {options['token_file']})") from denied

    def _sender(self, options: dict[str, Any], stop: threading.Event) -> Sender:
        try:
            token = options["token_file"].read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise CommandError(
                f"The token file {options['token_file']} cannot be read: {why}.", returncode=2
            ) from error
        if not token or not token.isascii() or len(token.split()) != 1:
            raise CommandError(f"The token file {options['token_file']} does not hold one token.", returncode=2)
        try:
            remote = Remote(options["to"], token, wait=stop.wait)
        except ValueError as error:
            raise CommandError(f"--to: {error}", returncode=2) from error
        if remote.in_the_clear:
            self.stderr.write("Over http:// the token and the sessions can be read on their way; use https://.", str)
        return Sender(remote, options["machine"].replace("/", "-"), rewrite=options["rewrite"], stopped=stop.is_set)

    def _once(self, sender: Sender, options: dict[str, Any], given: list[Path]) -> None:
        quiet = options["verbosity"] < 2

        def told(one: Pushed) -> None:
            if not options["as_json"] and not (quiet and one.outcome in QUIET and Path(one.path) not in given):
                self.stdout.write(line(one))

        folders = found_folders() if options["discover"] else []
        pushed = sender.push([*given, *folders], told)
        if options["as_json"]:
            self.stdout.write(json.dumps(all_pushed(pushed), ensure_ascii=False, indent=2))
        else:
            sums = all_pushed(pushed)["totals"]
            outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(sums["outcomes"].items()))
            self.stdout.write(
                f"{sums['files']} files{': ' + outcomes if outcomes else ''}. {figures(sums['sent'])} bytes sent."
            )
        self._judge(pushed, given)

    def _judge(self, pushed: Sequence[Pushed], given: Sequence[Path]) -> None:
        """Exit 1 where the server did not get a file, or where nothing of what was named is a session."""
        bad = [one for one in pushed if one.outcome in BAD]
        if bad:
            more = "" if len(bad) == 1 else f" ({len(bad)} files were not pushed; this is the first)"
            raise CommandError(f"{bad[0].path}: {bad[0].reason}{more}")
        if given and all(one.outcome == "skipped" for one in pushed):
            first = f"; {pushed[0].path}: {pushed[0].reason}" if pushed else ""
            raise CommandError(f"No session found in {', '.join(map(str, given))}{first}")


class _Watch:
    """Pushes what changes. What failed because the server was away is tried again; what it does not want is not, until it changes."""

    def __init__(
        self, command: Command, sender: Sender, options: dict[str, Any], given: list[Path], stop: threading.Event
    ) -> None:
        self.command = command
        self.sender = sender
        self.options = options
        self.given = given
        self.stop = stop
        self.waiting: set[Path] = set()
        self.quiet_looks = 0

    def wanted(self) -> list[Path]:
        return [*self.given, *(found_folders() if self.options["discover"] else [])]

    def run(self) -> None:
        if not self.options["as_json"]:
            self.say(
                "Pushing what changes in "
                + (", ".join(map(str, self.wanted())) or "agents' folders; there is none yet")
            )
        for found in changes(self.wanted, self.stop, idle=self.idle):
            self.push({path for path in found.paths if path.is_dir() or may_hold(path)})

    def idle(self) -> None:
        self.quiet_looks += 1
        if self.waiting and self.quiet_looks * 2 >= RETRIED:
            self.push(set())

    def push(self, paths: set[Path]) -> None:
        self.quiet_looks = 0
        paths, self.waiting = paths | self.waiting, set()
        self.sender.push(sorted(path for path in paths if path.exists()), self.told)

    def told(self, one: Pushed) -> None:
        if one.passing:
            self.waiting.add(Path(one.path.partition("#")[0]))
        if one.outcome in QUIET:
            return
        self.say(json.dumps(one.to_json(), ensure_ascii=False) if self.options["as_json"] else line(one))

    def say(self, words: str) -> None:
        self.command.stdout.write(words)
        self.command.stdout.flush()


def found_folders() -> list[Path]:
    return [folder for _, folder in agent_folders(Path.home(), os.environ)]


def line(one: Pushed) -> str:
    """What became of a file, on one line."""
    words = f"{one.outcome:<9} {one.path}"
    if one.session is not None:
        words += f"  {one.session[:8]}"
    if one.sent:
        words += f"  {one.sent:,} of {one.size:,} bytes sent"
    return f"{words}  ({one.reason})" if one.reason else words


def all_pushed(pushed: Sequence[Pushed]) -> dict[str, Any]:
    """What became of files, and the sums over them."""
    outcomes: dict[str, int] = {}
    for one in pushed:
        outcomes[one.outcome] = outcomes.get(one.outcome, 0) + 1
    return {
        "files": [one.to_json() for one in pushed],
        "totals": {"files": len(pushed), "outcomes": outcomes, "sent": sum(one.sent for one in pushed)},
    }
