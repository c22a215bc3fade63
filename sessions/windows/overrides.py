"""What people say of models themselves, over the catalogue: by name or pattern, with whose word it is and as of when."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from sessions.windows.base import Limits


@dataclass(frozen=True, slots=True)
class Override:
    """Limits in tokens and prices in US dollars a million tokens. None: nothing is said of that.

    `pattern`: a model's name, in which `*` stands for anything and `?` for one character; all else, brackets too, stands for itself.
    """

    pattern: str
    context: int | None = None
    input: int | None = None
    output: int | None = None
    price_input: Decimal | None = None
    price_output: Decimal | None = None
    price_cache_read: Decimal | None = None
    price_cache_write: Decimal | None = None
    source: str = ""
    date: str | None = None

    def fits(self, model: str) -> bool:
        parts = (".*" if one == "*" else "." if one == "?" else re.escape(one) for one in self.pattern)
        return re.fullmatch("".join(parts), model, re.IGNORECASE | re.DOTALL) is not None

    @property
    def priced(self) -> bool:
        return self.price_input is not None and self.price_output is not None

    @property
    def whose(self) -> str:
        return f"set in this workspace ({self.source})"


def chosen(overrides: Iterable[Override], model: str) -> Override | None:
    """The override that holds for `model`: of those that fit, the one with the most letters of its own; None where none fits."""
    fitting = [one for one in overrides if one.fits(model)]
    return max(fitting, key=lambda one: len(re.sub(r"[*?]", "", one.pattern)), default=None)


def over(limits: Limits, override: Override | None) -> Limits:
    """Limits with what `override` says in their place. A window said anew leaves nothing of the old input limit."""
    if override is None or (override.context, override.input, override.output) == (None, None, None):
        return limits
    anew = override.context is not None
    partly = anew and override.output is None and limits.output is not None
    return replace(
        limits,
        context=override.context if anew else limits.context,
        input=override.input if anew or override.input is not None else limits.input,
        output=limits.output if override.output is None else override.output,
        source=f"{override.whose}; the rest: {limits.source}" if partly or not anew else override.whose,
        date=override.date,
        notes=() if anew else limits.notes,
    )
