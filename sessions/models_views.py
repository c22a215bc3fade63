"""What a person keeps of the list of sessions: filters under a name."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class ListView(models.Model):
    """Filters of the list of sessions that a person saved under a name, as the query of its address."""

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_CASCADE, related_name="+")
    name = models.TextField()
    query = models.TextField()
    saved_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "user", "name"], name="list_view_once")]
