"""Which sessions were put away: the list leaves them out; everything else finds them as ever."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from sessions.models import Session


class Archived(models.Model):
    """A session that was put away, by whom and when. Taken out again the row goes."""

    session = models.OneToOneField(Session, models.DB_CASCADE, primary_key=True, related_name="archived")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())
