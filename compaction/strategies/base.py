"""What a strategy is, and how it declares its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot


@dataclass(frozen=True, slots=True)
class Param:
    """One settable parameter, as pages and the command line show it. `kind`: tokens, count, share, flag, choice.

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
    try:
        value = float(raw) if param.kind == "share" else int(str(raw).replace(",", "").replace("_", ""))
    except ValueError:
        raise BadParam(f"{param.name}: {raw!r} is no number") from None
    if param.low is not None and value < param.low:
        raise BadParam(f"{param.name}: {value} is less than {param.low}")
    if param.high is not None and value > param.high:
        raise BadParam(f"{param.name}: {value} is more than {param.high}")
    return value
