"""Calls to models with patience: retries with growing waits, a second model, a record of every attempt, and an end when it is unwanted.

Each attempt is a row (`ModelCall`) from the moment it is sent, so that a page can show it while it lasts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.conf import settings

from compaction.models_calls import ModelCall
from compaction.plan import NotWritten, Status
from compaction.summarisers.configured import Target, secrets
from compaction.summarisers.flight import fly, pause
from compaction.summarisers.providers import Said, Trouble, converse, prepare
from compaction.summarisers.writing import Overflow, Reply, Request
from sessions.meters import tokens
from sessions.prices import Price, Spent, cost_at, price_of
from sessions.store import clean
from sessions.windows.overrides import Override

FIRST_WAIT, LONGEST_OWN_WAIT = 1.0, 30.0  # seconds; doubled from one to the other
LONGEST_WORDS = 300
READ_AT_LEAST = 0.5
"""Share of a prompt, by our count, that a server has read if it read all of it: no tokeniser makes half as many tokens of the same text."""

SLEEP: Callable[[float], object] = time.sleep


def _nobody() -> None:
    pass


def _silent(words: str) -> None:
    pass


@dataclass(slots=True)
class Asker:
    """Asks for one run, or (`session_id`) for the memory of a session. `watch` raises where the answer is no longer wanted; `told` gets a line
    for the log.

    `sleep` and `clock` are the process's own, unless a test says otherwise.
    """

    run_id: int | None
    models: Sequence[Target]
    overrides: Sequence[Override] = ()
    watch: Callable[[], None] = _nobody
    told: Callable[[str], None] = _silent
    sleep: Callable[[float], object] = field(default_factory=lambda: SLEEP)
    clock: Callable[[], float] = time.monotonic
    at: int = 0  # of the models: the one that is asked now
    session_id: UUID | None = None
    row: int | None = None  # the newest of its calls

    @property
    def model(self) -> Target:
        return self.models[self.at]

    def ask(self, request: Request) -> Reply:
        """The model's answer; that of the second model where the first has none. Raises Overflow, or NotWritten (failed_provider)."""
        trouble: Trouble | None = None
        while self.at < len(self.models):
            try:
                said = self._patiently(request)
                return Reply(said.text, said.cut)
            except Trouble as error:
                if error.overflow:
                    raise Overflow(error.limit) from None
                trouble = error
            if self.at + 1 >= len(self.models):
                break
            self.at += 1  # and it stays there: what failed now would fail for the next request too
            self.told(f"{self.models[self.at - 1].name} gave no answer ({trouble.kind}); asking {self.model.name}")
        assert trouble is not None
        words = f": {self._safe(str(trouble))}" if str(trouble) else ""
        raise NotWritten(
            Status.FAILED_PROVIDER,
            f"{self.model.name} gave no answer ({trouble.kind}){words}; the head stays where it was",
        )

    def _patiently(self, request: Request) -> Said:
        own = FIRST_WAIT
        for attempt in range(1, settings.LLM_RETRIES + 2):
            try:
                return self._once(request, attempt)
            except Trouble as trouble:
                wait = own if trouble.after is None else max(0.0, trouble.after)
                if not trouble.again or attempt > settings.LLM_RETRIES or wait > settings.LLM_LONGEST_WAIT:
                    raise
                self._note_wait(wait)
                self.told(f"{self.model.name}: {trouble.kind}; trying again in {wait:g} s")
                pause(wait, watch=self.watch, sleep=self.sleep)
                own = min(LONGEST_OWN_WAIT, own * 2)
        raise AssertionError("the last attempt returns or raises")

    def _note_wait(self, wait: float) -> None:
        assert self.row is not None  # it waits because of a call
        ModelCall.objects.filter(pk=self.row).update(waits=wait)

    def _once(self, request: Request, attempt: int) -> Said:
        self.watch()
        target = self.model
        prepare(target)
        self.told(f"asking {target.name} ({request.purpose}{f', attempt {attempt}' if attempt > 1 else ''})")
        row = ModelCall.objects.create(
            run_id=self.run_id,
            session_id=self.session_id,
            purpose=request.purpose,
            model=target.name,
            attempt=attempt,
        )
        self.row = row.pk
        began = self.clock()
        timeout = float(settings.LLM_TIMEOUT)
        try:
            said = fly(lambda: converse(target, request, timeout=timeout), watch=self.watch)
        except Trouble as trouble:
            words = self._safe(str(trouble))
            self._end(row, began, outcome=trouble.kind, words=words, http_status=trouble.status)
            raise
        except BaseException:
            self._end(row, began, outcome="broken off")
            raise
        short = _cut_by_server(target, request, said.spent)
        words = "" if short is None else str(short)
        self._end(
            row, began, outcome=short.kind if short else "answered", words=words, **self._figures(target, said.spent)
        )
        if short is not None:
            raise short
        return said

    def _end(self, row: ModelCall, began: float, **fields: Any) -> None:
        ModelCall.objects.filter(pk=row.pk).update(seconds=round(self.clock() - began, 3), **fields)

    def _figures(self, target: Target, spent: Spent | None) -> dict[str, Any]:
        if spent is None:
            return {}
        out: dict[str, Any] = {
            "fresh": spent.fresh,
            "cache_read": spent.cache_read,
            "cache_write": spent.cache_write,
            "output": spent.output,
        }
        price = price_for(target, self.overrides)
        if price is not None:
            out["usd"] = cost_at(price.at(spent.prompt), spent).total
            out["price_source"] = price.source
        return out

    def _safe(self, words: str) -> str:
        """What a provider said, without any key in it and not too long."""
        for secret in secrets():
            words = words.replace(secret, "…")
        words = " ".join((clean(words) or "").split())
        return words if len(words) <= LONGEST_WORDS else words[: LONGEST_WORDS - 1] + "…"


def _cut_by_server(target: Target, request: Request, spent: Spent | None) -> Trouble | None:
    """Where a server says that it read much less than it was sent: some of one's own drop the beginning of what their context cannot hold,
    and answer. Only of a first question: one that goes on from it may be counted without what is known already.
    """
    if target.provider != "compatible" or spent is None or not spent.prompt or len(request.turns) > 1:
        return None
    sent = sum(tokens.count([request.system, *(text for _, text in request.turns)]))
    if spent.prompt >= sent * READ_AT_LEAST:
        return None
    words = f"the server read {spent.prompt:,} tokens of about {sent:,}: its context is smaller than what is said of the model"
    trouble = Trouble("prompt cut by server", words, overflow=True)
    trouble.limit = spent.prompt
    return trouble


def price_for(target: Target, overrides: Sequence[Override]) -> Price | None:
    """What a model costs today; None where nobody says. A server of one's own costs what the workspace says, or nobody knows what."""
    if target.provider == "compatible":
        return price_of(target.model, None, overrides) if any(one.priced for one in overrides) else None
    return price_of(target.model, datetime.now(UTC).date(), overrides)


def worth(target: Target, overrides: Sequence[Override], *, prompt: int, output: int) -> tuple[Decimal, str] | None:
    """What so many tokens would cost at most, and by whose price; None where nobody says."""
    price = price_for(target, overrides)
    if price is None:
        return None
    spent = Spent(fresh=prompt, output=output)
    return cost_at(price.at(prompt), spent).total, price.source
