"""`diff`: how the context of one version or step differs from another's."""

from __future__ import annotations

import argparse
from typing import Any

from sessions.findings import diff_of
from sessions.management.base import SessionCommand, counted, first_line


class Command(SessionCommand):
    help = "Show what differs between two contexts of a session: entries added and gone, masked, and text put in."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("left", metavar="LEFT", help="head, native, v3 or step12")
        parser.add_argument("right", metavar="RIGHT", help="head, native, v4 or step13")

    def act(self, options: dict[str, Any]) -> Any:
        return diff_of(self.session(options), options["left"], options["right"])

    def tell(self, value: Any) -> None:
        left, right = value["left"], value["right"]
        self.stdout.write(
            f"{left['name']}: {counted(left['items'], 'item')}, {counted(left['tokens'], 'token')} → {right['name']}: {counted(right['items'], 'item')}, "
            f"{counted(right['tokens'], 'token')} ({value['meter']}). {counted(value['differences'], 'difference')}."
        )
        for block in value["blocks"]:
            self.stdout.write(
                f"{block['sign']} {place(block):<15} {block['left']:>9,} → {block['right']:<9,} {about(block)}"
            )


def place(block: dict[str, Any]) -> str:
    """Where a block stands: entries 12–40, or the entry behind which text is put in."""
    if not block["kinds"]:
        return f"after {block['first']}" if block["first"] >= 0 else "at the start"
    if block["first"] == block["last"]:
        return str(max(0, block["first"]))
    return f"{max(0, block['first'])}–{block['last']}"


def about(block: dict[str, Any]) -> str:
    change = block["change"]
    if not block["kinds"]:
        body = block["is"] or block["was"]
        return f"{change} {body['kind']}: {first_line(body['words'], 80)}"
    kinds = ", ".join(
        f"{count:,} {kind.replace('_', ' ')}" for kind, count in sorted(block["kinds"].items(), key=lambda one: -one[1])
    )
    if block["items"] == 1 and block["words"]:
        return f"{change} {kinds.split(' ', 1)[1]} {block['name']}: {first_line(block['words'], 80)}"
    return f"{change} {kinds}"
