"""The rows of search: the words, the stretches of entries that were looked through, and of each word where in a stretch it stands.

Written after a session was taken in, never while it is. A stretch whose entries go is taken away by the database itself
(`search/statements.py`), and what is not covered by stretches is looked through again.
"""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now

from sessions.models import Session


class SearchWord(models.Model):
    """A word that stands in some entry, or did. With "@" before it, what an entry is filed under (`search/texts`)."""

    id = models.AutoField(primary_key=True)
    word = models.TextField(db_collation="C")  # by code points, so that a range of them is a beginning

    class Meta:
        constraints = [models.UniqueConstraint(fields=["word"], name="search_word")]


class SearchStretch(models.Model):
    """Entries `first` to `stop` (excluded) of a session, looked through. `classes`: for each of `texts.CLASSES` a set of places."""

    id = models.AutoField(primary_key=True)
    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="stretches", db_index=False)
    first = models.IntegerField()
    stop = models.IntegerField()
    classes = models.BinaryField()
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "first"], name="search_stretch")]


class SearchPosting(models.Model):
    """The places of a word in a stretch (`search/bits`). Without foreign keys: they would cost more than the rows."""

    pk = models.CompositePrimaryKey("word", "stretch")
    word = models.IntegerField()
    stretch = models.IntegerField()
    places = models.BinaryField()

    class Meta:
        # A stretch is written at one time, so its rows lie together: enough to find them again when it goes.
        indexes = [BrinIndex(fields=["stretch"], name="search_posting_stretch", pages_per_range=16)]
