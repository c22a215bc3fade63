"""What a run asked of models and hooks, in words: each call with how it went, the sums, what each hook said. For pages, API and command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from compaction.models import Run
from compaction.models_calls import ModelCall
from compaction.models_hooks import HookResult
from sessions.templatetags.palimpsest import n as number
from sessions.templatetags.palimpsest import span


@dataclass(frozen=True, slots=True)
class Call:
    purpose: str
    model: str
    words: str
    tokens: str
    money: str
    bad: bool
    asking: bool


@dataclass(frozen=True, slots=True)
class Said:
    name: str
    when: str
    words: str
    effects: str
    bad: bool


@dataclass(slots=True)
class Account:
    """`parts`: all calls in a few words: how many, their tokens, their money (the last two only where one was answered); none where none was
    made.
    """

    calls: list[Call] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    hooks: list[Said] = field(default_factory=list)

    @property
    def sum(self) -> str:
        """All calls in one sentence; "" where none was made."""
        return "; ".join(self.parts)


def of(run: Run) -> Account:
    """The account of a run; two queries."""
    calls = list(run.calls.all())
    return Account(list(map(_call, calls)), _parts(calls), list(map(_said, run.hook_results.all())))


def as_json(run: Run) -> dict[str, list[dict[str, Any]]]:
    """The same as JSON: null where the provider did not say, or nobody knows a price."""
    return {
        "calls": [
            {
                "purpose": call.purpose,
                "model": call.model,
                "attempt": call.attempt,
                "outcome": call.outcome,
                "words": call.words,
                "http_status": call.http_status,
                "waits": call.waits,
                "seconds": call.seconds,
                "tokens": {
                    "fresh": call.fresh,
                    "cache_read": call.cache_read,
                    "cache_write": call.cache_write,
                    "output": call.output,
                },
                "usd": None if call.usd is None else str(call.usd.normalize()),
                "price_source": call.price_source,
            }
            for call in run.calls.all()
        ],
        "hooks": [
            {
                "name": one.name,
                "event": one.event,
                "kind": one.kind,
                "outcome": one.outcome,
                "words": one.words,
                "effects": one.effects,
                "seconds": one.seconds,
            }
            for one in run.hook_results.all()
        ],
    }


def dollars(amount: Decimal) -> str:
    """An amount of US dollars with as many places as it needs to say something."""
    if 0 < amount < Decimal("0.0001"):
        return "< $0.0001"
    return f"${amount:,.{2 if amount >= 1 else 4}f}"


def _call(call: ModelCall) -> Call:
    answered, asking = call.outcome == "answered", call.outcome == "asking"
    words = _("asking…") if asking else _(call.outcome)
    if call.seconds is not None:
        words = _("{what} after {time}").format(
            what=words, time=span(call.seconds) if call.seconds >= 0.05 else "< 0.1 s"
        )
    if call.waits is not None:
        words = _("{what}, again in {seconds} s").format(what=words, seconds=f"{call.waits:g}")
    if call.words:
        words = f"{words}: {call.words}"
    purpose = (
        call.purpose if call.attempt == 1 else _("{purpose}, attempt {n}").format(purpose=call.purpose, n=call.attempt)
    )
    return Call(
        purpose,
        call.model,
        words,
        _tokens([call]) if answered else "",
        "" if call.usd is None else dollars(call.usd),
        bad=not answered and not asking,
        asking=asking,
    )


def _tokens(calls: list[ModelCall]) -> str:
    known = [call for call in calls if call.output is not None]
    if not known:
        return _("tokens not said")
    prompt = sum((call.fresh or 0) + (call.cache_read or 0) + (call.cache_write or 0) for call in known)
    read = sum(call.cache_read or 0 for call in known)
    words = _("{prompt} in, {output} out").format(
        prompt=number(prompt), output=number(sum(call.output or 0 for call in known))
    )
    return words if not read else words + _(", {n} from the cache").format(n=number(read))


def _parts(calls: list[ModelCall]) -> list[str]:
    if not calls:
        return []
    said = ngettext("{n} call", "{n} calls", len(calls)).format(n=number(len(calls)))
    answered = [call for call in calls if call.outcome == "answered"]
    parts = [said]
    if answered:
        parts.append(_tokens(answered))
        money = [call.usd for call in answered if call.usd is not None]
        if len(money) == len(answered):
            parts.append(dollars(sum(money, Decimal(0))))
        elif any(call.output is not None for call in answered):
            parts.append(_("price not known"))
    return parts


def _said(one: HookResult) -> Said:
    words = {
        "continued": _("let it go on"),
        "blocked": _("blocked this run"),
        "not again": _("wanted to block again, which no hook may: it went on"),
        "failed": _("failed, which blocks nothing"),
    }.get(one.outcome, one.outcome)
    if one.words:
        words = f"{words}: {one.words}"
    effects = []
    if one.effects.get("instructions"):
        effects.append(_("instructions: {words}").format(words=one.effects["instructions"]))
    if one.effects.get("pins"):
        effects.append(_("pinned entries {list}").format(list=", ".join(map(str, one.effects["pins"]))))
    if one.effects.get("append"):
        effects.append(_("appended: {words}").format(words=" ".join(one.effects["append"])))
    when = _("before") if one.event == "pre_compact" else _("after")
    return Said(one.name, when, words, "; ".join(effects), bad=one.outcome in ("blocked", "failed"))
