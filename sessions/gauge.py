"""What is used, what is left and what happens next, of a session at its head, at a version or at a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sessions.forecast import Forecast, forecast
from sessions.limits import limits_for, overrides_of
from sessions.measuring import maskable, measured
from sessions.meters import DEFAULT, Meter, by_id
from sessions.models import Entry, Session, Step, Version
from sessions.projection import version_at
from sessions.ranges import Ranges
from sessions.windows import Limits, Measure, Name, Screen, Window, rule_of, window
from sessions.windows.overrides import Override

# Newest steps among which the last one with figures, of the main conversation, is looked for: nearly always it is the first.
_LOOKED_AT = (4, 60, 1_000)


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens in use as the rule counts them. `recorded`: what the agent wrote down of it; the rest is estimated by `meter`.

    `whose`: in words, where the figure comes from. `tokens` is None where nothing can be said. `refused`: what the agent wrote down
    that cannot be so, being more than one and a half times the window.
    """

    tokens: int | None
    recorded: int | None
    estimated: int | None
    meter: str | None
    whose: str
    refused: int | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """One of the five: `tokens` of `of` (None: not known), whose rule or record it is, and what it counts."""

    key: str
    label: str
    tokens: int | None
    of: int | None
    whose: str
    counts: str


@dataclass(frozen=True, slots=True)
class Gauge:
    """`step`: the last one whose figures hold here (None: there is none). `window` None: no rule of the agent is known.

    `counted`: what the rule holds against its thresholds, which for some is the last prompt alone; `maskable`: tokens of tool results
    that its masking could take (None: it masks nothing).
    """

    version: Version | None
    step: Step | None
    window: Window | None
    used: Used
    numbers: tuple[Number, ...]
    forecast: Forecast
    screen: Screen | None
    counted: int | None = None
    maskable: int | None = None

    def number(self, key: str) -> Number:
        return next(one for one in self.numbers if one.key == key)


def gauge(
    session: Session, version: Version | None = None, *, step: Step | None = None, drawn: Window | None = None
) -> Gauge:
    """The gauge at `version` (None: the one in force), or right after the answer of `step`. `drawn`: by another window than its own.

    What the agent recorded holds as long as everything before the last visible step stands as it was sent then; otherwise (after a
    compaction) the whole context is estimated from the size vectors.
    """
    at = version or session.current
    last = step or _last_step(session, None)
    drawn = drawn or window_of(session, last)
    meter = by_id(drawn.rule.meter if drawn is not None else DEFAULT)
    if step is not None:
        at = version_at(session, step.first_seq)
        used, holds = _at_step(session, at, step, meter, drawn)
    else:
        shown = last if at is None or last is None or last.first_seq not in at.hidden else _last_step(session, at)
        used, holds = _at_version(session, at, shown, meter, drawn)
    counted = used.tokens
    if drawn is not None and drawn.rule.holds == "estimate" and holds is not None:
        counted = measured(session.pk, at, [meter], until_seq=step.last_seq if step is not None else None)[meter.id]
    if drawn is not None and drawn.rule.holds == "prompt" and holds is not None and holds.prompt is not None:
        counted = holds.prompt
    could = _maskable(session, at, drawn, meter, step)
    said = forecast(drawn, counted, tool_output=could)
    screen = _screen(drawn, holds) if used.recorded else None
    return Gauge(at, holds, drawn, used, _five(drawn, used, holds, last, counted), said, screen, counted, could)


def window_of(
    session: Session, step: Step | None = None, *, overrides: Sequence[Override] | None = None
) -> Window | None:
    """The session's window by its agent's rule of its era. None where no rule is known.

    What the session records wins; then what its workspace says of the model; then the catalogue. `overrides`: of the workspace, where
    they are known already (for a list, so that it asks once).
    """
    rule = rule_of(session.agent, session.agent_version)
    if rule is None:
        return None
    model = model_of(session, step)
    if overrides is None:
        overrides = overrides_of(session.workspace_id)
    limits = limits_for(model, session.agent, overrides) if model else Limits()
    recorded = (step.window if step is not None else None) or session.window
    if recorded:
        total = rule.recorded(recorded, session.agent_version)
        words = "recorded in the session" if total == recorded else f"from {recorded:,} recorded in the session"
        limits = replace(limits, context=total, input=None, source=words, date=None, notes=())
    return window(rule, limits)


def model_of(session: Session, step: Step | None = None) -> str | None:
    """The model of a step; without one that names it, the last one the session used."""
    return (step.model if step is not None else None) or next(iter(reversed(session.models_used)), None)


def _at_version(
    session: Session, version: Version | None, step: Step | None, meter: Meter, drawn: Window | None
) -> tuple[Used, Step | None]:
    refused: int | None = None
    if step is not None and _as_sent(session, version, step):
        refused = _beyond(drawn, _recorded(step))
        if refused is None:
            return _from_step(session, version, step, meter), step
    if session.entries_count == 0:
        return Used(None, None, None, None, "an empty session"), None
    return _estimated(measured(session.pk, version, [meter])[meter.id], meter, drawn, refused), None


def _estimated(tokens: int, meter: Meter, drawn: Window | None, refused: int | None = None) -> Used:
    words = f"estimated: {meter.label}, without system prompt and tool schemas"
    if refused is not None and drawn is not None:
        words = f"{refused:,} is recorded, more than 1.5 times the window of {drawn.total:,}, and not taken; {words}"
    return Used(tokens, None, tokens, meter.id, words, refused)


def _beyond(drawn: Window | None, recorded: int | None) -> int | None:
    """A recorded figure that cannot be one of this window; None where it can."""
    if drawn is None or drawn.total is None or recorded is None or recorded <= drawn.total * 3 // 2:
        return None
    return recorded


def _maskable(
    session: Session, version: Version | None, drawn: Window | None, meter: Meter, step: Step | None
) -> int | None:
    """Tokens of tool results that the rule's masking could take; None where it masks nothing by itself."""
    masking = drawn.at(Name.MASKING) if drawn is not None else None
    if drawn is None or masking is None or not masking.acts or masking.measure is not Measure.TOOL_OUTPUT:
        return None
    turn = (step.turn if step is not None else None) or session.turns
    return maskable(
        session.pk,
        version,
        meter,
        protects=drawn.rule.protects,
        last_turn=turn - drawn.rule.protected_turns if drawn.rule.protected_turns else None,
        until_seq=step.last_seq if step is not None else None,
    )


def _from_step(session: Session, version: Version | None, step: Step, meter: Meter) -> Used:
    """The step's recorded figures, and an estimate of what they do not hold: what came later, and output that was not recorded."""
    known = _recorded(step)
    assert known is not None
    own = step.n if step.total is not None or not step.estimated else None
    later = measured(session.pk, version, [meter], after_seq=step.first_seq - 1, but_step=step.n)[meter.id]
    if own is None:
        later = measured(session.pk, version, [meter], after_seq=step.first_seq - 1)[meter.id]
    words = f"recorded at step {step.n}"
    if step.total is not None and step.estimated:
        words = f"the agent's own estimate, recorded at step {step.n}"
    if own is None:
        words += f"; its output and what came later by {meter.label}"
    elif later:
        words += f"; what came later by {meter.label}"
    return Used(known + later, known, later, meter.id if later else None, words)


def _at_step(
    session: Session, version: Version | None, step: Step, meter: Meter, drawn: Window | None
) -> tuple[Used, Step | None]:
    refused = _beyond(drawn, step.context)
    if step.context is not None and refused is None:
        return Used(step.context, step.context, None, None, f"recorded at step {step.n}"), step
    tokens = measured(session.pk, version, [meter], until_seq=step.last_seq)[meter.id]
    return _estimated(tokens, meter, drawn, refused), step if refused is None else None


def _recorded(step: Step) -> int | None:
    """What of the window the step's record vouches for: where its output is a placeholder, the prompt alone."""
    return step.prompt if step.estimated and step.total is None else step.context


def _last_step(session: Session, version: Version | None) -> Step | None:
    """The newest step with figures that `version` shows (None: of all), of the main conversation."""
    hidden = version.hidden if version is not None else Ranges()
    before: int | None = None
    for count in _LOOKED_AT:
        steps = session.steps.order_by("-n")
        newest = list((steps if before is None else steps.filter(n__lt=before))[:count])
        known = [step for step in newest if step.first_seq not in hidden and step.context is not None]
        first = [step.first_seq for step in known]
        main = set(Entry.objects.filter(session=session, seq__in=first, lane="").values_list("seq", flat=True))
        for step in known:
            if step.first_seq in main:
                return step
        if len(newest) < count:
            return None
        before = newest[-1].n
    return None


def _as_sent(session: Session, version: Version | None, step: Step) -> bool:
    """Whether `version` still shows everything before the step as it was sent then."""
    if version is not None and version.pk == session.native_head_id and version.at_seq < step.first_seq:
        return True
    then = version_at(session, step.first_seq)
    if version is None or then is None or then.pk == version.pk:
        return True
    before = Ranges.of([(0, step.first_seq)])
    return then.hidden & before == version.hidden & before and then.masked & before == version.masked & before


def _screen(drawn: Window | None, step: Step | None) -> Screen | None:
    if drawn is None or step is None:
        return None
    return drawn.rule.show(drawn.limits, step.prompt, step.context)


def _five(
    drawn: Window | None, used: Used, holds: Step | None, last: Step | None, counted: int | None
) -> tuple[Number, ...]:
    rule = drawn.rule if drawn is not None else None
    label = f"{rule.label} ({rule.id})" if rule is not None else "no rule known"
    total = drawn.total if drawn is not None else None
    limits = f"window: {drawn.limits.source}" if drawn is not None and total is not None else "window not known"
    compaction = drawn.compaction if drawn is not None else None
    most = drawn.output_limit if drawn is not None else None
    prompt = holds.prompt if holds is not None else used.tokens
    input_limit = drawn.input_limit if drawn is not None else None
    budget = None
    if drawn is not None and total is not None and used.tokens is not None and most is not None:
        budget = max(0, min(most, total - used.tokens))
    trigger = None
    if drawn is not None:
        found = next((one for one in drawn.thresholds if one.tokens == compaction and one.name == "compaction"), None)
        trigger = found.formula if found is not None else None
    left = None if compaction is None or counted is None else compaction - counted
    step_words = f"recorded at step {holds.n}" if holds is not None else used.whose
    last_words = f"recorded at step {last.n}" if last is not None and last.output is not None else "not recorded"
    if last is not None and last.output is not None and last.estimated:
        last_words += "; a lower bound"
    return (
        Number(
            "total",
            "total window",
            used.tokens,
            total,
            f"{used.whose}; {limits}",
            rule.counts if rule else "the context",
        ),
        Number(
            "prompt",
            "prompt input",
            prompt,
            input_limit,
            f"{step_words}; limit: {label}",
            "the last prompt, fresh and cached",
        ),
        Number(
            "until_compaction",
            "until compaction",
            left,
            compaction,
            label if trigger is None else f"{label}: {trigger}",
            rule.counts if rule else "the context",
        ),
        Number(
            "output",
            "output of the last step",
            last.output if last else None,
            most,
            last_words,
            "output, reasoning included",
        ),
        Number(
            "output_budget",
            "output budget of the next request",
            budget,
            most,
            f"min(O, C − used); O: {drawn.limits.source}"
            if drawn is not None and most is not None
            else "O is not known",
            "the most the next answer may hold",
        ),
    )
