"""A transcript narrowed to some of its entries: by who speaks, tool, file, goal, errors, what the model no longer sees.

The filters are parameters of the address, so that each combination is a link. Ghosts are among the entries looked through: what is
looked for is mostly there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import orjson
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Length
from django.utils.translation import gettext_lazy as _

from sessions import queries
from sessions.entries import PartKind
from sessions.entryline import Line
from sessions.fields import to_multirange
from sessions.http import integer
from sessions.lines import lines_of
from sessions.marks import marked
from sessions.models import Entry, Session
from sessions.packing import unpack
from sessions.queries import Reading
from sessions.store import PREVIEW

SHOWN = 60  # matching entries of one window
READ = 100  # long calls read at a time
NEAR = 24  # entries round one among which its call or results are looked for

ROLES: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "person": (_("the person"), ("prompt", "command")),
    "assistant": (_("the assistant’s words"), ("message",)),
    "reasoning": (_("reasoning"), ("reasoning",)),
    "tools": (_("tools"), ("tool_call", "tool_result")),
    "harness": (_("the harness"), ("context", "summary", "compaction", "rollback")),
    "unsent": (_("records never sent"), ("event", "meta", "other", "malformed")),
}
ONLY: Mapping[str, Any] = {
    "errors": _("errors"),
    "edits": _("changes of files"),
    "ghosts": _("what the model no longer sees"),
    "marked": _("marked or commented"),
}
EDITS = (
    "edit", "multiedit", "write", "write_file", "replace", "apply_patch", "notebookedit", "str_replace", "create_file", "patch", "edit_file",
    "str_replace_based_edit_tool", "str_replace_editor",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What a person narrowed the transcript to; "" where they did not."""

    role: str = ""
    tool: str = ""
    file: str = ""
    goal: str = ""
    only: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Narrowed:
        """Read the query; a role or restriction that there is none of counts for nothing."""
        role, only = query.get("role", ""), query.get("only", "")
        return cls(
            role if role in ROLES else "",
            query.get("tool", "")[:200],
            query.get("file", "")[:1000],
            query.get("goal", "")[:40],
            only if only in ONLY else "",
        )

    def __bool__(self) -> bool:
        return bool(self.role or self.tool or self.file or self.goal or self.only)

    @property
    def query(self) -> str:
        """As part of an address: "&role=…&only=…"; "" where nothing is narrowed."""
        given = {name: getattr(self, name) for name in ("role", "tool", "file", "goal", "only") if getattr(self, name)}
        return f"&{urlencode(given)}" if given else ""

    @property
    def chips(self) -> list[tuple[str, str]]:
        """Each filter in words, with the address part that leaves it out."""
        said = {
            "role": str(ROLES[self.role][0]) if self.role else "",
            "tool": self.tool,
            "file": self.file,
            "goal": str(_("goal %(path)s")) % {"path": self.goal},
            "only": str(ONLY[self.only]) if self.only else "",
        }
        return [(said[name], replace(self, **{name: ""}).query) for name in said if getattr(self, name)]

    def among(self, seen: Reading) -> QuerySet[Entry]:
        """The entries of a session that match, in no order."""
        found = Entry.objects.filter(session=seen.session)
        if self.role:
            found = found.filter(kind__in=ROLES[self.role][1])
        elif self.only != "errors":
            found = found.filter(Q(sent=True) | Q(kind="malformed") | Q(is_error=True) | Q(problem__isnull=False))
        if self.tool:
            found = found.filter(kind="tool_call", tool=self.tool)
        if self.file:
            found = found.filter(kind="tool_call").filter(_naming(seen.session, self.file))
        if self.goal:
            found = found.filter(Q(goal=self.goal) | Q(goal__startswith=f"{self.goal}."))
        if self.only == "errors":
            found = found.filter(Q(is_error=True) | Q(kind="malformed") | Q(problem__isnull=False))
        elif self.only == "edits":
            found = found.filter(kind="tool_call", tool__iregex=rf"^({'|'.join(EDITS)})$")
        elif self.only == "ghosts":
            found = found.extra(where=["%s::int4multirange @> seq"], params=[to_multirange(seen.hidden)])
        elif self.only == "marked":
            found = found.filter(
                Q(seq__in=seen.session.bookmarks.values("seq")) | Q(seq__in=seen.session.comments.values("seq"))
            )
        return found


def _naming(session: Session, path: str) -> Q:
    """Calls whose arguments name a path, as it stands or as JSON writes it."""
    written = orjson.dumps(path).decode()[1:-1]
    return Q(text__contains=path) | Q(text__contains=written) | Q(seq__in=_named_late(session, path, written))


def _named_late(session: Session, path: str, written: str) -> list[int]:
    """Calls that name a path only behind the stretch of their words that is kept for lists: their arguments are read whole, some at a time."""
    long = (
        session.entries.filter(kind="tool_call").annotate(kept=Length("text")).filter(kept__gte=PREVIEW).order_by("seq")
    )
    found: list[int] = []
    after = -1
    while rows := list(long.filter(seq__gt=after).values_list("seq", "parts")[:READ]):
        for seq, packed in rows:
            given = (part.text for part in unpack(packed) if part.kind is PartKind.TOOL_CALL)
            if any(path in text or written in text for text in given):
                found.append(seq)
        after = rows[-1][0]
    return found


def narrowed_window(seen: Reading, narrowed: Narrowed, query: Mapping[str, str]) -> dict[str, Any]:
    """The matching entries behind `after` or in front of `before`, each call with its result, and how many there are in all."""
    session = seen.session
    found = narrowed.among(seen)
    after, before, until = (integer(query.get(name)) for name in ("after", "before", "until"))
    if until is not None:
        page = list(
            found.filter(seq__gt=after if after is not None else -1, seq__lte=until)
            .order_by("seq")
            .values_list("seq", flat=True)[: SHOWN * 2]
        )
        later = found.filter(seq__gt=until).exists()
        earlier = after is not None and found.filter(seq__lte=after).exists()
    elif before is not None:
        page = list(found.filter(seq__lt=before).order_by("-seq").values_list("seq", flat=True)[: SHOWN + 1])
        earlier, later = len(page) > SHOWN, found.filter(seq__gte=before).exists()
        page = page[:SHOWN][::-1]
    else:
        page = list(
            found.filter(seq__gt=after if after is not None else -1)
            .order_by("seq")
            .values_list("seq", flat=True)[: SHOWN + 1]
        )
        later = len(page) > SHOWN
        earlier = after is not None and found.filter(seq__lte=after).exists()
        page = page[:SHOWN]
    rows = queries.rows_of(session, sorted({*page, *_partners(session, page)}))
    lines = [
        line for line in lines_of(rows, bodies={}, pins=queries.pins_of(session), children={}) if isinstance(line, Line)
    ]
    for line in lines:
        line.ghost = line.seq in seen.hidden
    marked(session, lines)
    low = page[0] - 1 if page else (after if after is not None else -1)
    return {
        "blocks": [],
        "found_lines": lines,
        "found_total": found.count() if after is None and before is None else None,
        "stretch": None,
        "low": low,
        "high": page[-1] if page else low,
        "before": page[0] if earlier and page else None,
        "after": page[-1] if later and page else None,
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
        "selected": None,
        "total": session.entries_count,
        "goal_names": {},
    }


def _partners(session: Session, page: Sequence[int]) -> set[int]:
    """The calls of results and the results of calls among these entries, near by."""
    if not page:
        return set()
    around = {at for seq in page for at in range(max(0, seq - NEAR), seq + NEAR + 1)}
    near = list(
        Entry.objects.filter(session=session, seq__in=around, kind__in=("tool_call", "tool_result"))
        .order_by("seq")
        .values_list("seq", "call_ids")
    )
    wanted = set(page)
    calls = {call for seq, ids in near if seq in wanted for call in ids or ()}
    return {seq for seq, ids in near if calls.intersection(ids or ())}


def tools_of(session: Session) -> list[tuple[str, int]]:
    """The tools that a session calls and how often, the most used first. As long as the session: asked for after the page stands."""
    rows = (
        Entry.objects.filter(session=session, kind="tool_call", tool__isnull=False)
        .values_list("tool")
        .annotate(n=Count("seq"))
    )
    return sorted(((tool, n) for tool, n in rows if tool), key=lambda row: (-row[1], row[0]))
