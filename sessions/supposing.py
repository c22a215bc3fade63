"""A session under a rule, model or window that a person asks for: the window that follows, and what would have happened."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sessions.asif import AsIf, as_if, assumptions
from sessions.gauge import model_of, window_of
from sessions.growth import Growth, growth_of
from sessions.limits import limits_for, overrides_of
from sessions.meters import by_id
from sessions.models import Session
from sessions.queries import last_step
from sessions.versions import Refused
from sessions.windows import Limits, Window, presets, rule_of, rules, window

LARGEST = 100_000_000


@dataclass(frozen=True, slots=True)
class Supposed:
    """`found`: what would have happened. `assumes`: the model it rests on, in plain sentences."""

    window: Window
    found: AsIf
    growth: Growth
    assumes: tuple[str, ...]


def window_as(
    session: Session, *, rule: str | None = None, model: str | None = None, tokens: int | None = None
) -> Window:
    """The window of a session by `rule` (an id of a rule or of a preset; None: its own), for `model` or a window of `tokens`.

    With neither, the window is what the session records, else that of its own model as that rule's agent takes it; of a preset, the
    preset's. Refused for a rule that is not known, and where the session's agent has none.
    """
    if tokens is not None and not 0 < tokens <= LARGEST:
        raise Refused("usage", f"A window of {tokens:,} tokens is none.")
    preset = presets().get(rule or "")
    if preset is not None:
        chosen, settings = preset.rule, preset.settings
    elif rule is None:
        own = rule_of(session.agent, session.agent_version)
        if own is None:
            raise Refused("no_such_rule", f"No rule of {session.agent} is known; name another with its id.")
        chosen, settings = own, None
    else:
        if rule not in rules():
            raise Refused("no_such_rule", f"There is no rule {rule!r}; there are: {', '.join(rules())}.")
        chosen, settings = rules()[rule], None
    overrides = overrides_of(session.workspace_id)
    step = last_step(session)
    limits = preset.limits if preset is not None else Limits()
    if model:
        limits = limits_for(model, chosen.agent, overrides)
    elif preset is None:
        named = model_of(session, step)
        limits = limits_for(named, chosen.agent, overrides) if named else Limits()
        own_window = window_of(session, step, overrides=overrides)
        if own_window is not None and "recorded in the session" in own_window.limits.source:
            limits = replace(own_window.limits, output=limits.output)
        elif own_window is None and session.window:
            limits = replace(limits, context=session.window, input=None, source="recorded in the session", date=None)
    if tokens is not None:
        limits = replace(limits, context=tokens, input=None, source="the window asked for", date=None, notes=())
    return window(chosen, limits) if settings is None else window(chosen, limits, settings)


def supposed(session: Session, drawn: Window) -> Supposed:
    """What would have happened to the session under a window."""
    meter = by_id(drawn.rule.meter)
    growth = growth_of(session, meter, own_estimate=drawn.rule.holds == "estimate")
    words: list[str] = []
    if growth.estimated:
        words.append(
            f"Of {len(growth.requests):,} requests {growth.estimated:,} are estimated ({meter.label}), without system prompt and "
            "tool schemas."
        )
    if growth.folds:
        words.append(
            f"Behind the agent's own {growth.folds:,} compactions what entered is estimated ({meter.label})."
            if growth.folds > 1
            else f"Behind the agent's own compaction what entered is estimated ({meter.label})."
        )
    return Supposed(drawn, as_if(drawn, growth.requests), growth, tuple(assumptions(drawn, estimated=words)))
