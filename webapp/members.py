"""Who is in a workspace and what each may do: the verbs that the page of people, the command and the API share.

A person comes in by a one-time link, which signs in as that person. So a link is made only of somebody whom this workspace alone
knows: else who manages one workspace could enter another.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from sessions.models import Event
from sessions.versions import Refused
from webapp.auth import issue_link
from webapp.models import Membership, Role, User, Workspace


@dataclass(frozen=True, slots=True)
class Invited:
    """A member and the secret of a link, the last part of its address; None for somebody who signs in otherwise already."""

    member: Membership
    secret: str | None


def members_of(workspace: Workspace) -> list[Membership]:
    """All members, by name."""
    return list(Membership.objects.filter(workspace=workspace).select_related("user").order_by("user__username"))


@transaction.atomic
def invite(workspace: Workspace, *, name: str, role: str, by: User | None = None) -> Invited:
    """Add a person, with a link by which they come in. Somebody known in another workspace is added without one.

    Refused: bad_name, no_such_role, member_already.
    """
    words = _name(name)
    wanted = _role(role)
    user = User.objects.filter(username=words).first()
    if user is None:
        user = User(username=words)
        user.set_unusable_password()
        user.save()
    if Membership.objects.filter(workspace=workspace, user=user).exists():
        raise Refused("member_already", _("%(name)s is a member already.") % {"name": words})
    alone = _known_here_alone(user, workspace)
    member = Membership.objects.create(workspace=workspace, user=user, role=wanted)
    _event(workspace, by, "member_added", name=words, role=wanted)
    return Invited(member, issue_link(user) if alone else None)


@transaction.atomic
def set_role(workspace: Workspace, *, name: str, role: str, by: User | None = None) -> Membership:
    """Say what a member may do from now on. Refused: no_such_role, no_such_member, last_admin."""
    wanted = _role(role)
    member = _member(workspace, name)
    before = member.role
    if before != wanted:
        _keeps_an_admin(workspace, member)
        member.role = wanted
        member.save(update_fields=["role"])
        _event(workspace, by, "member_role", name=member.user.username, before=before, role=wanted)
    return member


@transaction.atomic
def remove(workspace: Workspace, *, name: str, by: User | None = None) -> None:
    """Take a member out: no page and no token of theirs opens the workspace any more; what they did here stays. Refused as `set_role`."""
    member = _member(workspace, name)
    _keeps_an_admin(workspace, member)
    member.delete()
    _event(workspace, by, "member_removed", name=member.user.username, role=member.role)


@transaction.atomic
def link(workspace: Workspace, *, name: str, by: User | None = None) -> Invited:
    """A fresh link for a member whose last one was used or is too old. Refused: no_such_member, known_elsewhere."""
    member = _member(workspace, name)
    if not _known_here_alone(member.user, workspace):
        raise Refused(
            "known_elsewhere",
            _("%(name)s is known beyond this workspace: a link would open more than it.") % {"name": name},
        )
    _event(workspace, by, "member_link", name=member.user.username)
    return Invited(member, issue_link(member.user))


def _member(workspace: Workspace, name: str) -> Membership:
    """The member of that name, with every membership locked, so that of two who take an admin away one is refused."""
    members = Membership.objects.select_for_update(of=("self",)).select_related("user").filter(workspace=workspace)
    found = next((one for one in members.order_by("pk") if one.user.username == name.strip()), None)
    if found is None:
        raise Refused("no_such_member", _("%(name)s is no member of this workspace.") % {"name": name})
    return found


def _keeps_an_admin(workspace: Workspace, member: Membership) -> None:
    others = Membership.objects.filter(workspace=workspace, role=Role.ADMIN, user__is_active=True).exclude(pk=member.pk)
    if member.role == Role.ADMIN and not others.exists():
        raise Refused(
            "last_admin",
            _("%(name)s is the only admin: make somebody else one first.") % {"name": member.user.username},
        )


def _known_here_alone(user: User, workspace: Workspace) -> bool:
    return not user.is_superuser and not Membership.objects.filter(user=user).exclude(workspace=workspace).exists()


def _name(name: str) -> str:
    words = unicodedata.normalize("NFKC", name).strip()
    field = User._meta.get_field("username")
    try:
        field.clean(words, None)
    except ValidationError as error:
        raise Refused("bad_name", " ".join(error.messages)) from error
    return words


def _role(role: str) -> Role:
    if role not in Role.values:
        raise Refused(
            "no_such_role",
            _("There is no role %(role)s; there are: %(known)s.") % {"role": role, "known": ", ".join(Role.values)},
        )
    return Role(role)


def _event(workspace: Workspace, by: Any, what: str, **facts: str) -> None:
    Event.objects.create(workspace=workspace, who_id=getattr(by, "pk", None), what=what, facts=facts)
