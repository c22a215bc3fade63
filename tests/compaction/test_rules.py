"""Automatic runs: off unless a rule says otherwise, each through the one gate, and none twice for the same reason."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models.functions import Now

from compaction import rules, runs, tasks
from compaction.models import Rule, RuleLook, Run
from sessions.models import Goal, Session
from sessions.versions import Refused
from tests.compaction.stage import ended, grow, head_of
from tests.compaction.test_runs import prompt_after

pytestmark = pytest.mark.django_db(transaction=True)

FOLDS: dict[str, Any] = {"free": 1_000_000}


@pytest.fixture
def lively(session: Session) -> Session:
    """The session was worked in just now, and its rule's threshold is far below what it holds."""
    Session.objects.filter(pk=session.pk).update(last_at=Now(), window=60_000)
    session.refresh_from_db()
    return session


def grown(session: Session) -> Session:
    """The session with one more message of a person, each with an id of its own."""
    entries = Session.objects.get(pk=session.pk).entries_count
    grow(session, prompt_after(session).replace("-000000000001", f"-{entries:012d}"))
    Session.objects.filter(pk=session.pk).update(last_at=Now(), window=60_000)
    session.refresh_from_db()
    return session


def look_of(rule: Rule) -> RuleLook:
    return RuleLook.objects.get(rule=rule)


def test_without_a_rule_nothing_happens(lively: Session) -> None:
    assert rules.due() == []
    grown(lively)
    assert rules.due() == []


def test_a_new_rule_starts_nothing_until_a_session_grows_over_its_threshold(lively: Session) -> None:
    rule = rules.put(lively.workspace, "threshold", window_rule=None, params=FOLDS)
    assert rules.due() == []
    grown(lively)
    assert rules.due() == [(rule.pk, lively.pk)]
    assert rules.due() == []  # marked: two workers do not both look

    wanted = rules.look(rule.pk, lively.pk)
    assert wanted is not None, look_of(rule).words
    run = runs.request(lively.pk, **wanted)
    assert (run.trigger, run.rule) == ("automatic", rule)
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "completed", run.reason
    assert head_of(lively) == run.version
    assert "compacts at" in look_of(rule).words


def test_below_the_threshold_nothing_is_done_and_that_is_said(lively: Session) -> None:
    rule = rules.put(lively.workspace, "threshold", params=FOLDS)
    grown(lively)
    Session.objects.filter(pk=lively.pk).update(window=5_000_000)
    assert rules.look(rule.pk, lively.pk) is None
    assert (look_of(rule).outcome, "compacts at" in look_of(rule).words) == ("not reached", True)


def test_the_narrowest_rule_holds_and_one_that_is_off_keeps_the_wide_one_out(lively: Session) -> None:
    wide = rules.put(lively.workspace, "threshold", params=FOLDS)
    narrow = rules.put(lively.workspace, "threshold", session=lively, params=FOLDS)
    grown(lively)
    assert [rule for rule, _ in rules.due()] == [narrow.pk]
    RuleLook.objects.all().update(outcome="seen")
    rules.put(lively.workspace, "threshold", session=lively, params=FOLDS, on=False)
    assert rules.due() == []
    rules.drop(lively.workspace, narrow.pk)
    assert [rule for rule, _ in rules.due()] == [wide.pk]


def test_a_goal_that_closes_calls_for_a_run_once(lively: Session) -> None:
    Goal.objects.filter(session=lively).delete()
    Goal.objects.create(
        session=lively, path="1", position="1", text="Stream", status="completed", first_seq=0, last_seq=9
    )
    Goal.objects.create(
        session=lively, path="2", position="2", text="Test", status="in_progress", first_seq=9, last_seq=20
    )
    grown(lively)
    rule = rules.put(lively.workspace, "goal_completed", params=FOLDS)
    assert rules.look(rule.pk, lively.pk) is None  # what was closed before counts as seen
    Goal.objects.filter(session=lively, path="2").update(status="completed")
    assert rules.look(rule.pk, lively.pk) is not None
    assert look_of(rule).words == "goal 2 completed"
    assert rules.look(rule.pk, lively.pk) is None


def failed_run(session: Session, rule: Rule, **fields: Any) -> Run:
    run = runs.request(session.pk, strategy="hybrid", params=FOLDS, rule=rule)
    values = {"state": "refused", "status": "failed_inflated", "reason": "no", **fields}
    Run.objects.filter(pk=run.pk).update(**values)
    return run


def test_three_failures_open_the_breaker_and_a_persons_run_closes_it(lively: Session) -> None:
    rule = rules.put(lively.workspace, "threshold", params=FOLDS)
    for _ in range(3):
        assert rules.gate(grown(lively)) == ("", "")
        failed_run(lively, rule)
    outcome, words = rules.gate(grown(lively))
    assert outcome == "breaker open"
    assert "3 automatic runs" in words
    assert rules.look(rule.pk, lively.pk) is None
    assert look_of(rule).outcome == "breaker open"
    by_hand = runs.request(lively.pk, strategy="hybrid", params=FOLDS)
    runs.execute(by_hand.pk)
    assert rules.gate(grown(lively)) == ("", "")


def test_what_is_not_the_strategys_fault_opens_no_breaker(lively: Session) -> None:
    rule = rules.put(lively.workspace, "threshold", params=FOLDS)
    for status in ("noop_nothing_to_do", "blocked_by_hook", "noop_below_threshold"):
        failed_run(lively, rule, status=status)
    assert rules.gate(grown(lively)) == ("", "")


def test_no_second_automatic_run_without_anything_new_or_without_progress(lively: Session) -> None:
    rule = rules.put(lively.workspace, "threshold", params=FOLDS)
    grown(lively)
    run = failed_run(lively, rule, state="completed", status="completed", tokens_before=100_000, tokens_after=97_000)
    assert rules.gate(lively)[0] == "no progress"
    assert "3.0%" in rules.gate(grown(lively))[1]
    Run.objects.filter(pk=run.pk).update(tokens_after=60_000)
    assert rules.gate(lively) == ("", "")


def test_a_session_in_the_middle_of_an_answer_is_left_alone_and_looked_at_again(lively: Session) -> None:
    from sessions.models import Entry

    rule = rules.put(lively.workspace, "threshold", params=FOLDS)
    grown(lively)
    newest = Entry.objects.filter(session=lively, kind="tool_call", lane="").order_by("-seq").first()
    assert newest is not None
    Entry.objects.filter(session=lively, seq__gt=newest.seq).update(opens_turn=False, call_ids=None)
    assert rules.look(rule.pk, lively.pk) is None
    assert (look_of(rule).outcome, "no result yet" in look_of(rule).words) == ("waits", True)
    assert rules.due() == []
    from datetime import timedelta

    RuleLook.objects.update(at=Now() - timedelta(seconds=rules.AGAIN + 1))
    assert rules.due() == [(rule.pk, lively.pk)]


def test_an_archive_that_is_taken_in_is_not_compacted(session: Session) -> None:
    rules.put(session.workspace, "threshold", params=FOLDS)
    RuleLook.objects.all().delete()
    assert rules.due() == []  # its newest entry is of months ago


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"when": "tuesday"}, "no occasion"),
        ({"when": "threshold", "strategy": "nap"}, "no strategy"),
        ({"when": "threshold", "params": {"nap": 1}}, "no parameter"),
        ({"when": "threshold", "window_rule": "nap"}, "no window rule"),
        ({"when": "goal_completed", "window_rule": "x"}, "belongs to"),
        ({"when": "threshold", "summariser": "llm"}, "No model is configured"),
    ],
)
def test_a_rule_that_could_never_run_is_refused(session: Session, given: dict[str, Any], words: str) -> None:
    when = given.pop("when")
    with pytest.raises(Refused, match=words):
        rules.put(session.workspace, when, **given)
    assert not Rule.objects.exists()


def test_a_worker_looks_after_rules_by_itself(lively: Session, worker_environment: dict[str, str]) -> None:
    from tests.compaction.test_tasks import a_worker

    rule = rules.put(lively.workspace, "threshold", params=FOLDS)
    grown(lively)
    seen: list[Run] = []
    with a_worker({**worker_environment, "PALIMPSEST_RUN_HEARTBEAT": "1"}):
        from django.db import connection

        from compaction.progress import CHANNEL

        with connection.cursor() as cursor:
            cursor.execute(f"LISTEN {CHANNEL}")
        for _ in range(120):
            run = Run.objects.filter(rule=rule).first()
            if run is not None:
                seen.append(ended(run.pk))
                break
            list(connection.connection.notifies(timeout=1, stop_after=1))
    assert [run.state for run in seen] == ["completed"], list(RuleLook.objects.values())
    assert head_of(lively) == seen[0].version
    look = look_of(rule)
    assert (look.outcome, look.run) == ("started", seen[0])


def test_the_run_of_a_rule_that_cannot_be_sent_is_said(lively: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = rules.put(lively.workspace, "threshold", params=FOLDS)
    grown(lively)
    wanted = rules.look(rule.pk, lively.pk)
    assert wanted is not None
    runs.request(lively.pk, strategy="hybrid", params=FOLDS)  # a person was quicker

    monkeypatch.setattr(tasks.rules, "look", lambda *a: wanted)
    tasks.look(rule.pk, str(lively.pk))
    assert (look_of(rule).outcome, "is still queued" in look_of(rule).words) == ("refused", True)
