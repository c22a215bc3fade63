"""A call to a model that a run made: what for, how it went, and what it used by the provider's own figures."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class ModelCall(models.Model):
    """One HTTP request; a retry is a row of its own. For a run, or for the memory of a session (`session`). NULL tokens: the provider did not say; NULL money: nobody knows the model's price.

    The money is what it was worth on the day, with its source: unlike a session's costs, which are priced when they are looked at, this was
    spent by Palimpsest itself.
    """

    run = models.ForeignKey("compaction.Run", models.DB_CASCADE, null=True, related_name="calls")
    session = models.ForeignKey(
        "agent_sessions.Session", models.DB_CASCADE, null=True, related_name="+", help_text="whose memory it wrote"
    )
    purpose = models.TextField(help_text="summary, reminder, self-critique, hook …")
    model = models.TextField(help_text="provider:name")
    attempt = models.IntegerField(default=1)
    outcome = models.TextField(default="asking", help_text="asking, answered, or what went wrong in two words")
    words = models.TextField(default="", help_text="what the provider said of it; no key, no prompt")
    http_status = models.IntegerField(null=True)
    waits = models.FloatField(null=True, help_text="seconds until it is tried again")
    seconds = models.FloatField(null=True)
    fresh = models.IntegerField(null=True)
    cache_read = models.IntegerField(null=True)
    cache_write = models.IntegerField(null=True)
    output = models.IntegerField(null=True)
    usd = models.DecimalField(null=True, max_digits=14, decimal_places=8)
    price_source = models.TextField(null=True)
    started_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]
