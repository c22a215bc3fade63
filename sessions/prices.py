"""Prices of models, and what requests cost by them: aware of the cache, with whose price it is and as of when.

Prices stand in an offline data package, by day, unless the workspace says otherwise. They are looked up when they are shown and never
stored: a price that is corrected corrects what is shown. A model without a price costs nobody knows what, and that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import date as day_of
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from math import ceil

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelPrice, Tier, TieredPrices

from sessions.catalogue import plain_name
from sessions.windows.overrides import Override, chosen

MILLION = Decimal(1_000_000)
_PACKAGE = "genai-prices"
_VERSION = version(_PACKAGE)
_RATES = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars a million tokens. `cache_read`, `cache_write`: None where they are charged as other input is."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    @property
    def read(self) -> Decimal:
        return self.input if self.cache_read is None else self.cache_read

    @property
    def write(self) -> Decimal:
        return self.input if self.cache_write is None else self.cache_write


@dataclass(frozen=True, slots=True)
class Price:
    """A model's rates on `date`. `long`: of requests whose prompt is above so many tokens, in ascending order."""

    model: str
    rates: Rates
    long: tuple[tuple[int, Rates], ...]
    source: str
    date: str | None

    def at(self, prompt: int) -> Rates:
        """The rates of a request with a prompt of so many tokens."""
        return next((rates for above, rates in reversed(self.long) if prompt > above), self.rates)


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of one or more requests, in disjoint parts; output includes reasoning. What was not recorded is 0 here."""

    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        return self.fresh + self.cache_read + self.cache_write


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars, by part. `uncached`: what the same requests had cost without a cache."""

    fresh: Decimal = Decimal(0)
    cache_read: Decimal = Decimal(0)
    cache_write: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    uncached: Decimal = Decimal(0)

    @property
    def total(self) -> Decimal:
        return self.fresh + self.cache_read + self.cache_write + self.output

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.fresh + other.fresh,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.uncached + other.uncached,
        )


def cost_at(rates: Rates, spent: Spent) -> Cost:
    """What tokens cost at these rates."""
    answer = spent.output * rates.output
    return Cost(
        spent.fresh * rates.input / MILLION,
        spent.cache_read * rates.read / MILLION,
        spent.cache_write * rates.write / MILLION,
        answer / MILLION,
        (spent.prompt * rates.input + answer) / MILLION,
    )


@dataclass(frozen=True, slots=True)
class Break:
    """What it costs that a prompt no longer begins as the one before it did. Tokens as some meter counts them, US dollars by a price.

    `kept`: of the beginning that both share, read from the cache as before; `anew`: behind it, read anew and written; `before`: of the
    whole former prompt. `following`: the next prompt as it is now; `intact`: had it stayed as it was; `later`: what each request after
    that costs less (negative: more); `even`: requests after which the change has paid for itself (None: never).
    """

    kept: int
    anew: int
    before: int
    following: Decimal
    intact: Decimal
    later: Decimal
    even: int | None

    @property
    def extra(self) -> Decimal:
        return self.following - self.intact


def break_of(price: Price, *, kept: int, anew: int, before: int) -> Break:
    """The cost of a broken cache prefix, of the prompts alone and for as long as the cache lasts."""
    new, old = price.at(kept + anew), price.at(before)
    following = (kept * new.read + anew * new.write) / MILLION
    intact = before * old.read / MILLION
    later = intact - (kept + anew) * new.read / MILLION
    extra = following - intact
    even = 0 if extra <= 0 else ceil(extra / later) if later > 0 else None
    return Break(kept, anew, before, following, intact, later, even)


def price_of(model: str | None, day: day_of | None = None, overrides: Sequence[Override] = ()) -> Price | None:
    """The price of a model, by the name under which sessions record it, on `day` (None: today).

    What the workspace says holds, whatever the day; else the package. None where neither has a price.
    """
    if not model:
        return None
    said = chosen([one for one in overrides if one.priced], model)
    if said is not None:
        assert said.price_input is not None
        assert said.price_output is not None
        rates = Rates(said.price_input, said.price_output, said.price_cache_read, said.price_cache_write)
        return Price(model, rates, (), said.whose, said.date)
    return catalogued(model, day or datetime.now(UTC).date())


@cache
def catalogued(model: str, day: day_of) -> Price | None:
    """The price a model's maker asked on `day`, from the package; None where it knows no such model.

    The package knows families by how their names begin; `source` names the one that was taken.
    """
    at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    try:
        provider, found = get_snapshot().find_provider_model(plain_name(model).lower(), None, None, None)
    except LookupError:
        return None
    prices = found.get_prices(at)
    starts = sorted({step.start for name in _RATES for step in _steps(getattr(prices, name, None))})
    rates = _rates(prices, 0)
    if rates is None:
        return None
    long = tuple((start, dearer) for start in starts if (dearer := _rates(prices, start + 1)) is not None)
    return Price(model, rates, long, f"{_PACKAGE} {_VERSION}, {provider.id}: {found.id}", day.isoformat())


@cache
def long_prompts() -> tuple[int, ...]:
    """Prompts beyond which some model of the package costs more: where sums of requests have to be kept apart."""
    starts: set[int] = set()
    for provider in get_snapshot().providers:
        for model in provider.models:
            whole = model.prices if isinstance(model.prices, list) else [model]
            for name in _RATES:
                starts |= {step.start for one in whole for step in _steps(getattr(one.prices, name, None))}
    return tuple(sorted(starts))


def _rates(prices: ModelPrice, prompt: int) -> Rates | None:
    """The rates for a prompt of so many tokens; None where tokens have no price."""
    given, answer, read, write = (_at(getattr(prices, name, None), prompt) for name in _RATES)
    if given is None or answer is None:
        return None
    return Rates(given, answer, read, write)


def _steps(value: object) -> Sequence[Tier]:
    return value.tiers if isinstance(value, TieredPrices) else ()


def _at(value: object, prompt: int) -> Decimal | None:
    if isinstance(value, TieredPrices):
        return next((step.price for step in reversed(value.tiers) if prompt > step.start), value.base)
    return value if isinstance(value, Decimal) else None
