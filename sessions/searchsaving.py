"""Searches that a person keeps under a name: one's own alone, as the query of the page's address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from sessions.models_search import SavedSearch
from sessions.search.asked import LONGEST
from sessions.versions import Refused

MOST = 40  # that one person may save
NAME = 80  # characters of a name
# What of the page's address is a search; the rest is how far somebody has read.
FIELDS = ("q", "sort", "when", "session", "in", "role", "agent", "project", "owner")
_LONGEST = 4_000  # characters of an address


def query_of(address: str) -> str:
    """The search that an address asks for, and nothing else of it; "" where it asks for none."""
    given = QueryDict(address.replace("\x00", "")[:_LONGEST])
    kept = QueryDict(mutable=True)
    for name in FIELDS:
        values = [value[:LONGEST] for value in given.getlist(name) if value.strip()]
        if values:
            kept.setlist(name, values)
    return kept.urlencode() if set(kept) - {"sort"} else ""


def saved(workspace: Any, *, by: Any) -> list[SavedSearch]:
    """What somebody saved, by name."""
    return list(SavedSearch.objects.filter(workspace_id=workspace.pk, user=by).order_by("name"))


def save(workspace: Any, *, name: str, query: str, by: Any) -> SavedSearch:
    """Save a search under a name, in the place of what that stood for. Refused without a name, without anything to look for, and where
    too many are saved.
    """
    name = " ".join(name.replace("\x00", "").split())[:NAME]
    query = query_of(query)
    if not name:
        raise Refused("no_name", _("A saved search needs a name. Nothing was changed."))
    if not query:
        raise Refused("empty", _("There is nothing to look for in that search. Nothing was changed."))
    if SavedSearch.objects.filter(workspace_id=workspace.pk, user=by).exclude(name=name).count() >= MOST:
        raise Refused("too_many", _("%(n)s searches are saved: forget one first. Nothing was changed.") % {"n": MOST})
    made, _new = SavedSearch.objects.update_or_create(
        workspace_id=workspace.pk, user=by, name=name, defaults={"query": query}
    )
    return made


def forget(workspace: Any, *, number: int, by: Any) -> bool:
    """Forget a search; whether there was one."""
    gone, _each = SavedSearch.objects.filter(workspace_id=workspace.pk, user=by, pk=number).delete()
    return bool(gone)


def row(one: SavedSearch) -> Mapping[str, Any]:
    """A saved search as the API says it."""
    return {"id": one.pk, "name": one.name, "query": one.query, "q": QueryDict(one.query).get("q", "")}
