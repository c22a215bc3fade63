"""Compactions that nobody asks for one by one: rules, and the one gate that every automatic run goes through.

Off unless somebody made a rule. A rule looks at a session when it has grown since the rule last looked; sessions that were there when the
rule was made count as looked at, so that making one starts nothing. Of rules for the same occasion the narrowest holds: of the session,
of its project, of the workspace; a narrow one that is off keeps a wide one out.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from compaction.choosing import choose
from compaction.models import Rule, RuleLook, Run
from compaction.plan import Status
from sessions.gauge import gauge
from sessions.models import Entry, Goal, Session
from sessions.supposing import window_as
from sessions.versions import Refused

BREAKS_AFTER = 3
"""Automatic runs of a session that failed one after the other: no further one until one that a person asks for completes (Claude Code: 3)."""

PROGRESS = 0.05
"""Share of the context that an automatic run must have taken away for another to follow it (complaints of loops: 750K to 750K)."""

RECENT = timedelta(days=1)
"""Sessions without a new entry for longer are nobody's work any more: taking in an archive compacts nothing."""

AGAIN = 10  # seconds until a rule that had to wait looks again

STARTED, BELOW, WAITS, BREAKER, NO_PROGRESS, REFUSED, SEEN, DUE = (
    "started", "not reached", "waits", "breaker open", "no progress", "refused", "seen", "due",
)  # fmt: skip


# ── making rules ───────────────────────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def put(
    workspace: Any,
    when: str,
    *,
    session: Session | None = None,
    project: str | None = None,
    window_rule: str | None = None,
    strategy: str = "hybrid",
    params: Mapping[str, Any] | None = None,
    summariser: str = "extractive",
    model: str | None = None,
    extractive_allowed: bool = False,
    on: bool = True,
    by: Any = None,
) -> Rule:
    """Make a rule, in the place of the one for the same occasion and scope. Refused for an occasion, strategy, figure, model or window rule
    that there is none of. What has happened up to now starts nothing.
    """
    if when not in Rule.When.values:
        raise Refused("usage", f"There is no occasion {when!r}; there are: {', '.join(Rule.When.values)}.")
    if session is not None and project is not None:
        raise Refused(
            "usage", "A rule is for a session, for a project or for the whole workspace, not for two of them."
        )
    choose(strategy=strategy, params=params, summariser=summariser, model=model)
    if window_rule is not None:
        if when != Rule.When.THRESHOLD:
            raise Refused("usage", "A window rule belongs to the occasion “threshold”.")
        _known_window_rule(window_rule)
    rule, _ = Rule.objects.update_or_create(
        workspace=workspace,
        session=session,
        project=project,
        when=when,
        defaults={
            "window_rule": window_rule,
            "on": on,
            "strategy": strategy,
            "params": dict(params or {}),
            "summariser": summariser,
            "model": model,
            "extractive_allowed": extractive_allowed,
            "by": by if getattr(by, "pk", None) is not None else None,
            "at": timezone.now(),
        },
    )
    rule.looks.all().delete()
    RuleLook.objects.bulk_create(
        [
            RuleLook(rule=rule, session_id=pk, outcome=SEEN, last_seq=entries - 1, facts={"closed": _closed(pk, when)})
            for pk, entries in _scope(rule).values_list("pk", "entries_count")
        ]
    )
    return rule


def drop(workspace: Any, rule_id: int) -> Rule:
    """Take a rule back; the runs it made stay. Refused where there is none."""
    rule = Rule.objects.filter(workspace=workspace, pk=rule_id).first()
    if rule is None:
        raise Refused("no_such_rule", f"There is no rule {rule_id} in this workspace.")
    pk = rule.pk
    rule.delete()
    rule.pk = pk
    return rule


def rules_of(workspace: Any) -> list[Rule]:
    return list(Rule.objects.filter(workspace=workspace).select_related("session", "by"))


def _known_window_rule(name: str) -> None:
    from sessions.windows import presets, rules  # noqa: PLC0415 -- beside its only use: this module's own name is rules

    if name not in rules() and name not in presets():
        raise Refused(
            "no_such_rule", f"There is no window rule {name!r}; there are: {', '.join([*rules(), *presets()])}."
        )


def _scope(rule: Rule) -> Any:
    found = Session.objects.filter(workspace_id=rule.workspace_id)
    if rule.session_id is not None:
        return found.filter(pk=rule.session_id)
    return found.filter(project=rule.project) if rule.project is not None else found


# ── looking ────────────────────────────────────────────────────────────────────────────────────────────────────────

_DUE = """
    WITH due AS (
        SELECT DISTINCT ON (s.id, r."when") r.id AS rule, r."on" AS active, s.id AS session, s.entries_count - 1 AS last_seq,
            l.last_seq AS seen, l.outcome AS outcome, l.at AS at
        FROM compaction_rule r
        JOIN agent_sessions_session s ON s.workspace_id = r.workspace_id
            AND (r.session_id IS NULL OR r.session_id = s.id) AND (r.project IS NULL OR r.project = s.project)
        LEFT JOIN compaction_rulelook l ON l.rule_id = r.id AND l.session_id = s.id
        WHERE s.entries_count > 0 AND s.last_at > clock_timestamp() - make_interval(secs => %(recent)s)
        ORDER BY s.id, r."when", r.session_id NULLS LAST, r.project NULLS LAST
    )
    INSERT INTO compaction_rulelook (rule_id, session_id, outcome, words, last_seq, facts, at)
    SELECT rule, session, 'due', '', coalesce(seen, -1), '{}', clock_timestamp() FROM due
    WHERE active AND coalesce(seen, -1) < last_seq
        AND (outcome IS NULL OR outcome NOT IN ('waits', 'due') OR at < clock_timestamp() - make_interval(secs => %(again)s))
    ON CONFLICT (rule_id, session_id) DO UPDATE SET outcome = 'due', at = clock_timestamp()
    RETURNING rule_id, session_id
"""


def due() -> list[tuple[int, UUID]]:
    """Rules that have to look, each with its session; they are marked, so that two who ask at once do not both get them."""
    if not Rule.objects.filter(on=True).exists():
        return []
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"recent": RECENT.total_seconds(), "again": AGAIN})
        return [(rule, session) for rule, session in cursor.fetchall()]


def look(rule_id: int, session_id: UUID) -> dict[str, Any] | None:
    """What a run by this rule is to be, where its occasion has come and the gate is open; None otherwise. The look is noted with its reason.

    The arguments are those of `runs.request`, so that an automatic run is a run like any other.
    """
    rule = Rule.objects.filter(pk=rule_id, on=True).select_related("by").first()
    session = Session.objects.select_related("head", "native_head").filter(pk=session_id).first()
    if rule is None or session is None:
        return None
    old = RuleLook.objects.filter(rule=rule, session=session).first()
    known = set((old.facts if old is not None else {}).get("closed", []))
    closed = _closed(session.pk, rule.when)
    reached, words = _occasion(rule, session, known, closed)
    if not reached:
        note(rule, session, BELOW, words, closed=closed)
        return None
    outcome, why = gate(session)
    if outcome:
        # The occasion stays: what was closed is not counted as seen before a run could be made for it.
        note(rule, session, outcome, f"{words}; {why}", closed=sorted(known), waits=outcome == WAITS)
        return None
    note(rule, session, DUE, words, closed=closed)
    return {
        "strategy": rule.strategy,
        "params": rule.params,
        "summariser": rule.summariser,
        "model": rule.model,
        "extractive_allowed": rule.extractive_allowed,
        "by": rule.by,
        "rule": rule,
    }


def gate(session: Session) -> tuple[str, str]:
    """Why no automatic run may be made for a session now, as outcome and words; ("", "") where one may.

    Every automatic run goes through here, whatever its rule: the breaker, the progress rule, and the look whether the session is at work.
    """
    if Run.objects.filter(session=session, state__in=Run.LIVE).exists():
        return WAITS, "a run of this session is going on"
    if _at_work(session):
        return WAITS, "the agent is in the middle of an answer: a call has no result yet"
    manual = Run.objects.filter(session=session, trigger="manual", state=Run.State.COMPLETED).order_by("-pk").first()
    mine = Run.objects.filter(session=session, trigger="automatic", pk__gt=manual.pk if manual is not None else 0)
    newest = list(mine.exclude(status=Status.STALE).order_by("-pk")[:BREAKS_AFTER])
    if len(newest) == BREAKS_AFTER and all(_failed(run) for run in newest):
        return BREAKER, (
            f"{BREAKS_AFTER} automatic runs in a row did not land (the last: {newest[0].reason or newest[0].status}); "
            "one that a person asks for, and that lands, closes the breaker"
        )
    last = newest[0] if newest else None
    if last is None:
        return "", ""
    new = Entry.objects.filter(session=session, sent=True, seq__gt=last.last_seq).exists()
    if not new:
        return NO_PROGRESS, "nothing new has come since the last automatic run"
    if last.state == Run.State.COMPLETED and last.tokens_before and last.tokens_after is not None:
        taken = 1 - last.tokens_after / last.tokens_before
        if taken < PROGRESS:
            return NO_PROGRESS, f"the last automatic run took away only {taken:.1%}; another would do no better"
    return "", ""


def _failed(run: Run) -> bool:
    """Whether a run counts for the breaker: it was to do something and could not. Nothing to do is no failure, nor is a hook's no."""
    return run.state in (Run.State.FAILED, Run.State.REFUSED) and run.status not in (
        Status.NOOP_BELOW_THRESHOLD,
        Status.NOOP_NOTHING_TO_DO,
        Status.BLOCKED_BY_HOOK,
        Status.BREAKER_OPEN,
    )


def _at_work(session: Session) -> bool:
    """Whether the newest call has no result: an agent that works would go on from a context that is being folded."""
    newest = (
        Entry.objects.filter(session=session, sent=True, lane="", call_ids__isnull=False, kind="tool_call")
        .order_by("-seq")
        .values_list("seq", "call_ids")
        .first()
    )
    if newest is None:
        return False
    seq, calls = newest
    answered: set[str] = set()
    results = Entry.objects.filter(session=session, seq__gt=seq, call_ids__overlap=calls, kind="tool_result")
    for ids in results.values_list("call_ids", flat=True):
        answered.update(ids or ())
    later = Entry.objects.filter(session=session, seq__gt=seq, opens_turn=True).exists()
    return not later and not set(calls or ()) <= answered


def _occasion(rule: Rule, session: Session, known: set[str], closed: list[str]) -> tuple[bool, str]:
    if rule.when != Rule.When.THRESHOLD:
        new = [path for path in closed if path not in known]
        word = "completed" if rule.when == Rule.When.COMPLETED else "abandoned"
        return bool(new), f"goal {', '.join(new)} {word}" if new else f"no goal was {word} since"
    drawn = window_as(session, rule=rule.window_rule) if rule.window_rule is not None else None
    found = gauge(session, drawn=drawn)
    window = found.window
    if window is None or window.compaction is None or found.counted is None:
        return False, "no threshold is known for this session"
    said = f"{found.counted:,} tokens, {window.rule.label} compacts at {window.compaction:,}"
    return found.counted >= window.compaction, said


def _closed(session_id: Any, when: str) -> list[str]:
    """Goals that are done or given up, by the rule's occasion; the paths in their order. A status given here goes before the agent's."""
    if when == Rule.When.THRESHOLD:
        return []
    status = "completed" if when == Rule.When.COMPLETED else "abandoned"
    found = Goal.objects.filter(session_id=session_id).filter(Q(marked=status) | Q(marked__isnull=True, status=status))
    return list(found.order_by("position").values_list("path", flat=True))


def note(
    rule: Rule,
    session: Session,
    outcome: str,
    words: str,
    *,
    closed: list[str],
    run: Run | None = None,
    waits: bool = False,
) -> None:
    """Write what came of a look. One that waits has not seen the entries yet, and will be due again."""
    fields: dict[str, Any] = {"outcome": outcome, "words": words, "facts": {"closed": closed}, "at": Now()}
    if not waits:
        fields["last_seq"] = session.entries_count - 1
    if run is not None:
        fields["run"] = run
    RuleLook.objects.update_or_create(
        rule=rule, session=session, defaults=fields, create_defaults={"last_seq": -1, **fields}
    )


def noted(rule: Rule, session_id: UUID, outcome: str, words: str = "", run: Run | None = None) -> None:
    """Write what became of the run that a look called for."""
    fields: dict[str, Any] = {"outcome": outcome, "run": run}
    if words:
        fields["words"] = words
    RuleLook.objects.filter(rule=rule, session_id=session_id).update(**fields)
