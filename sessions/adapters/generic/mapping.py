"""Any other JSON or JSONL, by a mapping that a person declared in `palimpsest.toml` beside the file or in the data folder.

The one adapter that looks at a file besides the one it is given: the declaration, through `look`. What it found stays with the reader's
state, so that a file is read on as it was begun.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import platformdirs

from sessions.adapters.base import Claim, Line
from sessions.adapters.following import Unversioned
from sessions.adapters.generic.declaration import FILE, Declaration, Undeclared, declarations, declared
from sessions.adapters.generic.messages import Reader as MessageReader
from sessions.adapters.generic.messages import other
from sessions.adapters.generic.partial import first_value
from sessions.adapters.generic.paths import Step, first_at, values_at
from sessions.adapters.generic.usage import counted
from sessions.adapters.generic.values import moment, name_of, number, words
from sessions.adapters.records import NotARecord, load
from sessions.adapters.scan import Cursor, Torn
from sessions.adapters.tolerant import malformed
from sessions.contexts import Item
from sessions.entries import Entry, Facts, Kind, Usage

type Look = Callable[[PurePath], bytes | None]

_GONE = f"the mapping of this file is gone: no {FILE} beside it or in the data folder is for it"
_LARGEST = 1 << 20  # bytes of a declaration; none is longer
_HEAD = "$document"


def look(path: PurePath) -> bytes | None:
    """The bytes of a declaration on this machine; None where there is none."""
    try:
        with Path(path).open("rb") as file:
            return file.read(_LARGEST)
    except (OSError, ValueError):
        return None


def data_folder() -> PurePath:
    """Where the operator may put a declaration for all files."""
    given = os.environ.get("PALIMPSEST_DATA_DIR")
    return Path(given).expanduser() if given else platformdirs.user_data_path("palimpsest")


class Mapped(Unversioned):
    """The adapter: `sessions.adapters.base.Adapter` and `Documents` say what each verb promises. It claims what no other does."""

    agent = "mapped"
    label = "Declared mapping"
    version = 1
    last = True

    def __init__(self, seen: Look = look) -> None:
        self.look = seen

    def roots(self, home: Path, env: Mapping[str, str]) -> Sequence[Path]:
        return ()

    def claim(self, path: PurePath, head: bytes) -> Claim | None:
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if text[:1] not in (b"{", b"["):
            return None
        try:
            found = self.declaration(path)
        except Undeclared as problem:
            return Claim("none", reason=str(problem))
        if found is None:
            return None
        value, _ = first_value(text)
        name = name_of(first_at(value, found.session.get("id"))) or path.stem
        return Claim("session", native_id=name, source_id=name, whole=found.records is not None)

    def declaration(self, path: PurePath) -> Declaration | None:
        """The mapping for a file: of those beside it, else of those in the data folder, the first that names it. Undeclared for a bad one."""
        for folder in (path.parent, data_folder()):
            text = self.look(folder / FILE)
            found = next((one for one in declarations(text) if one.is_for(path)), None) if text is not None else None
            if found is not None:
                return found
        return None

    def documents(self, path: PurePath, data: bytes) -> Iterator[Line]:
        found = _or_none(self.declaration, path)
        if found is None or found.records is None:
            yield Line(0, data, True, 1, span=len(data))
        else:
            yield from _records(data, found.records)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        found = _or_none(self.declaration, path) if state is None else _or_none(declared, state["declaration"])
        return Reader(path, state, found)

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        return list(items)


def _or_none(make: Callable[[Any], Declaration | None], given: Any) -> Declaration | None:
    try:
        return make(given)
    except Undeclared:
        return None


def _records(data: bytes, steps: tuple[Step, ...]) -> Iterator[Line]:
    """The head of a document (all but its records, by their own bytes), and each record of the list at `steps`."""
    cursor = Cursor(b"   " + data[3:] if data.startswith(b"\xef\xbb\xbf") else data)
    spans: list[tuple[int, int]] = []
    torn: int | None = None
    opens = 1
    try:
        if _enter(cursor, steps[:-1]):
            opens = cursor.at + 1
            for _ in cursor.items():
                start = torn = cursor.at
                cursor.value()
                spans.append((start, cursor.at))
                torn = None
    except Torn as error:
        torn = error.at if torn is None else torn
    head = data[:opens] + b"]" + data[spans[-1][1] if spans else opens :].lstrip(b" \t\r\n").removeprefix(b"]")
    yield Line(0, b'{"%s":%s}' % (_HEAD.encode(), head if _is_json(head) else b"{}"), True, 1, span=opens)
    for n, (start, stop) in enumerate(spans, 2):
        yield Line(start, data[start:stop], True, n, span=stop - start)
    if torn is not None and data[torn:].strip(b" \t\r\n"):
        yield Line(torn, data[torn:], False, len(spans) + 2, span=len(data) - torn)


def _enter(cursor: Cursor, steps: tuple[Step, ...]) -> bool:
    """Go to the list; False where it is not there."""
    for step in steps:
        if cursor.peek() != "{":
            return False
        for key in cursor.members():
            if key == step:
                break
            cursor.value()
        else:
            return False
    return cursor.peek() == "["


def _is_json(raw: bytes) -> bool:
    try:
        load(b'{"v":' + raw + b"}")
    except NotARecord:
        return False
    return True


class Reader(MessageReader):
    """Reads records by their declaration: each becomes a message, which is then read as any other."""

    def __init__(self, path: PurePath, state: Mapping[str, Any] | None, found: Declaration | None) -> None:
        super().__init__(path, state)
        self.found = found

    def state(self) -> dict[str, Any]:
        return {**super().state(), "declaration": self.found.raw if self.found is not None else None}

    def read(self, line: Line) -> Entry:
        return super().read(line) if self.found is not None else malformed(line.raw, _GONE)

    def record(self, record: Mapping[str, Any]) -> Entry:
        assert self.found is not None
        if _HEAD in record and len(record) == 1:
            self._learn(record[_HEAD], self.found)
            return Entry(Kind.META)
        if self.found.records is None:
            self._learn(record, self.found)
        said = self._said(record, self.found)
        entry = self.message(said) if said is not None else None
        if entry is None:
            return other(record)
        paths = self.found.entry
        used = _usage(record, self.found) if entry.step_key is not None else None
        return replace(
            entry,
            native_id=_name(first_at(record, paths.get("id"))),
            native_parent=_name(first_at(record, paths.get("parent"))),
            at=moment(first_at(record, paths.get("time"))),
            usage=used,
        )

    def _said(self, record: Mapping[str, Any], found: Declaration) -> dict[str, Any] | None:
        """The record as a message; None where it says nothing of who speaks."""
        paths = found.entry
        role = first_at(record, paths["role"])
        if not isinstance(role, str | int):
            return None
        role = found.roles.get(str(role), str(role))
        content: list[Any] = []
        thought = first_at(record, paths.get("reasoning"))
        if thought is not None:
            content.append({"type": "reasoning", "text": words(thought)})
        texts = (
            [words(text) for text in values_at(record, paths["text"]) if text is not None] if "text" in paths else []
        )
        if texts:
            content.append({"type": "text", "text": "\n".join(texts)})
        held = first_at(record, paths.get("content"))
        content += held if isinstance(held, list) else [] if held is None else [held]
        tool = name_of(first_at(record, paths.get("tool")))
        call_id = _name(first_at(record, paths.get("call_id")))
        given = first_at(record, paths.get("arguments"))
        told = first_at(record, paths.get("result"))
        if tool is not None and (given is not None or told is None) and role != "tool":
            content.append(
                {"type": "tool-call", "toolCallId": call_id, "toolName": tool, "input": {} if given is None else given}
            )
        if told is not None:
            failed = first_at(record, paths.get("error"))
            result = {"type": "tool-result", "toolCallId": call_id, "toolName": tool, "output": words(told)}
            content.append(result | ({"isError": True} if failed not in (None, False, "", 0) else {}))
        elif role == "tool" and texts:
            content = [{"type": "tool-result", "toolCallId": call_id, "toolName": tool, "output": texts[0]}]
        model = name_of(first_at(record, paths.get("model")))
        return {"role": role, "content": content, **({"model": model} if model else {})}

    def _learn(self, value: Any, found: Declaration) -> None:
        facts = self.facts
        at = found.session
        facts.native_id = _name(first_at(value, at.get("id"))) or facts.native_id
        facts.title = name_of(first_at(value, at.get("title"))) or facts.title
        facts.cwd = name_of(first_at(value, at.get("cwd"))) or facts.cwd
        facts.branch = name_of(first_at(value, at.get("branch"))) or facts.branch
        self.model = name_of(first_at(value, at.get("model"))) or self.model
        parent = _name(first_at(value, at.get("parent")))
        if parent is not None:
            facts.parent_native_id, facts.parent_kind = parent, "continued"


def _usage(record: Mapping[str, Any], found: Declaration) -> Usage | None:
    given, read, write, output, thought = (
        number(first_at(record, found.usage.get(key)))
        for key in ("input", "cached", "cache_write", "output", "reasoning")
    )
    if found.input_includes_cache:
        return counted(prompt=given, read=read, write=write, output=output, reasoning=thought)
    used = Usage(given, read, write, output, thought)
    return used if any((given, read, write, output)) else None


def _name(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None


ADAPTER = Mapped()
