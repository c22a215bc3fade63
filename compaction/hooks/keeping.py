"""The verbs on hooks: made, listed, dropped. Their secrets are derived and shown once, when they are made."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import urlsplit

import orjson
from django.conf import settings
from django.utils import timezone

from compaction.hooks.consulting import secret_of
from compaction.hooks.others import installed
from compaction.models_hooks import Hook
from sessions.store import clean
from sessions.versions import Refused

LONGEST_TIMEOUT = 60  # seconds


def put(
    workspace: Any,
    name: str,
    *,
    event: str,
    kind: str,
    target: str,
    only: str | None = None,
    timeout: int = 10,
    private: bool = False,
    on: bool = True,
    by: Any = None,
) -> tuple[Hook, str | None]:
    """Make a hook, in the place of one of the same name; with it the secret that signs its requests, where it is an HTTP one.

    Refused for what is no event, kind, address or command, and for a command where the operator does not allow any.
    """
    name = (clean(name) or "").strip()
    target = (clean(target) or "").strip()
    if not name or len(name) > 100:
        raise Refused("usage", "Give the hook a name of at most 100 characters.")
    if event not in Hook.Event.values:
        raise Refused("usage", f"There is no event {event!r}; there are: {', '.join(Hook.Event.values)}.")
    if kind not in Hook.Kind.values:
        raise Refused("usage", f"There is no kind {kind!r}; there are: {', '.join(Hook.Kind.values)}.")
    if only not in (None, "manual", "automatic"):
        raise Refused("usage", f"A hook is asked for manual or for automatic runs, or for both; not for {only!r}.")
    if not 1 <= timeout <= LONGEST_TIMEOUT:
        raise Refused("usage", f"A hook is given 1 to {LONGEST_TIMEOUT} seconds.")
    _check_target(kind, target)
    hook, _ = Hook.objects.update_or_create(
        workspace=workspace,
        name=name,
        defaults={
            "event": event,
            "kind": kind,
            "target": target,
            "only": only,
            "timeout": timeout,
            "private": private,
            "on": on,
            "salt": secrets.token_hex(8),
            "by": by if getattr(by, "pk", None) is not None else None,
            "at": timezone.now(),
        },
    )
    return hook, secret_of(hook).decode() if kind == Hook.Kind.HTTP else None


def _check_target(kind: str, target: str) -> None:
    if not target:
        raise Refused("usage", "Say what is asked: an address, a question, the name of a function, or a command.")
    if kind == Hook.Kind.HTTP:
        split = urlsplit(target)
        if split.scheme not in ("http", "https") or not split.hostname or split.username or split.password:
            raise Refused("usage", "An HTTP hook has an http:// or https:// address without a name and password.")
    elif kind == Hook.Kind.PYTHON and target not in installed():
        known = ", ".join(installed()) or "none"
        raise Refused("usage", f"No installed package offers the function {target!r}; there are: {known}.")
    elif kind == Hook.Kind.COMMAND:
        if not settings.HOOK_COMMANDS:
            raise Refused("not_allowed", "Commands as hooks are off on this server (PALIMPSEST_HOOK_COMMANDS).")
        try:
            words = orjson.loads(target)
        except orjson.JSONDecodeError:
            words = None
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise Refused("usage", 'A command is a JSON list of words, such as ["/usr/local/bin/check", "--quick"].')


def drop(workspace: Any, name: str) -> str:
    """Take a hook back; what it said to runs stays with them. Refused where there is none."""
    gone, _ = Hook.objects.filter(workspace=workspace, name=name.strip()).delete()
    if not gone:
        raise Refused("no_such_hook", f"There is no hook {name!r} in this workspace.")
    return name.strip()


def switch(workspace: Any, name: str, *, on: bool) -> Hook:
    """Switch a hook on or off. Refused where there is none."""
    hook = Hook.objects.filter(workspace=workspace, name=name.strip()).first()
    if hook is None:
        raise Refused("no_such_hook", f"There is no hook {name!r} in this workspace.")
    hook.on = on
    hook.save(update_fields=["on"])
    return hook


def hooks_in(workspace: Any) -> list[Hook]:
    return list(Hook.objects.filter(workspace=workspace).select_related("by"))
