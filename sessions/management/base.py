"""What the commands share: `--json` and `--workspace`, a session by its name, and how a refusal ends.

Exit codes: 0 done, 1 refused or failed with the reason on stderr, 2 usage (which argparse sees to).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError

from sessions.models import Session
from sessions.naming import Ambiguous, NoSuchSession, find_session
from sessions.versions import Refused
from sessions.workspaces import NoSuchWorkspace, local_workspace


class SessionsCommand(BaseCommand):
    """A command whose `act` returns what `--json` prints; without it, `tell` puts the same into words."""

    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
        parser.add_argument("--workspace", metavar="SLUG", help="the workspace to work in (default: the first)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.answer(options)
        except (NoSuchSession, Ambiguous, NoSuchWorkspace, Refused) as refusal:
            raise CommandError(str(refusal)) from refusal
        except BrokenPipeError:
            # The reader has had enough (`source … | head`). Python would complain again when it closes stdout.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def answer(self, options: dict[str, Any]) -> None:
        value = self.act(options)
        if options["as_json"]:
            self.print_json(value)
        else:
            self.tell(value)

    def act(self, options: dict[str, Any]) -> Any:
        """Do it, and return what there is to say as JSON values."""
        raise NotImplementedError

    def tell(self, value: Any) -> None:
        """Say it in words."""
        raise NotImplementedError

    def print_json(self, value: Any) -> None:
        try:  # a tenth of the time that Python's own takes, which a long preview is noticed by
            text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
        except TypeError:  # a lone surrogate, a number of more than 64 bits
            text = json.dumps(value, ensure_ascii=False, indent=2)
        self.stdout.write(text)

    def workspace(self, options: dict[str, Any]) -> Any:
        return local_workspace(options.get("workspace"))

    def session(self, options: dict[str, Any]) -> Session:
        """The session that was named: in the workspace named, else in any."""
        slug = options.get("workspace")
        return find_session(options["session"], workspace=None if slug is None else local_workspace(slug))


class SessionCommand(SessionsCommand):
    """A command about one session, its first argument."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("session", metavar="SESSION", help="the beginning of its id, or the agent's own id")


def figures(tokens: int | None) -> str:
    """A number for a person."""
    return "not known" if tokens is None else f"{tokens:,}"


def counted(number: int | None, one: str, many: str = "") -> str:
    """A number with its noun: 1 turn, 2 turns, 1,024 entries; `many` where the plural is no added s."""
    return f"{figures(number)} {one if number == 1 else many or one + 's'}"


def first_line(text: str, room: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= room else line[: room - 1] + "…"
