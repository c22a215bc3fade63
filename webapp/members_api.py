"""The API of people: who is in the workspace and what each may do. For admins, and tokens with the scope admin."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.urls import reverse
from ninja import Field, Router, Schema
from ninja.responses import Status

from webapp import members
from webapp.auth import managed_by
from webapp.members import Invited
from webapp.models import Membership

router = Router(tags=["people"])
RoleName = Literal["auditor", "viewer", "operator", "admin"]


class MemberOut(Schema):
    name: str
    role: RoleName
    since: Any


class InvitedOut(MemberOut):
    link: str | None = Field(description="opens once, within 12 hours; null for somebody who signs in already")


class MemberIn(Schema):
    name: str = Field(max_length=150)
    role: RoleName = "viewer"


class RoleIn(Schema):
    role: RoleName


@router.get("/members", response=list[MemberOut], summary="Who is in the workspace")
def list_members(request: HttpRequest) -> Any:
    return [member_row(one) for one in members.members_of(managed_by(request))]


@router.post("/members", response={201: InvitedOut}, summary="Add a person; the answer has a sign-in link, once")
def invite_member(request: HttpRequest, wanted: MemberIn) -> Any:
    invited = members.invite(managed_by(request), name=wanted.name, role=wanted.role, by=_person(request))
    return Status(201, _invited(request, invited))


@router.put("/members/{name}", response=MemberOut, summary="Say what a member may do")
def set_member_role(request: HttpRequest, name: str, wanted: RoleIn) -> Any:
    return member_row(members.set_role(managed_by(request), name=name, role=wanted.role, by=_person(request)))


@router.post("/members/{name}/link", response=InvitedOut, summary="A fresh sign-in link for a member")
def link_member(request: HttpRequest, name: str) -> Any:
    return _invited(request, members.link(managed_by(request), name=name, by=_person(request)))


@router.delete("/members/{name}", response={204: None}, summary="Take a member out of the workspace")
def remove_member(request: HttpRequest, name: str) -> Any:
    members.remove(managed_by(request), name=name, by=_person(request))
    return Status(204, None)


def member_row(member: Membership) -> dict[str, Any]:
    """A member for programs."""
    return {"name": member.user.username, "role": member.role, "since": member.created_at.isoformat()}


def _invited(request: HttpRequest, invited: Invited) -> dict[str, Any]:
    secret = invited.secret
    address = None if secret is None else request.build_absolute_uri(reverse("sign-in-link", args=[secret]))
    return {**member_row(invited.member), "link": address}


def _person(request: HttpRequest) -> Any:
    return request.user
