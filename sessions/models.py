"""The rows: sources and their bytes, sessions, entries, steps, goals, versions and their insertions, events.

Entries never change. What belongs to a team carries its workspace. Rows of a session vanish with it in one statement (DB_CASCADE).
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from sessions.fields import RangesField
from sessions.ranges import Ranges


class Source(models.Model):
    """The bytes as the agent wrote them. A rewritten file is a new row with the next revision; the old one stays."""

    class Role(models.TextChoices):
        SESSION = "session", "session"
        SIDECAR = "sidecar", "sidecar"

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    agent = models.TextField()
    adapter_version = models.IntegerField()
    role = models.TextField(choices=Role)
    path = models.TextField(help_text="where the agent keeps it, as given at ingest")
    encoding = models.TextField(
        default="", help_text="zstd where the file is compressed; offsets of entries are those of what it holds"
    )
    native_id = models.TextField(null=True)
    source_id = models.TextField(null=True, help_text="how other sources name this one")
    owner_native_id = models.TextField(null=True, help_text="native id of the session a sidecar belongs to")
    owner = models.ForeignKey("Session", models.DB_SET_NULL, null=True, related_name="sidecars")
    revision = models.IntegerField(default=1)
    superseded = models.BooleanField(default=False)
    size = models.BigIntegerField(default=0, help_text="bytes stored, the whole file")
    consumed = models.BigIntegerField(
        default=0, help_text="bytes of whole records read; what is behind may still be half written"
    )
    digest = models.BinaryField(null=True, help_text="SHA-256 of the first `digested` bytes")
    digested = models.BigIntegerField(null=True, help_text="NULL: all of them; what was appended since is not in it")
    identity = models.TextField(null=True, help_text="device and number of the file it was last read from")
    modified_at = models.DateTimeField(null=True)
    state = models.JSONField(null=True, help_text="where reading goes on: of the reader and of the assembly")
    moved = models.JSONField(
        default=list,
        help_text="of a document: from which entry on records lie how many bytes further on than their rows say",
    )
    taken_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "agent", "path", "revision"], name="source_path_revision"),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "digest"], name="source_digest"
            ),  # ingest: the same file under another path
            models.Index(fields=["workspace", "agent", "source_id"], name="source_named"),  # ingest: bases of forks
            models.Index(fields=["workspace", "agent", "size"], name="source_size"),  # ingest: may be the same bytes
            models.Index(
                fields=["workspace", "agent", "owner_native_id"],
                name="source_unowned",
                condition=models.Q(role="sidecar", owner=None),
            ),  # ingest: what waits for its session
        ]


class SourceChunk(models.Model):
    """A stretch of a source's bytes, compressed by zstd."""

    pk = models.CompositePrimaryKey("source_id", "offset")
    source = models.ForeignKey(Source, models.DB_CASCADE, related_name="chunks", db_index=False)
    offset = models.BigIntegerField()
    length = models.IntegerField()
    data = models.BinaryField()


class Session(models.Model):
    """One recorded run of an agent. `head` is what a person chose (None: it follows the native head)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="sessions")
    agent = models.TextField()
    agent_version = models.TextField(null=True)
    native_id = models.TextField(null=True)
    source = models.OneToOneField(
        Source, models.DB_CASCADE, related_name="session", help_text="its own source, the last of its chain"
    )
    parent = models.ForeignKey("self", models.DB_SET_NULL, null=True, related_name="children")
    parent_kind = models.TextField(null=True)
    parent_native_id = models.TextField(null=True)
    parent_call_id = models.TextField(null=True)
    superseded_by = models.ForeignKey("self", models.DB_SET_NULL, null=True, related_name="+")
    title = models.TextField(default="")
    project = models.TextField(null=True)
    cwd = models.TextField(null=True)
    branch = models.TextField(null=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    models_used = models.JSONField(default=list)
    window = models.IntegerField(null=True, help_text="context window in tokens, as the session records it")
    facts = models.JSONField(default=dict, help_text="what the adapter learned besides")
    problems = models.JSONField(default=list)
    started_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    entries_count = models.IntegerField(default=0)
    turns = models.IntegerField(default=0)
    steps_count = models.IntegerField(default=0)
    malformed = models.IntegerField(default=0)
    totals = models.JSONField(
        default=dict, help_text="sums over its own steps: fresh, cache_read, cache_write, output, reasoning"
    )
    native_head = models.ForeignKey("Version", models.DB_SET_NULL, null=True, related_name="+")
    head = models.ForeignKey("Version", models.DB_SET_NULL, null=True, related_name="+")
    redo = models.JSONField(default=list, help_text="versions an undo left, newest last: where redo leads")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "-last_at", "id"], name="session_recent"),  # the list
            models.Index(
                fields=["workspace", "agent", "native_id"], name="session_native"
            ),  # parents, names on the command line
            models.Index(
                fields=["workspace", "parent_native_id"],
                name="session_orphan",
                condition=models.Q(parent=None, parent_native_id__isnull=False),
            ),  # ingest: what waits for its parent
            models.Index(
                fields=["workspace", "agent"], name="session_waiting", condition=models.Q(facts__has_key="waits_for")
            ),  # ingest: what waits for its base
        ]

    def __str__(self) -> str:
        return self.title or str(self.native_id or self.id)

    @property
    def current(self) -> Version | None:
        """The version in force: the head a person chose, else the native one."""
        return self.head or self.native_head


class SessionSource(models.Model):
    """The chain of sources a session is read from. All but the last are another session's, up to `until_offset`."""

    pk = models.CompositePrimaryKey("session_id", "position")
    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="chain", db_index=False)
    position = models.IntegerField()
    source = models.ForeignKey(Source, models.DB_CASCADE, related_name="used_by")
    until_offset = models.BigIntegerField(null=True)
    copied = models.BooleanField(default=False)


class Entry(models.Model):
    """One record of a session. Written by COPY, never updated. `parts` is JSON, compressed where that pays (`store`)."""

    pk = models.CompositePrimaryKey("session_id", "seq")
    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="entries", db_index=False)
    seq = models.IntegerField()
    turn = models.IntegerField(null=True)
    step = models.IntegerField(null=True)
    goal = models.TextField(null=True)
    kind = models.TextField()
    role = models.TextField(null=True)
    tool = models.TextField(null=True)
    native_id = models.TextField(null=True)
    native_parent = models.TextField(null=True)
    response_id = models.TextField(null=True)
    call_ids = models.JSONField(null=True)
    is_error = models.BooleanField(default=False)
    sent = models.BooleanField(default=False)
    opens_turn = models.BooleanField(default=False)
    copied = models.BooleanField(default=False)
    lane = models.TextField(default="")
    at = models.DateTimeField(null=True)
    text = models.TextField(default="", help_text="the first 4,000 characters of its words, for lists and search")
    parts = models.BinaryField()
    digest = models.BinaryField(help_text="eight bytes that tell contents apart")
    utf8 = models.IntegerField(default=0)
    utf16 = models.IntegerField(default=0)
    ascii = models.IntegerField(default=0)
    images = models.IntegerField(default=0)
    documents = models.IntegerField(default=0)
    tokens = models.IntegerField(default=0)
    cl100k = models.IntegerField(default=0)
    chars = models.IntegerField(default=0)
    json = models.IntegerField(default=0)
    wide_tool = models.IntegerField(default=0)
    source = models.ForeignKey(Source, models.DO_NOTHING, db_index=False, db_constraint=False, related_name="+")
    byte_offset = models.BigIntegerField()
    byte_length = models.IntegerField()
    link = models.JSONField(null=True)
    problem = models.TextField(null=True)

    class Meta:
        indexes = [
            # deep links by native id; compaction and goals read by (session, seq), which the key serves
            models.Index(
                fields=["session", "native_id"], name="entry_native", condition=models.Q(native_id__isnull=False)
            ),
            models.Index(
                fields=["session", "turn", "seq"], name="entry_turns", condition=models.Q(opens_turn=True)
            ),  # outline
        ]


class Step(models.Model):
    """One model request and its answer. Prompt = fresh + cache_read + cache_write. NULL where the agent records no figure."""

    pk = models.CompositePrimaryKey("session_id", "n")
    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="steps", db_index=False)
    n = models.IntegerField()
    turn = models.IntegerField(null=True)
    first_seq = models.IntegerField()
    last_seq = models.IntegerField()
    response_id = models.TextField(null=True)
    model = models.TextField(null=True)
    at = models.DateTimeField(null=True)
    fresh = models.IntegerField(null=True)
    cache_read = models.IntegerField(null=True)
    cache_write = models.IntegerField(null=True)
    output = models.IntegerField(null=True)
    reasoning = models.IntegerField(null=True)
    total = models.IntegerField(null=True)
    window = models.IntegerField(null=True)
    estimated = models.BooleanField(default=False)
    copied = models.BooleanField(default=False, help_text="requested in another session: not counted again")

    class Meta:
        indexes = [
            # ingest: has another session of the workspace counted this answer already?
            models.Index(fields=["response_id"], name="step_response", condition=models.Q(response_id__isnull=False)),
        ]

    @property
    def prompt(self) -> int | None:
        known = [part for part in (self.fresh, self.cache_read, self.cache_write) if part is not None]
        return sum(known) if known else None

    @property
    def context(self) -> int | None:
        """Tokens of the window taken once the answer is in."""
        if self.total is not None:
            return self.total
        return None if self.prompt is None else self.prompt + (self.output or 0)


class Goal(models.Model):
    """A node of the session's goal tree, as the agent's own plan tools stated it (or inferred, one for each request)."""

    pk = models.CompositePrimaryKey("session_id", "path")
    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="goals", db_index=False)
    path = models.TextField()
    position = models.TextField(help_text="sorts as the tree does")
    parent = models.TextField(null=True)
    text = models.TextField()
    status = models.TextField()
    note = models.TextField(null=True)
    first_seq = models.IntegerField()
    last_seq = models.IntegerField()
    inferred = models.BooleanField(default=False)
    entries_count = models.IntegerField(default=0)
    tokens = models.IntegerField(default=0, help_text="o200k tokens of its sent entries")
    figures = models.JSONField(default=dict, help_text="what its own entries came to (`tallies.Tally.figures`)")
    spans = RangesField(default=Ranges, help_text="its own entries")
    closed_seq = models.IntegerField(null=True, help_text="the entry that completed, abandoned or dropped it")
    was = models.TextField(null=True, help_text="its first wording, where it was reworded")
    marked = models.TextField(null=True, help_text="the status that a person or a program gave it here, over its own")
    mark_note = models.TextField(null=True)
    added = models.BooleanField(default=False, help_text="it was added here")
    kind = models.TextField(default="goal", help_text="goal; exploration (a question) and its branches")


class Version(models.Model):
    """One immutable context of a session: the full set of edits against the raw log."""

    class Origin(models.TextChoices):
        RECORDED = "recorded", "as recorded"
        NATIVE = "native", "made by the agent"
        RUN = "run", "made by a run"
        PERSON = "person", "made by a person"

    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="versions")
    n = models.IntegerField(help_text="its number in the session, from 0")
    parent = models.ForeignKey("self", models.DB_CASCADE, null=True, related_name="children")
    origin = models.TextField(choices=Origin)
    kind = models.TextField(help_text="recorded, compaction, microcompaction, rewind, rollback, revert, …")
    label = models.TextField(default="")
    at_seq = models.IntegerField(help_text="last entry it was made over; -1 for an empty log")
    hidden = RangesField(default=Ranges)
    masked = RangesField(default=Ranges)
    tokens = models.IntegerField(null=True, help_text="o200k tokens of its context over entries up to at_seq")
    content_hash = models.TextField(help_text="of its context over entries up to at_seq")
    facts = models.JSONField(default=dict)
    run = models.BigIntegerField(null=True, help_text="the run that made it")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField(db_default=Now())
    name = models.TextField(default="", help_text="what a person calls it; all else of a version never changes")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "n"], name="version_number")]

    def __str__(self) -> str:
        return f"v{self.n}"


class Insertion(models.Model):
    """Text a version adds after entry `after`, or (with `replaces`) puts in the place of an entry's body."""

    version = models.ForeignKey(Version, models.DB_CASCADE, related_name="insertions")
    position = models.IntegerField()
    after = models.IntegerField()
    replaces = models.IntegerField(null=True)
    role = models.TextField()
    kind = models.TextField()
    label = models.TextField(default="")
    parts = models.BinaryField()
    stands_for = RangesField(default=Ranges)
    utf8 = models.IntegerField(default=0)
    utf16 = models.IntegerField(default=0)
    ascii = models.IntegerField(default=0)
    images = models.IntegerField(default=0)
    documents = models.IntegerField(default=0)
    tokens = models.IntegerField(default=0)
    cl100k = models.IntegerField(default=0)
    chars = models.IntegerField(default=0)
    json = models.IntegerField(default=0)
    wide_tool = models.IntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "position"], name="insertion_position")]


class Pin(models.Model):
    """An entry that a person wants kept word for word by every compaction."""

    session = models.ForeignKey(Session, models.DB_CASCADE, related_name="pins")
    seq = models.IntegerField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="pin_once")]


class ModelLimit(models.Model):
    """What a workspace says of models itself, over the catalogue. NULL: it says nothing of that. Prices in US dollars a million tokens."""

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    pattern = models.TextField(help_text="a model's name, or a pattern with * and ?; the longest that fits holds")
    context = models.IntegerField(null=True)
    input = models.IntegerField(null=True)
    output = models.IntegerField(null=True)
    price_input = models.DecimalField(null=True, max_digits=12, decimal_places=6)
    price_output = models.DecimalField(null=True, max_digits=12, decimal_places=6)
    price_cache_read = models.DecimalField(null=True, max_digits=12, decimal_places=6)
    price_cache_write = models.DecimalField(null=True, max_digits=12, decimal_places=6)
    source = models.TextField(help_text="who says so")
    date = models.DateField(help_text="as of when")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "pattern"], name="model_limit_once")]


class Event(models.Model):
    """Who did what, append-only."""

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    session = models.ForeignKey(Session, models.DB_CASCADE, null=True, related_name="events")
    who = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")
    what = models.TextField(help_text="head_moved, compacted, rolled_back, undone, redone, pinned, …")
    facts = models.JSONField(default=dict)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["session", "-at"], name="event_session")]


class Upload(models.Model):
    """Bytes of a source on their way in: they came in pieces, and the last is not here yet or made no session so far."""

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    path = models.TextField(help_text="the name under which the source is to be kept")
    base = models.ForeignKey(Source, models.DB_CASCADE, null=True, related_name="+", help_text="what it continues")
    start = models.BigIntegerField(help_text="bytes of the base that stand before it")
    size = models.BigIntegerField(help_text="bytes of the whole, the base's among them")
    rewrite = models.BooleanField(default=False, help_text="takes the place of what is stored under the name")
    touched_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["workspace", "path"], name="upload_path")]


class UploadChunk(models.Model):
    """A stretch of an upload's bytes, compressed by zstd."""

    pk = models.CompositePrimaryKey("upload_id", "offset")
    upload = models.ForeignKey(Upload, models.DB_CASCADE, related_name="chunks", db_index=False)
    offset = models.BigIntegerField()
    length = models.IntegerField()
    data = models.BinaryField()


class Intake(models.Model):
    """What became of a file that came in by one of the ways in. The same outcome again is the same row, newer."""

    class How(models.TextChoices):
        COMMAND = "command", "ingest"
        WATCH = "watch", "watched folder"
        UPLOAD = "upload", "upload"
        PUSH = "push", "push"
        EXPORT = "export", "telemetry"

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    key = models.BinaryField(help_text="digest of path, way and outcome")
    at = models.DateTimeField()
    how = models.TextField(choices=How)
    path = models.TextField()
    outcome = models.TextField()
    reason = models.TextField(default="")
    agent = models.TextField(null=True)
    session = models.ForeignKey(Session, models.DB_SET_NULL, null=True, related_name="+")
    size = models.BigIntegerField(default=0, help_text="bytes of the file")
    entries = models.IntegerField(default=0)
    added = models.IntegerField(default=0, help_text="entries that were new, over all its times")
    times = models.IntegerField(default=1)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.DB_SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "key"], name="intake_once")]
        indexes = [
            models.Index(fields=["workspace", "-at", "-id"], name="intake_recent"),  # the page
            models.Index(fields=["workspace", "outcome", "-at", "-id"], name="intake_outcome"),  # the page, filtered
        ]


class Watcher(models.Model):
    """A process that watches folders: when it was last heard of, and when it last had read all there was."""

    workspace = models.ForeignKey("webapp.Workspace", models.DB_CASCADE, related_name="+")
    host = models.TextField()
    folders = models.JSONField(default=list)
    heard_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "host"], name="watcher_host")]


from sessions import models_archive as models_archive  # noqa: E402, PLC0414 -- its rows point to these
from sessions import models_goals as models_goals  # noqa: E402, PLC0414 -- as above
from sessions import models_marks as models_marks  # noqa: E402, PLC0414 -- as above
from sessions import models_search as models_search  # noqa: E402, PLC0414 -- as above
from sessions import models_views as models_views  # noqa: E402, PLC0414 -- as above
