"""`up`: run everything on this machine, and print where."""

import argparse
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.supervisor import DEFAULT_PORT, Options


class Command(BaseCommand):
    help = (
        "Start the database, the web server, a worker and the watcher; take in this machine's sessions; print a link."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data-dir", help="folder for everything that is kept (default: the user's data folder)")
        parser.add_argument(
            "--port", type=port_number, help=f"port of the pages (default: {DEFAULT_PORT}, or the next free one)"
        )
        parser.add_argument("--no-discover", action="store_true", help="do not look for the sessions of this machine")
        parser.add_argument("--open", action="store_true", help="open the pages in the browser")

    def handle(self, *args: Any, **options: Any) -> None:
        raise CommandError("`up` is started by manage.py alone: it has to run before the settings are read.")


def port_number(text: str) -> int:
    """A port as it can be listened on."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 1 to 65535.")
    return int(text)


def options_from(parsed: Mapping[str, Any]) -> Options:
    """Translate the parsed command line."""
    return Options(port=parsed["port"], discover=not parsed["no_discover"], open_browser=parsed["open"])
