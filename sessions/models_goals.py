"""The rows beside a goal: what a person or a program marked here, and what is known of goals that were given up.

Both name a goal by its path: goals are read again from the source, and these outlive that.
"""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.db import models
from django.db.models import F, Value
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from sessions.models import Session
from sessions.models_views import SavedQuery


class GoalMark(models.Model):
    """What a person or a program did to a goal here. Append-only, an overlay: the source knows nothing of it."""

    class Verb(models.TextChoices):
        ADDED = "added", _("added")
        FOCUSED = "focused", _("focused")
        COMPLETED = "completed", _("completed")
        ABANDONED = "abandoned", _("abandoned")
        REOPENED = "reopened", _("reopened")

    class Through(models.TextChoices):
        PAGE = "page", _("page")
        COMMAND = "command", _("command")
        API = "api", _("API")
        TOOL = "tool", _("an agent's tool")

    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="goal_marks")
    path = models.TextField()
    verb = models.TextField(choices=Verb)
    text = models.TextField(default="", help_text="of an added goal")
    kind = models.TextField(default="goal", help_text="of an added goal: goal, exploration, branch")
    parent = models.TextField(null=True)
    note = models.TextField(null=True, help_text="the summary or the reason")
    at_seq = models.IntegerField(help_text="entries there were: what came later was written after it")
    through = models.TextField(choices=Through)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["session", "id"], name="goal_mark_order")]


class Abandonment(models.Model):
    """A goal that was given up: how that was found, by what evidence, for what reason, and what it had cost.

    Everything a list filters, counts or sorts by stands in this row. What people say of it (`cause_by`, `review`) outlives every new
    look; a row that no longer holds (`stands` false) is kept only where they said something.
    """

    class How(models.TextChoices):
        STATED = "stated", _("the agent said so")
        PERSON = "person", _("a person said so")
        VANISHED = "vanished", _("gone from the list")
        CUT_OFF = "cut_off", _("rolled back")
        COMPACTED = "compacted", _("lost in a compaction")
        LEFT_OPEN = "left_open", _("left open at the end")

    class Cause(models.TextChoices):
        DEPENDENCY = "missing_dependency", _("missing dependency")
        TESTS = "failing_tests", _("failing tests")
        CHANGED_MIND = "changed_mind", _("the person changed their mind")
        SUPERSEDED = "superseded", _("superseded")
        FORGOTTEN = "forgotten", _("forgotten after a compaction")
        OUT_OF_TIME = "out_of_time", _("out of time")
        OTHER = "other", _("other")

    class Review(models.TextChoices):
        UNREVIEWED = "unreviewed", _("unreviewed")
        ACCEPTED = "accepted", _("accepted")
        FOLLOW_UP = "follow_up", _("follow-up")
        NOT_ABANDONED = "not_abandoned", _("not abandoned")

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+", db_index=False)
    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="abandonments", db_index=False)
    path = models.TextField()
    text = models.TextField()
    folded = models.TextField(
        help_text="the text without case, numbers and spaces: equal ones are one goal tried again"
    )
    status = models.TextField(help_text="abandoned, dropped")
    how = models.TextField(choices=How)
    confidence = models.FloatField(help_text="0 to 1")
    why_found = models.TextField(help_text="in words: what speaks for it, and against")
    evidence = models.JSONField(default=list, help_text="entries: seq and what it shows")
    reason = models.TextField(default="")
    reason_stated = models.BooleanField(
        default=False, help_text="in the words of who gave it up; else taken from the last entries"
    )
    cause = models.TextField(choices=Cause)
    cause_found = models.TextField(choices=Cause)
    cause_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    cause_set_at = models.DateTimeField(null=True, help_text="when a person corrected the class")
    review = models.TextField(choices=Review, default=Review.UNREVIEWED)
    assignee = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    family = models.TextField(
        default="",
        help_text="`folded` of the first goal that was given up in like words: one family is one goal tried again",
    )
    kinship = models.FloatField(
        default=1.0, help_text="trigrams shared with that first one, 0 to 1; 1 is the same words"
    )
    stands = models.BooleanField(default=True)
    agent = models.TextField()
    project = models.TextField(null=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+", db_index=False)
    model = models.TextField(null=True, help_text="that answered most of its steps")
    at = models.DateTimeField(null=True, help_text="its last entry")
    week = models.DateField(null=True, help_text="the Monday before")
    entries = models.IntegerField(default=0, help_text="these figures are of the goal and those under it")
    steps = models.IntegerField(default=0)
    tokens = models.BigIntegerField(default=0, help_text="o200k tokens of its sent entries")
    spent = models.BigIntegerField(null=True, help_text="tokens of its requests and answers, as recorded")
    cost = models.DecimalField(
        null=True, max_digits=14, decimal_places=6, help_text="US dollars at the prices when it was found"
    )
    seconds = models.IntegerField(null=True)
    attempts = models.IntegerField(default=0)
    errors = models.IntegerField(default=0)
    tests = models.IntegerField(default=0)
    tests_failed = models.IntegerField(default=0)
    files = models.JSONField(default=list)
    first_seq = models.IntegerField()
    last_seq = models.IntegerField()
    found_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "path"], name="abandonment_once")]
        indexes = [
            models.Index(
                fields=["workspace", "-at", "-id"], name="abandonment_recent", condition=models.Q(stands=True)
            ),  # the list
            models.Index(
                fields=["workspace", "-tokens", "-id"], name="abandonment_largest", condition=models.Q(stands=True)
            ),  # the list by what it took
            # the list by cost, time and attempts; what is not known comes last
            models.Index(
                F("workspace"),
                Coalesce(F("cost"), Value(Decimal(-1))).desc(),
                F("id").desc(),
                name="abandonment_dearest",
                condition=models.Q(stands=True),
            ),
            models.Index(
                F("workspace"),
                Coalesce(F("seconds"), Value(-1)).desc(),
                F("id").desc(),
                name="abandonment_longest",
                condition=models.Q(stands=True),
            ),
            models.Index(
                fields=["workspace", "-attempts", "-id"], name="abandonment_oftenest", condition=models.Q(stands=True)
            ),
            models.Index(
                fields=["workspace", "project"], name="abandonment_project", condition=models.Q(stands=True)
            ),  # what narrows most
            models.Index(
                fields=["workspace", "folded"], name="abandonment_again", condition=models.Q(stands=True)
            ),  # attempts at the same goal, word for word
            models.Index(
                fields=["workspace", "family"],
                include=["id", "session", "review", "tokens", "cost"],
                name="abandonment_families",
                condition=models.Q(stands=True),
            ),  # and in like words, with what is summed of them
            # the counts of all facets, read from the index alone
            models.Index(
                fields=["workspace", "review", "cause", "how", "agent", "project", "owner", "model", "week"],
                include=["tokens", "cost", "seconds"],
                name="abandonment_facets",
                condition=models.Q(stands=True),
            ),
        ]


class Review(models.Model):
    """What a person said of a goal that was given up. Append-only (a trigger holds it): the row it is about carries the last word."""

    abandonment = models.ForeignKey(Abandonment, models.DB_CASCADE, related_name="reviews")
    before = models.TextField(choices=Abandonment.Review)
    after = models.TextField(choices=Abandonment.Review)
    comment = models.TextField(default="")
    assignee = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["abandonment", "id"], name="review_order")]


class AuditView(SavedQuery):
    """A choice of facets, words and order that a person saved under a name, as the query of its address."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "user", "name"], name="audit_view_once")]


class AuditTally(models.Model):
    """Sums over the goals given up, by one facet's value and review state. Written by triggers alone, as differences: its meaning is the sum.

    Differences are inserted and never updated, so that sessions that are read at once do not wait for each other; `audittally.merge` puts
    them together. `facet` "week" has the Mondays of the trend.
    """

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    facet = models.TextField()
    value = models.TextField(null=True)
    review = models.TextField()
    goals = models.IntegerField()
    tokens = models.BigIntegerField()
    cost = models.DecimalField(max_digits=20, decimal_places=6)
    costed = models.IntegerField(help_text="goals whose cost is known")
    seconds = models.BigIntegerField()
    timed = models.IntegerField(help_text="goals whose time is known")
