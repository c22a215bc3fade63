"""The rows of search: the words, the volumes of entries that were looked through, and of each word where in a volume it stands.

Written after a session was taken in, never while it is. A stretch whose entries go is taken away by the database itself, and with its
last stretch a volume (`search/statements.py`); what is not covered by stretches is looked through again.
"""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now

from sessions.models import Session, Version
from sessions.models_views import SavedQuery


class SearchWord(models.Model):
    """A word that stands in some entry, or did. With "@" before it, what an entry is filed under (`search/texts`)."""

    id = models.AutoField(primary_key=True)
    word = models.TextField(db_collation="C")  # by code points, so that a range of them is a beginning

    class Meta:
        constraints = [models.UniqueConstraint(fields=["word"], name="search_word")]


class SearchVolume(models.Model):
    """Some thousands of entries of one or several sessions, which share their postings. `size`: its places; `classes`: for each of
    `texts.CLASSES` a set of places. A place that no stretch covers any more says nothing.
    """

    id = models.AutoField(primary_key=True)
    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    size = models.IntegerField()
    classes = models.BinaryField()
    made_at = models.DateTimeField(db_default=Now())


class SearchStretch(models.Model):
    """Entries `first` to `stop` (excluded) of a session, looked through: they stand in their volume from place `at` on.

    With `version`, what that version puts into the context: its insertions by their order, those that its parent has as well left out.
    """

    id = models.AutoField(primary_key=True)
    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="stretches", db_index=False)
    version = models.ForeignKey(Version, models.DB_CASCADE, null=True, related_name="+")
    volume = models.ForeignKey(SearchVolume, models.DB_CASCADE, related_name="stretches")
    at = models.IntegerField()
    first = models.IntegerField()
    stop = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "version", "first"], name="search_stretch", nulls_distinct=False)
        ]


class SearchPosting(models.Model):
    """The places of a word in a volume (`search/bits`). Without foreign keys: they would cost more than the rows."""

    pk = models.CompositePrimaryKey("word", "volume")
    word = models.IntegerField()
    volume = models.IntegerField()
    places = models.BinaryField()

    class Meta:
        # A volume is written at one time, so its rows lie together: enough to find them again when it goes.
        indexes = [BrinIndex(fields=["volume"], name="search_posting_volume", pages_per_range=16)]


class SavedSearch(SavedQuery):
    """A search that a person saved under a name, as the query of its address."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "user", "name"], name="saved_search_once")]
