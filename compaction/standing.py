"""What a workspace has standing: rules and hooks as JSON, the same from the API and the command line."""

from __future__ import annotations

from typing import Any

from compaction.models import Hook, Rule, RuleLook


def rule_json(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.pk,
        "when": rule.when,
        "session": None if rule.session_id is None else str(rule.session_id),
        "project": rule.project,
        "window_rule": rule.window_rule,
        "on": rule.on,
        "strategy": rule.strategy,
        "params": rule.params,
        "summariser": rule.summariser,
        "model": rule.model,
        "extractive_allowed": rule.extractive_allowed,
        "by": None if rule.by is None else rule.by.get_username(),
        "at": rule.at.isoformat(),
    }


def looks_json(rules: list[Rule], most: int = 50) -> list[dict[str, Any]]:
    """The newest looks of these rules that came to something, newest first: what each saw and what it did."""
    found = RuleLook.objects.filter(rule__in=rules).exclude(outcome="seen").order_by("-at")[:most]
    return [
        {
            "rule": look.rule_id,
            "session": str(look.session_id),
            "outcome": look.outcome,
            "words": look.words,
            "run": look.run_id,
            "at": look.at.isoformat(),
        }
        for look in found
    ]


def hook_json(hook: Hook) -> dict[str, Any]:
    return {
        "name": hook.name,
        "event": hook.event,
        "kind": hook.kind,
        "target": hook.target,
        "only": hook.only,
        "timeout": hook.timeout,
        "private": hook.private,
        "on": hook.on,
        "by": None if hook.by is None else hook.by.get_username(),
        "at": hook.at.isoformat(),
    }
