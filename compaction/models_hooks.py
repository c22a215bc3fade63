"""Hooks: what a workspace has asked before and after a compaction, and what each said to a run."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class Hook(models.Model):
    """One hook. `target`: an address, a prompt, the name of an entry point, or a command as a JSON list; no secret ever.

    An HTTP hook's signing secret is derived from the server's own and the hook's `salt`, and shown once.
    """

    class Event(models.TextChoices):
        PRE = "pre_compact", "before a compaction"
        POST = "post_compact", "after a compaction"

    class Kind(models.TextChoices):
        HTTP = "http", "HTTP request"
        PROMPT = "prompt", "question to a model"
        PYTHON = "python", "installed function"
        COMMAND = "command", "command"

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    name = models.TextField()
    event = models.TextField(choices=Event)
    kind = models.TextField(choices=Kind)
    target = models.TextField()
    on = models.BooleanField(default=True)
    only = models.TextField(null=True, help_text="manual or automatic; NULL: both")
    timeout = models.IntegerField(default=10, help_text="seconds")
    private = models.BooleanField(default=False, help_text="addresses that are not public may be asked")
    salt = models.TextField(default="")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="hook_once")]
        ordering = ["pk"]


class HookResult(models.Model):
    """What a hook said to a run. Kept when the hook itself is gone."""

    run = models.ForeignKey("compaction.Run", models.DB_CASCADE, related_name="hook_results")
    hook = models.ForeignKey(Hook, models.DB_SET_NULL, null=True, related_name="+")
    name = models.TextField()
    event = models.TextField()
    kind = models.TextField()
    outcome = models.TextField(help_text="continued, blocked, not again, failed")
    words = models.TextField(default="")
    effects = models.JSONField(default=dict, help_text="instructions, pins, appended: as they were taken")
    seconds = models.FloatField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]
