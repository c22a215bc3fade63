"""Hooks asked for one run: who is asked, what they said, and what of it is taken. Every outcome is a row; a failing hook never blocks."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings
from django.db import Error

from compaction.choosing import Choice
from compaction.hooks import http, others
from compaction.hooks.contract import MOST_APPENDED, POST, PRE, HookFailed, Verdict, encoded, verdict
from compaction.models_hooks import Hook, HookResult
from compaction.plan import Budget, NotWritten, Snapshot
from compaction.preview import Preview, with_inserts
from compaction.progress import CancelAsked, Claim, Lost
from compaction.summarisers import configured
from compaction.summarisers.asking import Asker
from compaction.summarisers.writing import Overflow
from sessions.contexts import Insert, InsertKind
from sessions.entries import Part, PartKind, Role
from sessions.limits import overrides_of
from sessions.models import Session
from sessions.store import clean
from sessions.versions import Refused

CONTINUED, BLOCKED, NOT_AGAIN, FAILED = "continued", "blocked", "not again", "failed"


class Blocked(Exception):
    """A hook does not want this run; the message says which and why."""


def secret_of(hook: Hook) -> bytes:
    """The secret with which an HTTP hook's requests are signed. Derived, so that it is stored nowhere; another salt is another secret."""
    said = f"hook:{hook.workspace_id}:{hook.name}:{hook.salt}"
    return hmac.new(settings.SECRET_KEY.encode(), said.encode(), hashlib.sha256).hexdigest().encode()


def hooks_of(workspace_id: Any, *, event: str, trigger: str) -> list[Hook]:
    """The hooks that are asked, in the order in which they were made."""
    found = Hook.objects.filter(workspace_id=workspace_id, event=event, on=True)
    return [hook for hook in found if hook.only in (None, "", trigger)]


@dataclass(slots=True)
class Consulting:
    """The hooks of one run. `changed`: whether one of them changed what is planned."""

    held: Claim
    session: Session
    choice: Choice
    changed: bool = False
    before: list[Hook] = field(init=False)
    after: list[Hook] = field(init=False)

    def __post_init__(self) -> None:
        run = self.held.run
        self.before = hooks_of(run.workspace_id, event=PRE, trigger=run.trigger)
        self.after = hooks_of(run.workspace_id, event=POST, trigger=run.trigger)

    def ask_before(self, choice: Choice, planned: Preview) -> Choice:
        """The choice with what the hooks add to it. Raises Blocked."""
        instructions = [choice.instructions] if choice.instructions else []
        pins: set[int] = set()
        for hook in self.before:
            said = self._ask(hook, self._payload(PRE, planned))
            if said is None:
                continue
            if said.instructions:
                instructions.append(said.instructions)
            pins.update(said.pins)
        if pins - choice.pins or len(instructions) > bool(choice.instructions):
            self.changed = True
        return replace(choice, instructions="\n\n".join(instructions), pins=choice.pins | pins)

    def ask_after(self, made: Preview, snapshot: Snapshot, budget: Budget) -> Preview:
        """The preview of a run that has landed with what the hooks append; without it where the new context would no longer hold."""
        left = MOST_APPENDED
        for hook in self.after:
            said = self._ask(hook, self._payload(POST, made))
            if said is None or not said.append:
                continue
            text = "\n\n".join(said.append)
            tokens = budget.count([text])[0]
            if tokens > left:
                self._note(hook, f"its text is {tokens:,} tokens, {left:,} were left for hooks: not appended")
                continue
            part = Part(PartKind.TEXT, clean(text) or "")
            place = made.plan.after if made.summary is not None else -1
            insert = Insert(place, Role.USER, InsertKind.NOTICE, (part,), label=f"Hook {hook.name}")
            longer = with_inserts(made, snapshot, budget, [insert])
            if not longer.lands:
                self._note(hook, f"not appended: {longer.reason}")
                continue
            left -= tokens
            made = longer
        return made

    def not_appended(self, why: str) -> None:
        """Say of every text that hooks appended that it was not taken after all."""
        for one in HookResult.objects.filter(run=self.held.run, event=POST, effects__has_key="append"):
            one.outcome, one.words, one.effects = FAILED, f"not appended: {why}", {}
            one.save(update_fields=["outcome", "words", "effects"])

    def _ask(self, hook: Hook, payload: Mapping[str, Any]) -> Verdict | None:
        """What a hook says; None where it failed. Raises Blocked."""
        run = self.held.run
        self.held.note("hooks" if hook.event == PRE else "hooks after", f"asking {hook.name}")
        began = time.monotonic()
        outcome, words, effects = CONTINUED, "", {}
        said: Verdict | None = None
        try:
            said = verdict(hook.event, self._answer(hook, payload), last_seq=run.last_seq)
            words = said.notify
            effects = _effects(said)
            if said.blocks:
                words = said.reason or "it gave no reason"
                outcome = NOT_AGAIN if self._blocked_before(hook) else BLOCKED
        except HookFailed as failure:
            outcome, words = FAILED, str(failure)
        except (Lost, CancelAsked, Error):
            raise
        except Exception as error:  # whatever goes wrong with a hook is no reason not to compact
            outcome, words = FAILED, type(error).__name__
        HookResult.objects.create(
            run=run,
            hook=hook,
            name=hook.name,
            event=hook.event,
            kind=hook.kind,
            outcome=outcome,
            words=clean(words) or "",
            effects=effects,
            seconds=round(time.monotonic() - began, 3),
        )
        if outcome == BLOCKED:
            raise Blocked(
                f"The hook {hook.name} blocked this run: {words}. The head stays; asked for again, it is not blocked twice."
            )
        return said if outcome in (CONTINUED, NOT_AGAIN) else None

    def _answer(self, hook: Hook, payload: Mapping[str, Any]) -> bytes:
        body = encoded(payload)
        timeout = float(max(1, min(hook.timeout, 60)))
        match hook.kind:
            case Hook.Kind.HTTP:
                return http.ask(hook.target, body, secret=secret_of(hook), timeout=timeout, private=hook.private)
            case Hook.Kind.PYTHON:
                return others.ask_function(hook.target, payload, timeout=timeout)
            case Hook.Kind.COMMAND:
                if not settings.HOOK_COMMANDS:
                    raise HookFailed("commands are off on this server (PALIMPSEST_HOOK_COMMANDS)")
                return others.ask_command(hook.target, body, timeout=timeout)
            case _:
                return self._by_model(hook, body)

    def _by_model(self, hook: Hook, body: bytes) -> bytes:
        try:
            target = self.choice.model or configured.named(None)
        except Refused as refusal:
            raise HookFailed(str(refusal)) from None
        asker = Asker(
            run_id=self.held.run.pk,
            models=[target],
            overrides=overrides_of(self.session.workspace_id),
            watch=self.held.wanted,
        )
        try:
            return others.ask_model(hook.target, body, asker.ask)
        except (NotWritten, Overflow) as failure:
            raise HookFailed(str(failure)) from None

    def _blocked_before(self, hook: Hook) -> bool:
        """Whether this hook blocked the run of this session before this one: a block holds for one run."""
        earlier = (
            HookResult.objects.filter(hook=hook, run__session=self.session, run__lt=self.held.run.pk)
            .order_by("-run", "-pk")
            .values_list("outcome", flat=True)
            .first()
        )
        return earlier == BLOCKED

    def _note(self, hook: Hook, words: str) -> None:
        newest = HookResult.objects.filter(run=self.held.run, hook=hook).order_by("-pk").first()
        assert newest is not None
        newest.outcome, newest.words, newest.effects = FAILED, words, {}
        newest.save(update_fields=["outcome", "words", "effects"])

    def _payload(self, event: str, made: Preview) -> dict[str, Any]:
        run, session = self.held.run, self.session
        out: dict[str, Any] = {
            "event": event,
            "contract": 1,
            "run": run.pk,
            "trigger": run.trigger,
            "session": {
                "id": str(session.pk),
                "native_id": session.native_id,
                "agent": session.agent,
                "title": session.title,
                "project": session.project,
                "cwd": session.cwd,
            },
            "strategy": run.strategy,
            "summariser": self.choice.asked,
            "instructions": self.choice.instructions,
            "tokens_before": made.tokens_before,
            "last_entry": run.last_seq,
            "folded": [list(span) for span in made.plan.fold.spans],
            "masked": len(made.plan.masks) + len(made.plan.bodies),
        }
        if event == POST:
            out["tokens_after"] = made.tokens_after
            out["summary"] = None if made.summary is None else made.summary.text
        return out


def _effects(said: Verdict) -> dict[str, Any]:
    found: Sequence[tuple[str, Any]] = (
        ("instructions", said.instructions),
        ("pins", list(said.pins)),
        ("append", list(said.append)),
    )
    return {name: value for name, value in found if value}
