"""`token` on the command line: what it prints opens the API, within its scope."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from webapp.models import ApiToken

pytestmark = pytest.mark.django_db


def test_the_printed_token_opens_the_api() -> None:
    out = StringIO()
    call_command("token", "ci", "--json", stdout=out)
    made = json.loads(out.getvalue())

    headers = {"Authorization": f"Bearer {made['token']}"}
    assert Client().get("/api/sessions", headers=headers).status_code == 200
    assert (made["scope"], made["workspace"], ApiToken.objects.get().name) == ("read", "local", "ci")


def test_a_stranger_has_no_token() -> None:
    with pytest.raises(CommandError, match="There is no member 'eve'"):
        call_command("token", "ci", "--user", "eve")
