"""The door: links that open once, tokens that are kept as hashes, strangers who stay outside."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from webapp.auth import digest, issue_link, issue_token, redeem_link, token_by_text
from webapp.models import ApiToken, Membership, Role, Scope, SignInLink, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def member() -> Membership:
    user = User.objects.create_user("ada", password="a long pass phrase")
    return Membership.objects.create(
        user=user, workspace=Workspace.objects.create(name="One", slug="one"), role=Role.OPERATOR
    )


def test_a_link_signs_in_once(client: Client, member: Membership) -> None:
    address = f"/sign-in/{issue_link(member.user)}"

    first = client.get(address)
    assert (first.status_code, first["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(member.user.pk)

    second = Client().get(address)
    assert (second.status_code, second["Location"]) == (302, "/sign-in")
