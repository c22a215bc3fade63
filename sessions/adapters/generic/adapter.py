"""The adapter of a message format: recognised by its blocks, read message by message, sent as it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from sessions.adapters.base import Claim, Line
from sessions.adapters.following import Unversioned
from sessions.adapters.generic import documents
from sessions.adapters.generic.forms import Form, shape_of
from sessions.adapters.generic.messages import Reader
from sessions.contexts import Item
from sessions.entries import Facts


class Messages(Unversioned):
    """A format of messages: `sessions.adapters.base.Adapter` and `Documents` say what each verb promises.

    Such a file holds the list as it is sent, so it has no versions of its own: what was compacted before is no longer in it.
    """

    version = 1

    def __init__(self, form: Form, label: str) -> None:
        self.form = form
        self.agent: str = form.value
        self.label = label

    def roots(self, home: Path, env: Mapping[str, str]) -> Sequence[Path]:
        return ()

    def claim(self, path: PurePath, head: bytes) -> Claim | None:
        shape = shape_of(path, head)
        if shape is None or shape.form is not self.form:
            return None
        if shape.reason is not None:
            return Claim("none", reason=shape.reason)
        name = shape.native_id or path.stem
        return Claim("session", native_id=name, source_id=name, whole=shape.whole)

    def documents(self, path: PurePath, data: bytes) -> Iterator[Line]:
        return documents.records(data)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return Reader(path, state)

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        return list(items)
