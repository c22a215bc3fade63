"""The door: links that open once, tokens that are kept as hashes, strangers who stay outside."""

import json
from datetime import timedelta

import pytest
from django.db.models import Model
from django.test import Client, RequestFactory
from django.utils import timezone

from webapp.auth import digest, issue_link, issue_token, may, redeem_link, token_by_text
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


def test_a_link_that_is_too_old_or_of_someone_gone_does_not_open(member: Membership) -> None:
    old = issue_link(member.user, lifetime=timedelta(seconds=-1))
    assert redeem_link(old) is None

    fresh = issue_link(member.user)
    User.objects.update(is_active=False)
    assert redeem_link(fresh) is None
    assert redeem_link("never made") is None


def columns(row: Model) -> str:
    return json.dumps({field.attname: str(getattr(row, field.attname)) for field in row._meta.concrete_fields})


def test_neither_tokens_nor_links_are_kept_in_the_clear(member: Membership) -> None:
    token, text = issue_token(workspace=member.workspace, user=member.user, name="ci", scope=Scope.READ)
    link = issue_link(member.user)

    assert text.startswith("plm_")
    assert text not in columns(token)
    assert ApiToken.objects.get().digest == digest(text)
    assert link not in columns(SignInLink.objects.get())


def test_a_token_opens_until_it_is_revoked_or_too_old(member: Membership) -> None:
    token, text = issue_token(workspace=member.workspace, user=member.user, name="ci", scope=Scope.READ)
    assert token_by_text(text) == token
    assert token_by_text(text + "x") is None
    assert token_by_text("") is None

    ApiToken.objects.update(expires_at=timezone.now())
    assert token_by_text(text) is None
    ApiToken.objects.update(expires_at=None, revoked_at=timezone.now())
    assert token_by_text(text) is None


@pytest.mark.parametrize(
    ("scope", "role", "allowed"),
    [
        (Scope.READ, Role.ADMIN, {Role.VIEWER}),
        (Scope.WRITE, Role.ADMIN, {Role.VIEWER, Role.OPERATOR}),
        (Scope.ADMIN, Role.VIEWER, {Role.VIEWER}),
        (Scope.ADMIN, Role.ADMIN, {Role.VIEWER, Role.OPERATOR, Role.ADMIN}),
    ],
)
def test_a_token_allows_no_more_than_its_scope_and_its_owners_role(
    member: Membership, rf: RequestFactory, scope: Scope, role: Role, allowed: set[Role]
) -> None:
    from webapp.auth import Bearer

    Membership.objects.update(role=role)
    _, text = issue_token(workspace=member.workspace, user=member.user, name="ci", scope=scope)
    request = rf.get("/")
    assert Bearer().authenticate(request, text) == member.user
    assert request.workspace == member.workspace
    assert {wanted for wanted in Role if may(request, wanted)} - {Role.AUDITOR} == allowed
    assert ApiToken.objects.get().last_used_at is not None


def test_a_token_of_someone_who_left_the_workspace_opens_nothing(member: Membership, rf: RequestFactory) -> None:
    from webapp.auth import Bearer

    other = Workspace.objects.create(name="Two", slug="two")
    Membership.objects.create(user=member.user, workspace=other)
    _, text = issue_token(workspace=member.workspace, user=member.user, name="ci", scope=Scope.READ)
    member.delete()

    assert Bearer().authenticate(rf.get("/"), text) is None


def test_a_stranger_is_sent_to_the_door(client: Client) -> None:
    page = client.get("/", {"q": "x"})
    assert (page.status_code, page["Location"]) == (302, "/sign-in?next=/%3Fq%3Dx")


def test_a_strangers_fragment_request_loads_the_door_as_a_page(client: Client) -> None:
    answer = client.get("/", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/sessions/1"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer["HX-Redirect"] == "/sign-in?next=http%3A//testserver/sessions/1"

    elsewhere = client.get("/", headers={"HX-Request": "true", "HX-Current-URL": "http://elsewhere.example/"})
    assert elsewhere["HX-Redirect"] == "/sign-in?next=/"


def test_a_name_and_password_sign_in_and_out(client: Client, member: Membership) -> None:
    wrong = client.post("/sign-in", {"username": "ada", "password": "guessed"})
    assert wrong.status_code == 200
    assert "_auth_user_id" not in client.session

    right = client.post("/sign-in", {"username": "ada", "password": "a long pass phrase"})
    assert (right.status_code, right["Location"]) == (302, "/")

    assert client.get("/sign-out").status_code == 405, "a link in some page must not sign anybody out"
    assert client.post("/sign-out")["Location"] == "/sign-in"
    assert "_auth_user_id" not in client.session


def test_the_api_tells_a_stranger_in_json(client: Client) -> None:
    for headers in ({}, {"Authorization": "Bearer plm_guessed"}):
        answer = client.get("/api/sessions", headers=headers)
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "not_signed_in"


def test_the_api_wants_a_csrf_token_of_a_browser_and_none_of_a_program(member: Membership) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(member.user)
    assert browser.post("/api/sessions/none/undo").status_code == 403

    _, text = issue_token(workspace=member.workspace, user=member.user, name="ci", scope=Scope.WRITE)
    program = Client(enforce_csrf_checks=True)
    answer = program.post("/api/sessions/none/undo", headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_no_page_allows_script_or_style_that_is_written_into_it(client: Client) -> None:
    policy = client.get("/sign-in")["Content-Security-Policy"]
    assert "unsafe-inline" not in policy
    assert "default-src 'self'" in policy


def test_the_apis_description_is_served_from_here(client: Client) -> None:
    page = client.get("/api/docs")
    assert page.status_code == 200
    html = page.content.decode()
    assert "//cdn" not in html
    assert "/static/ninja/swagger-ui-bundle.js" in html
    assert "unsafe" not in page["Content-Security-Policy"]
    assert client.get("/api/openapi.json").json()["info"]["title"] == "Palimpsest"
