"""JSON paths, as far as declared mappings need them: `$`, `.name`, `['any name']`, `[3]`, `[-1]`, `[*]`."""

from __future__ import annotations

import re
from typing import Any

type Step = str | int | None  # a name, a place, or all (None)

_STEP = re.compile(r"""\.([^.\[\]'"*\s]+)|\['([^']*)'\]|\["([^"]*)"\]|\[(-?\d+)\]|(\[\*\]|\.\*)""")


class NoPath(ValueError):
    """The text is no path; the message says where it stops being one."""


def path_of(text: Any) -> tuple[Step, ...]:
    """The steps of a path. NoPath for what is none."""
    if not isinstance(text, str) or not text.startswith("$"):
        raise NoPath(f"a path begins with $: {text!r}")
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise NoPath(f"not understood from {text[at:]!r} on: {text!r}")
        named = next((group for group in found.groups()[:3] if group is not None), None)
        steps.append(named if named is not None else int(found[4]) if found[4] is not None else None)
        at = found.end()
    return tuple(steps)


def values_at(value: Any, steps: tuple[Step, ...]) -> list[Any]:
    """All values at a path, in order; none where there is nothing."""
    here = [value]
    for step in steps:
        below: list[Any] = []
        for one in here:
            if step is None:
                below += one if isinstance(one, list) else list(one.values()) if isinstance(one, dict) else []
            elif isinstance(step, str):
                below += [one[step]] if isinstance(one, dict) and step in one else []
            elif isinstance(one, list) and -len(one) <= step < len(one):
                below.append(one[step])
        here = below
    return here


def first_at(value: Any, steps: tuple[Step, ...] | None) -> Any:
    """The first value at a path that is not null; None where there is none."""
    if steps is None:
        return None
    return next((found for found in values_at(value, steps) if found is not None), None)
