"""Whose sessions a command works on, where no request says so."""

from __future__ import annotations

from typing import Any

from django.apps import apps


class NoSuchWorkspace(LookupError):
    """No workspace has that slug."""


def local_workspace(slug: str | None = None) -> Any:
    """The workspace called `slug`; without one the first there is, made where there is none ("Local").

    The app that owns workspaces stands above this one, so its model is asked for by name.
    """
    workspaces = apps.get_model("webapp", "Workspace").objects
    if slug is not None:
        found = workspaces.filter(slug=slug).first()
        if found is None:
            known = ", ".join(workspaces.order_by("pk").values_list("slug", flat=True)) or "none yet"
            raise NoSuchWorkspace(f"There is no workspace {slug!r}; there are: {known}.")
        return found
    first = workspaces.order_by("pk").first()
    return first if first is not None else workspaces.get_or_create(slug="local", defaults={"name": "Local"})[0]
