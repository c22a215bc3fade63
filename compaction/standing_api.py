"""The API of what stands: rules for automatic runs, and hooks.

Private addresses and commands are for who has the machine: the command line alone makes such hooks.
"""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import Field, Router, Schema

from compaction import rules
from compaction.hooks import keeping
from compaction.standing import hook_json, looks_json, rule_json
from compaction.strategies import RECOMMENDED
from sessions.http import session_of
from sessions.versions import Refused

router = Router(tags=["rules and hooks"])


class RuleIn(Schema):
    when: Literal["threshold", "goal_completed", "goal_abandoned"]
    session: UUID | None = Field(None, description="for one session; else `project`, else the whole workspace")
    project: str | None = None
    window_rule: str | None = Field(None, description="whose threshold; null: the session's own agent's")
    strategy: str = RECOMMENDED
    params: dict[str, Any] = Field(default_factory=dict)
    summariser: str = "extractive"
    model: str | None = None
    extractive_allowed: bool = False
    on: bool = True


class HookIn(Schema):
    name: str
    event: Literal["pre_compact", "post_compact"] = "pre_compact"
    kind: Literal["http", "prompt", "python"] = "http"
    target: str
    only: Literal["manual", "automatic"] | None = None
    timeout: int = 10
    on: bool = True


@router.get("/automatic-rules", response=dict[str, Any], summary="Rules for automatic runs, and what they saw last")
def list_rules(request: HttpRequest) -> dict[str, Any]:
    found = rules.rules_of(_workspace(request))
    return {"rules": [rule_json(rule) for rule in found], "looks": looks_json(found)}


@router.post(
    "/automatic-rules",
    response=dict[str, Any],
    summary="Make a rule, in the place of the one for the same occasion and scope",
)
def put_rule(request: HttpRequest, wanted: RuleIn) -> dict[str, Any]:
    _only(request, "operator", "admin")
    given = wanted.dict(exclude={"when", "session"})
    session = None if wanted.session is None else session_of(request, str(wanted.session))
    return rule_json(rules.put(_workspace(request), wanted.when, session=session, by=request.user, **given))


@router.delete("/automatic-rules/{rule_id}", response=dict[str, Any], summary="Take a rule back")
def drop_rule(request: HttpRequest, rule_id: int) -> dict[str, Any]:
    _only(request, "operator", "admin")
    return rule_json(rules.drop(_workspace(request), rule_id))


@router.get("/hooks", response=list[dict[str, Any]], summary="Hooks: who is asked before and after a compaction")
def list_hooks(request: HttpRequest) -> list[dict[str, Any]]:
    return [hook_json(hook) for hook in keeping.hooks_in(_workspace(request))]


@router.post(
    "/hooks", response=dict[str, Any], summary="Make a hook; `secret` signs its requests and is told this once"
)
def put_hook(request: HttpRequest, wanted: HookIn) -> dict[str, Any]:
    _only(request, "admin")
    hook, secret = keeping.put(_workspace(request), by=request.user, **wanted.dict())
    return hook_json(hook) | {"secret": secret}


@router.delete("/hooks/{name}", response=dict[str, str], summary="Take a hook back")
def drop_hook(request: HttpRequest, name: str) -> dict[str, str]:
    _only(request, "admin")
    try:
        return {"dropped": keeping.drop(_workspace(request), name)}
    except Refused as refusal:
        raise Http404(str(refusal)) from refusal


def _workspace(request: HttpRequest) -> Any:
    workspace = getattr(request, "workspace", None)
    if workspace is None:
        raise Http404
    return workspace


def _only(request: HttpRequest, *roles: str) -> None:
    member = getattr(request, "membership", None)
    scope = getattr(request, "scope_role", "admin")
    if member is None or member.role not in roles or scope not in roles:
        raise PermissionDenied
