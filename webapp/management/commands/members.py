"""`members`: who is in the workspace and what each may do; adds, changes, links, removes."""

from __future__ import annotations

import argparse
from typing import Any

from django.urls import reverse

from sessions.management.base import SessionsCommand
from webapp import members
from webapp.embedded import data_dir
from webapp.members import Invited
from webapp.members_api import member_row
from webapp.models import Role


class Command(SessionsCommand):
    help = "Who is in the workspace and what each may do. Without a verb: lists them. A sign-in link is shown once."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        # What all commands take may stand behind the verb too.
        shared = argparse.ArgumentParser(add_help=False)
        shared.add_argument("--json", action="store_true", dest="as_json", default=argparse.SUPPRESS, help="print JSON")
        shared.add_argument("--workspace", metavar="SLUG", default=argparse.SUPPRESS, help="the workspace to work in")
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=argparse.ArgumentParser)
        add = verbs.add_parser("add", parents=[shared], help="add a person, and print a sign-in link")
        add.add_argument("name", metavar="NAME")
        add.add_argument("--role", choices=Role.values, default=Role.VIEWER.value, help="default: viewer")
        role = verbs.add_parser("role", parents=[shared], help="say what a member may do")
        role.add_argument("name", metavar="NAME")
        role.add_argument("role", metavar="ROLE", choices=Role.values, help=", ".join(Role.values))
        link = verbs.add_parser("link", parents=[shared], help="print a fresh sign-in link for a member")
        link.add_argument("name", metavar="NAME")
        verbs.add_parser("remove", parents=[shared], help="take a member out").add_argument("name", metavar="NAME")

    def act(self, options: dict[str, Any]) -> Any:
        workspace = self.workspace(options)
        name = options.get("name") or ""
        match options["verb"]:
            case "add":
                return self._invited(members.invite(workspace, name=name, role=options["role"]))
            case "role":
                return member_row(members.set_role(workspace, name=name, role=options["role"]))
            case "link":
                return self._invited(members.link(workspace, name=name))
            case "remove":
                members.remove(workspace, name=name)
                return {"name": name, "role": None}
            case _:
                return {"items": [member_row(one) for one in members.members_of(workspace)]}

    def tell(self, value: Any) -> None:
        for row in value.get("items", [value]):
            self.stdout.write(f"{row['name']:<24} {row['role'] or 'is no member any more'}")
        if value.get("link"):
            self.stdout.write(f"Sign in, once:  {value['link']}")

    def _invited(self, invited: Invited) -> dict[str, Any]:
        """The link at the address of a running `up`, else from the root of wherever the pages are served."""
        if invited.secret is None:
            return {**member_row(invited.member), "link": None}
        running = data_dir.running_up(data_dir.locate())
        address = reverse("sign-in-link", args=[invited.secret])
        return {**member_row(invited.member), "link": f"{running.url.rstrip('/')}{address}" if running else address}
