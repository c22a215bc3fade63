"""Takes in all there is under some paths: one file after the other or, where it is much, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import close_old_connections

from sessions import intake
from sessions.abandoning import settle
from sessions.abreast import Crew
from sessions.discover import files_under
from sessions.ingest import CHANGED, Taken, take_path
from sessions.kinship import link_parents
from sessions.models import Source
from sessions.store import legible

_MUCH = 32_000_000  # bytes that are worth the second it takes to start processes
_COMPARED = 50  # bytes are compared while one is read


def ingest_paths(
    workspace: Any,
    paths: Iterable[Path],
    *,
    owner: Any = None,
    told: Callable[[Taken], None] | None = None,
    how: str = intake.How.COMMAND,
    crew: Crew | None = None,
) -> list[Taken]:
    """Take in every file under `paths`; what became of each, in order, and into the intake log. One bad file never stops the rest.

    Sessions come before the sidecars that belong to them, and sources before those that continue them, whatever their names. `crew`: with
    it much is taken in abreast, each file in one process; `told` hears of files as they are done.
    """
    out: list[Taken] = []
    waiting = list(files_under(paths))
    patient = True
    notes = intake.Notes(workspace, how=how, by=owner)
    while waiting:
        left: list[int] = []
        found: dict[int, list[Taken]] = {}
        for n, taken in _each(workspace, waiting, owner, crew, patient=patient):
            if taken.outcome == "waiting":
                left.append(n)
                continue
            found.setdefault(n, []).append(taken)
            notes.add(taken)
            if told is not None:
                told(taken)
        out += chain.from_iterable(found[n] for n in sorted(found))
        patient = len(left) < len(waiting)
        waiting = [waiting[n] for n in sorted(left)]
    notes.write()
    link_parents(workspace, {taken.session for taken in out if taken.session and taken.outcome in CHANGED})
    intake.prune(workspace)
    settle(workspace)
    return out


def _each(
    workspace: Any, paths: Sequence[Path], owner: Any, crew: Crew | None, *, patient: bool
) -> Iterator[tuple[int, Taken]]:
    """What becomes of each path, with its number: one after the other, or abreast and the largest first, which keeps all busy to the end."""
    if crew is None or len(paths) < 2 or sum(work := _work(workspace, paths)) < _MUCH:
        for n, path in enumerate(paths):
            for taken in take_path(workspace, path, owner=owner, patient=patient):
                yield n, taken
        return
    order = sorted(range(len(paths)), key=work.__getitem__, reverse=True)
    jobs = [(workspace.pk, paths[n], owner and owner.pk, patient) for n in order]
    for at, some in crew.each(_taken_there, jobs):
        for taken in some:
            yield order[at], taken


def _work(workspace: Any, paths: Sequence[Path]) -> list[float]:
    """About how many bytes of each path there are to be read: what is known of a file is only compared."""
    sizes = [_size(path) for path in paths]
    if sum(sizes) < _MUCH:
        return sizes
    known = dict(Source.objects.filter(workspace=workspace, superseded=False).values_list("path", "size"))
    before = [known.get(legible(str(path.resolve())), 0) for path in paths]
    return [max(0, size - was) + was / _COMPARED for size, was in zip(sizes, before, strict=True)]


def _size(path: Path) -> float:
    try:
        return path.stat().st_size
    except OSError:  # which is told when it is taken in
        return 0


def _taken_there(job: tuple[Any, Path, Any, bool]) -> list[Taken]:
    """What becomes of a path, in a process of a crew."""
    workspace, path, owner, patient = job
    close_old_connections()
    there = apps.get_model("webapp", "Workspace").objects.get(pk=workspace)
    person = None if owner is None else get_user_model().objects.get(pk=owner)
    return list(take_path(there, path, owner=person, patient=patient))
