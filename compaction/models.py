"""A run: one execution of a strategy on a session, from request to outcome."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from compaction.models_calls import ModelCall
from compaction.models_hooks import Hook, HookResult
from compaction.models_memory import MemoryKeeping, MemoryNote, ProjectNote
from compaction.models_rules import Rule, RuleLook

__all__ = [
    "Hook",
    "HookResult",
    "MemoryKeeping",
    "MemoryNote",
    "ModelCall",
    "ProjectNote",
    "Rule",
    "RuleLook",
    "Run",
]


class Run(models.Model):
    """One row from queued to its end. At most one of a session is live at a time; only `completed` moved the head.

    A run that is to be held ends as `held`, with what the model wrote as its draft; applied, it is queued again and asks no model.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        HELD = "held", "held"
        COMPLETED = "completed", "completed"
        REFUSED = "refused", "refused"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    LIVE = (State.QUEUED, State.RUNNING)
    DRAFTED = (State.HELD, State.REFUSED, State.FAILED)
    """Where a run may stand whose draft can still be applied: a head that moved may come back, a worker that died is replaced."""

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    session = models.ForeignKey("agent_sessions.Session", models.DB_CASCADE, related_name="runs")
    base = models.ForeignKey("agent_sessions.Version", models.DB_CASCADE, related_name="+")
    base_hash = models.TextField(help_text="of the context it was asked for; another one refuses the run")
    last_seq = models.IntegerField(help_text="the entry the context reached to")
    strategy = models.TextField(help_text="id:version")
    params = models.JSONField(default=dict)
    summariser = models.TextField(default="extractive")
    model = models.TextField(null=True, help_text="provider:name, where a model writes the summary")
    critique = models.BooleanField(default=False, help_text="the model looks over what it wrote")
    extractive_allowed = models.BooleanField(
        default=False, help_text="where no model can be had, the extractive summary may stand in"
    )
    trigger = models.TextField(default="manual", help_text="manual or automatic")
    rule = models.ForeignKey(Rule, models.DB_SET_NULL, null=True, related_name="+")
    instructions = models.TextField(default="")
    edited_summary = models.TextField(null=True)
    pins = models.JSONField(default=list)
    without = models.JSONField(default=list, help_text="paths of files that are not brought back")
    hold = models.BooleanField(
        default=False, help_text="it ends before it lands, for a person to look at what the model wrote"
    )
    draft = models.JSONField(null=True, help_text="the summaries as they were written, what they cover, and when")
    plan_digest = models.TextField(null=True, help_text="of the previewed plan: the run does what the preview showed")
    state = models.TextField(choices=State, default=State.QUEUED)
    status = models.TextField(null=True, help_text="the outcome in the words of compaction.plan.Status")
    reason = models.TextField(default="")
    phase = models.TextField(default="queued")
    log = models.JSONField(default=list, help_text="[seconds since start, phase, words]")
    attempts = models.IntegerField(default=0)
    cancel_asked = models.BooleanField(default=False)
    tokens_before = models.IntegerField(null=True)
    tokens_after = models.IntegerField(null=True)
    meter = models.TextField(default="o200k")
    report = models.JSONField(null=True, help_text="what changed, checks, retention, fates: as previewed")
    version = models.ForeignKey("agent_sessions.Version", models.DB_SET_NULL, null=True, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    asked_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session"], condition=models.Q(state__in=["queued", "running"]), name="one_live_run_per_session"
            ),
        ]
        indexes = [
            models.Index(fields=["heartbeat_at"], name="run_live", condition=models.Q(state="running")),  # the reaper
        ]
