"""What people put on entries for one another: bookmarks of one's own, and comments for everybody in the workspace."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from sessions.models import Session


class Bookmark(models.Model):
    """An entry that a person wants to find again. It is theirs alone, and says nothing to a compaction (as a pin does)."""

    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="bookmarks")
    seq = models.IntegerField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_CASCADE, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "by", "seq"], name="bookmark_once")]


class Comment(models.Model):
    """Words on an entry, for everybody who may read the session. Who wrote them may take them away."""

    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="comments")
    seq = models.IntegerField()
    text = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["session", "seq", "id"], name="comment_place")]
