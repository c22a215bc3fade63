"""What a person keeps under a name as the query of its address; and of the list of sessions its filters."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class SavedQuery(models.Model):
    """What every such row has. A name is a person's own, once in a workspace."""

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_CASCADE, related_name="+")
    name = models.TextField()
    query = models.TextField()
    saved_at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True


class ListView(SavedQuery):
    """Filters of the list of sessions that a person saved under a name."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "user", "name"], name="list_view_once")]
