"""What is remembered: the memory of each session in its versions, and what a project's sessions taught, note by note."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class MemoryNote(models.Model):
    """One version of a session's memory. Written once and never changed; the newest one holds."""

    class Origin(models.TextChoices):
        UPDATE = "update", "brought up to date"
        EDIT = "edit", "edited by a person"

    session = models.ForeignKey("agent_sessions.Session", models.DB_CASCADE, related_name="memory_notes")
    n = models.IntegerField(help_text="its number in the session, from 1")
    origin = models.TextField(choices=Origin)
    until = models.IntegerField(help_text="the newest entry that is in it; -1: none")
    notes = models.JSONField(help_text="its ten sections (`notes.sections.Notes.to_json`)")
    tokens = models.IntegerField(help_text="of its text, by o200k")
    writer = models.TextField(help_text="extractive, llm:provider:name, or edited")
    reason = models.TextField(default="", help_text="why it was written then, in words")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "n"], name="memory_note_number")]
        ordering = ["n"]


class MemoryKeeping(models.Model):
    """How a session's memory is kept, and when somebody last looked whether it has to be brought up to date. One row for a session."""

    session = models.OneToOneField("agent_sessions.Session", models.DB_CASCADE, related_name="memory_keeping")
    on = models.BooleanField(default=True)
    summariser = models.TextField(default="extractive")
    model = models.TextField(null=True, help_text="provider:name, where a model writes it")
    looked_seq = models.IntegerField(default=-1, help_text="the newest entry that was there at the last look")
    words = models.TextField(default="", help_text="what the last look came to")
    at = models.DateTimeField(db_default=Now())


class ProjectNote(models.Model):
    """Something that a session of a project taught and that the next one should know: proposed by a task, taken over by a person.

    `text` is what the task proposed and stays; `wording` is a person's, where they worded it anew.
    """

    class Kind(models.TextChoices):
        USER = "user", "the person"
        FEEDBACK = "feedback", "feedback"
        PROJECT = "project", "the project"
        REFERENCE = "reference", "references"

    class State(models.TextChoices):
        PROPOSED = "proposed", "proposed"
        ACCEPTED = "accepted", "accepted"
        REJECTED = "rejected", "rejected"

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    project = models.TextField(help_text='of the sessions it holds for; "" for all of the workspace')
    kind = models.TextField(choices=Kind)
    state = models.TextField(choices=State, default=State.PROPOSED)
    text = models.TextField()
    wording = models.TextField(default="")
    digest = models.TextField(help_text="of its words, so that what was rejected is not proposed again")
    evidence = models.JSONField(default=list, help_text="[session, entries] from which it was taken, newest last")
    times = models.IntegerField(default=1, help_text="sessions in which it was found")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    proposed_at = models.DateTimeField(db_default=Now())
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "project", "kind", "digest"], name="project_note_once")
        ]
        indexes = [models.Index(fields=["workspace", "project", "state"], name="project_note_state")]

    @property
    def words(self) -> str:
        """What it says: a person's wording, else the proposed one."""
        return self.wording or self.text
