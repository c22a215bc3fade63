"""Bookmarks and comments on entries: setting and taking away, and where they stand. One set of verbs for page, command and API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, F
from django.db.models.functions import Left

from sessions.entryline import Line
from sessions.models import Entry, Session
from sessions.models_marks import Bookmark, Comment
from sessions.versions import Refused

LONGEST = 4_000  # characters of a comment
LISTED = 200  # marks of one kind in the list


def bookmark(session: Session, *, seq: int, by: Any) -> bool:
    """Set a person's bookmark on an entry, or take it away where it stands; whether it stands now. Refused where there is no such entry."""
    _must_be(session, seq)
    gone, _ = Bookmark.objects.filter(session=session, seq=seq, by=by).delete()
    if gone:
        return False
    Bookmark.objects.get_or_create(session=session, seq=seq, by=by)
    return True


def comment(session: Session, *, seq: int, text: str, by: Any) -> Comment:
    """Write a comment on an entry. Refused without words, with too many, or where there is no such entry."""
    _must_be(session, seq)
    words = text.strip()
    if not words:
        raise Refused("usage", "A comment needs words.")
    if len(words) > LONGEST:
        raise Refused("usage", f"A comment has at most {LONGEST:,} characters; this one has {len(words):,}.")
    return Comment.objects.create(session=session, seq=seq, text=words.replace("\x00", ""), by=by)


def uncomment(session: Session, *, number: int, by: Any) -> int:
    """Take a comment of one's own away; the entry it stood on. Refused where there is none, or where it is another's."""
    found = Comment.objects.filter(session=session, pk=number).first()
    if found is None:
        raise Refused("no_such_comment", "There is no such comment on this session.")
    if found.by_id != by.pk:
        raise Refused("not_yours", "Only who wrote a comment may take it away.")
    found.delete()
    return found.seq


def _must_be(session: Session, seq: int) -> None:
    if not 0 <= seq < session.entries_count:
        raise Refused(
            "no_such_entry", f"This session has entries 0 to {session.entries_count - 1}; {seq} is none of them."
        )


def marked(session: Session, lines: Sequence[Line]) -> None:
    """Write on rows how many comments stand on them or on their results. One look, whatever their number."""
    places = {seq: line for line in lines for seq in (line.seq, *line.results)}
    if not places:
        return
    found = Comment.objects.filter(session=session, seq__in=places).values_list("seq").annotate(n=Count("id"))
    for seq, n in found:
        places[seq].notes += n


def bookmarked(session: Session, by: Any) -> frozenset[int]:
    """The entries on which a person has a bookmark."""
    return frozenset(Bookmark.objects.filter(session=session, by=by).values_list("seq", flat=True))


def on_entry(session: Session, seq: int, by: Any) -> dict[str, Any]:
    """What stands on one entry: whether a person's bookmark does, and all comments."""
    return {
        "is_bookmarked": Bookmark.objects.filter(session=session, seq=seq, by=by).exists(),
        "comments": list(Comment.objects.filter(session=session, seq=seq).select_related("by").order_by("id")[:LISTED]),
        "comments_total": Comment.objects.filter(session=session, seq=seq).count(),
    }


def marks_of(session: Session, by: Any) -> dict[str, Any]:
    """All marks of a session for a person: pins, their bookmarks, and everybody's comments, each with the entry's first words."""
    pins = list(session.pins.order_by("seq").values_list("seq", flat=True)[:LISTED])
    own = sorted(bookmarked(session, by))[:LISTED]
    comments = list(Comment.objects.filter(session=session).select_related("by").order_by("seq", "id")[:LISTED])
    wanted = {*pins, *own, *(one.seq for one in comments)}
    said = {
        seq: (kind, tool, words)
        for seq, kind, tool, words in Entry.objects.filter(session=session, seq__in=wanted)
        .annotate(words=Left(F("text"), 160))
        .values_list("seq", "kind", "tool", "words")
    }
    return {
        "pins": [(seq, *said.get(seq, ("", None, ""))) for seq in pins],
        "bookmarks": [(seq, *said.get(seq, ("", None, ""))) for seq in own],
        "comments": [(one, *said.get(one.seq, ("", None, ""))) for one in comments],
        "listed": LISTED,
    }
