"""What a strategy is, and how it declares its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot


@dataclass(frozen=True, slots=True)
class Param:
    """One settable parameter, as pages and the command line show it. `kind`: tokens, count, share, flag, choice, text, ranges ("12-40,55").

    A default of None scales with the session: `auto` says how in words, the plan's facts say what was used. Leaving the value out, empty or
    "auto" chooses it.
    """

    name: str
    label: str
    kind: str
    default: Any
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    source: str = ""  # whose rule the default is, with version and date
    auto: str = ""


class BadParam(ValueError):
    """A parameter that does not exist, or a value it cannot take; the message says which and what would do."""


class Strategy(Protocol):
    """A rule that turns a context into a plan, and answers into edits. Pure and deterministic."""

    id: str  # "hybrid"
    version: int  # grows when the same snapshot and parameters give another plan
    label: str
    about: str  # one sentence: what it does
    params: Sequence[Param]
    presets: Mapping[str, Mapping[str, Any]]

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """What would be done. Never raises for a context it cannot shrink: the plan's status says so."""
        ...

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        """The edits, once the asks are answered."""
        ...


def settled(params: Sequence[Param], given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters with their values: those given, checked and converted from text where need be, else the defaults."""
    known = {param.name: param for param in params}
    for name in given:
        if name not in known:
            raise BadParam(f"no parameter {name!r}; there are: {', '.join(known) or 'none'}")
    return {name: _value(param, given[name]) if name in given else param.default for name, param in known.items()}


def _value(param: Param, raw: Any) -> Any:
    if param.default is None and (raw is None or str(raw).strip().lower() in ("", "auto")):
        return None
    if param.kind == "flag":
        if isinstance(raw, bool):
            return raw
        word = str(raw).strip().lower()
        if word in ("1", "true", "yes", "on"):
            return True
        if word in ("0", "false", "no", "off", ""):
            return False
        raise BadParam(f"{param.name}: {raw!r} is neither yes nor no")
    if param.kind == "choice":
        if str(raw) not in param.choices:
            raise BadParam(f"{param.name}: {raw!r} is none of {', '.join(param.choices)}")
        return str(raw)
    if param.kind == "text":
        return " ".join(str(raw).split())
    if param.kind == "ranges":
        try:
            return written_ranges(read_ranges(str(raw)))
        except ValueError as error:
            raise BadParam(f"{param.name}: {error}") from None
    try:
        value = float(raw) if param.kind == "share" else int(str(raw).replace(",", "").replace("_", ""))
    except ValueError:
        raise BadParam(f"{param.name}: {raw!r} is no number") from None
    if param.low is not None and value < param.low:
        raise BadParam(f"{param.name}: {value} is less than {param.low}")
    if param.high is not None and value > param.high:
        raise BadParam(f"{param.name}: {value} is more than {param.high}")
    return value


def read_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """The ranges in "12-40, 55", both ends included, as they are written; ValueError says what is none."""
    found = []
    for piece in text.replace("–", "-").split(","):
        if not piece.strip():
            continue
        first, dash, last = (word.strip() for word in piece.partition("-"))
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(piece) > 24:
            raise ValueError(f"{piece.strip()!r} is no range; write 12-40,55")
        span = (int(first), int(last or first))
        if span[0] > span[1]:
            raise ValueError(f"{piece.strip()!r} ends before it begins")
        found.append(span)
    return tuple(found)


def written_ranges(ranges: Sequence[tuple[int, int]]) -> str:
    """Ranges as they are typed: "12-40,55"."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
