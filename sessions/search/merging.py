"""Puts small volumes together: a growing session leaves one with every look, and a word is read volume by volume.

Nothing is looked through anew: places are moved by as many bits as the volumes before hold. Stretches that went meanwhile leave places
that say nothing.
"""

from __future__ import annotations

from typing import Any

from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from sessions.models_search import SearchPosting, SearchStretch, SearchVolume
from sessions.search import bits
from sessions.search.texts import CLASSES
from sessions.store import copying

SMALL = bits.MOST // 4  # places below which a volume is small
SEVERAL = 8  # small volumes of a workspace that are left as they are


def merge(workspace_id: Any) -> int:
    """Put small volumes of a workspace together, in one transaction; how many became one, 0 where they are few, or being changed now."""
    try:
        with transaction.atomic():
            return _merge(workspace_id)
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return 0
        raise


def _merge(workspace_id: Any) -> int:
    small = list(SearchVolume.objects.filter(workspace_id=workspace_id, size__lt=SMALL).order_by("size", "pk")[:64])
    if len(small) < SEVERAL:
        return 0
    # Whoever takes entries away waits for what is locked here; this waits for nobody, so that neither can wait for the other.
    list(SearchStretch.objects.select_for_update(nowait=True, of=("self",)).filter(volume__in=small))
    small = list(
        SearchVolume.objects.select_for_update(nowait=True)
        .filter(pk__in=[one.pk for one in small])
        .order_by("size", "pk")
    )
    places: dict[int, int] = {}
    size, classes = 0, [0] * len(CLASSES)
    for volume in small:
        at = bits.aligned(size)
        if at + volume.size > bits.MOST:
            break
        places[volume.pk] = at
        width = (volume.size + 7) // 8
        for n in range(len(CLASSES)):
            classes[n] |= int.from_bytes(volume.classes[n * width : (n + 1) * width], "little") << at
        size = at + volume.size
    whole = SearchVolume.objects.create(
        workspace_id=workspace_id,
        size=size,
        classes=b"".join(one.to_bytes((size + 7) // 8, "little") for one in classes),
    )
    _moved(places, whole.pk)
    return len(places)


def _moved(places: dict[int, int], to: int) -> None:
    """Move postings and stretches of these volumes to one, each by its place there; the volumes, then empty, go."""
    words: dict[int, int] = {}
    for word, volume, kept in SearchPosting.objects.filter(volume__in=places).values_list("word", "volume", "places"):
        words[word] = words.get(word, 0) | bits.unpacked(bytes(kept)) << places[volume]
    with copying(SearchPosting._meta.db_table, ("word", "volume", "places")) as write:
        for word in sorted(words):
            write((word, to, bits.packed(list(bits.places(words[word])))))
    with connection.cursor() as cursor:
        for volume, at in places.items():
            cursor.execute(
                "UPDATE agent_sessions_searchstretch SET volume_id = %s, at = at + %s WHERE volume_id = %s",
                [to, at, volume],
            )
    SearchVolume.objects.filter(pk__in=places).delete()
    # Where all of its stretches went meanwhile, nothing would ever take it away.
    if not SearchStretch.objects.filter(volume=to).exists():
        SearchVolume.objects.filter(pk=to).delete()


def merge_all() -> None:
    """Put small volumes together wherever there are many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT workspace_id FROM agent_sessions_searchvolume WHERE size < %s GROUP BY workspace_id HAVING count(*) >= %s",
            [SMALL, SEVERAL],
        )
        workspaces = [row[0] for row in cursor]
    for workspace_id in workspaces:
        while merge(workspace_id):
            pass
