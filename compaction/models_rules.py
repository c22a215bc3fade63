"""Rules for compactions that nobody asks for one by one. Without a row here nothing happens by itself."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class Rule(models.Model):
    """When a run is to be made, and which. Of a session, else of a project, else of the workspace: the narrowest that is there holds."""

    class When(models.TextChoices):
        THRESHOLD = "threshold", "at the threshold of a window rule"
        COMPLETED = "goal_completed", "when a goal is completed"
        ABANDONED = "goal_abandoned", "when a goal is abandoned"

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    session = models.ForeignKey("agent_sessions.Session", models.DB_CASCADE, null=True, related_name="+")
    project = models.TextField(null=True)
    when = models.TextField(choices=When)
    window_rule = models.TextField(null=True, help_text="whose threshold; NULL: the session's own agent's")
    on = models.BooleanField(default=True)
    strategy = models.TextField()
    params = models.JSONField(default=dict)
    summariser = models.TextField(default="extractive")
    model = models.TextField(null=True)
    extractive_allowed = models.BooleanField(default=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "session", "project", "when"], name="rule_once", nulls_distinct=False
            ),
        ]
        ordering = ["pk"]


class RuleLook(models.Model):
    """The last look of a rule at a session: what came of it and why. One row for a pair."""

    rule = models.ForeignKey(Rule, models.DB_CASCADE, related_name="looks")
    session = models.ForeignKey("agent_sessions.Session", models.DB_CASCADE, related_name="+")
    outcome = models.TextField(help_text="started, waits, breaker open, no progress, session live, refused")
    words = models.TextField(default="")
    last_seq = models.IntegerField()
    run = models.ForeignKey("compaction.Run", models.DB_SET_NULL, null=True, related_name="+")
    facts = models.JSONField(default=dict)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rule", "session"], name="rule_look_once")]
