"""`token`: make a key for a program. It is shown once."""

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.auth import issue_token
from webapp.models import Membership, Scope
from webapp.workspaces import local_workspace


class Command(BaseCommand):
    help = "Make an API token and print it, once. Send it as `Authorization: Bearer …`."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="what the token is for")
        parser.add_argument(
            "--scope", choices=Scope.values, default=Scope.READ.value, help="what it opens (default: read)"
        )
        parser.add_argument("--user", metavar="NAME", help="in whose name it acts (default: the local person)")
        parser.add_argument(
            "--workspace", metavar="SLUG", help="what it opens (default: that person's first workspace)"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["user"] or local_workspace()[0].username
        places = Membership.objects.filter(user__username=name).select_related("user", "workspace")
        if options["workspace"]:
            places = places.filter(workspace__slug=options["workspace"])
        place = places.first()
        if place is None:
            where = f" in workspace {options['workspace']!r}" if options["workspace"] else ""
            raise CommandError(f"There is no member {name!r}{where}.")
        token, text = issue_token(
            workspace=place.workspace, user=place.user, name=options["name"], scope=Scope(options["scope"])
        )
        if options["json"]:
            self.stdout.write(
                json.dumps({"id": token.pk, "token": text, "scope": token.scope, "workspace": place.workspace.slug})
            )
        else:
            self.stdout.write(text)
