"""Writes a Gemini CLI session: the messages in their own bytes, then the list that is in force as the agent itself lists it.

A compaction is what the agent makes of one: the summary in the tags of a snapshot, its acknowledgement, the rest. Messages are listed
laid out in parts, results as messages of their own, so that the agent does not send them twice. Checked with 0.61.0.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from sessions.adapters.base import Link
from sessions.adapters.gemini_cli.content import listed, parts_of
from sessions.adapters.gemini_cli.lists import THANKS
from sessions.adapters.gemini_cli.people import ENVIRONMENT, HOOK, is_snapshot, left_out
from sessions.adapters.gemini_cli.wire import sent
from sessions.adapters.lineage import NAME
from sessions.adapters.records import NotARecord, load
from sessions.contexts import InsertKind, Item
from sessions.entries import Part, PartKind, Role, digest_of
from sessions.writers.base import Draft, File, Notes, Written, groups, is_summary, stamp
from sessions.writers.goals import split
from sessions.writers.splice import dumps, member, spliced

AGENT = "gemini-cli"
_LINES = re.compile(rb"\n[ \t]*")
_UUID = 36  # characters of an id by which an answer is known again wherever it is copied
_SNAPSHOT = "<state_snapshot>\n{}\n</state_snapshot>"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class GeminiCli:
    """See `sessions.writers.base.Writer`."""

    agent = AGENT
    label = "Gemini CLI"

    def write(self, draft: Draft) -> Written:
        made = _Log(draft)
        data = made.lines()
        # The agent deletes files whose names end in the first letters of the id of a session that it gave up: these end otherwise.
        own = draft.names.word(_LETTERS, 8)
        while own == made.session[:8]:
            own = draft.names.word(_LETTERS, 8)
        name = f"session-{draft.names.now:%Y-%m-%dT%H-%M}-{own}.jsonl"
        return Written(made.session, (File(name, data),), tuple(made.expected), (*draft.notes, *made.notes.lines()))

    def command(self, native_id: str, file: str, *, placed: bool) -> str:
        return f"gemini --resume {native_id}" if placed else f"gemini --session-file {shlex.quote(file)}"


@dataclass(slots=True)
class _Log:
    draft: Draft
    session: str = ""
    expected: list[Item] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    _parts: dict[bytes, dict[str, Any]] = field(default_factory=dict)  # recorded parts by what they say
    _names: set[str] = field(default_factory=set)  # messages whose lines are written
    _told: set[int] = field(default_factory=set)  # entries whose lines are written

    def lines(self) -> bytes:
        draft = self.draft
        self.session = draft.names.uuid4()
        out = [dumps(self._head()), dumps({NAME: draft.lineage.to_json()})]
        items = list(self._framed(_wired(draft)))
        own = draft.agent == AGENT
        if own:
            self._learn()
            shown = {item.seq for item in items if item.seq is not None}
            out += self._recorded(shown)
        if not own or draft.changed_from < len(draft.items) or not shown <= self._told:
            listed, goals = split(items)
            messages = list(self._listed(listed))
            out.append(dumps({"$set": {"messages": messages, "lastUpdated": draft.names.stamp()}}))
            out += [dumps(message) for message in self._listed(goals)]
        self.expected = items
        return b"\n".join(out) + b"\n"

    def _head(self) -> dict[str, Any]:
        draft = self.draft
        facts = draft.facts
        project = facts.extra.get("projectHash") if draft.agent == AGENT else None
        head: dict[str, Any] = {
            "sessionId": self.session,
            "projectHash": project or hashlib.sha256((facts.cwd or "/").encode("utf-8", "surrogatepass")).hexdigest(),
            "startTime": draft.names.stamp(),
            "lastUpdated": draft.names.stamp(),
            "kind": "main",
        }
        title = " ".join((draft.title or "").split())
        return head | ({"summary": title} if title else {})

    # -- the log as it was --------------------------------------------------------------------------------------------

    def _recorded(self, shown: set[int]) -> Iterator[bytes]:
        """The lines of all messages that the context or its summaries hold, and what the agent said between them."""
        names = {
            link.native_id
            for link in self.draft.links
            if link.native_id and (link.seq in shown or link.seq in self.draft.ghosts)
        }
        for link in self.draft.links:
            if link.sent and "op" in link.facts and link.seq in shown and not self._told:
                self._told.add(link.seq)  # the surroundings, with which the agent's list begins
                yield self.draft.record(link.seq).strip()
            elif link.native_id in names and "m" in link.facts and link.native_id:
                raw = self._line(link)
                if raw is not None:
                    self._names.add(link.native_id)
                    self._told.add(link.seq)
                    yield raw

    def _line(self, link: Link) -> bytes | None:
        # A whole file has line ends between its signs; there are none inside a text.
        raw = _LINES.sub(b"", self.draft.record(link.seq).strip())
        try:
            record = load(raw)
        except NotARecord:
            return None
        if not isinstance(record.get("id"), str):
            return None
        if isinstance(record.get("tokens"), dict) and len(record["id"]) != _UUID:
            return spliced(raw, {"tokens": None})  # its answer could not be told from one that was not counted yet
        return raw if member(raw, "id") is not None else None

    def _learn(self) -> None:
        """What recorded parts look like, by what they say: signatures, responses and media stand only there."""
        for link in self.draft.links:
            if not (link.sent or "op" in link.facts):
                continue
            try:
                record = load(self.draft.record(link.seq))
            except NotARecord:
                continue
            body = record.get("$set")
            said = (body if isinstance(body, dict) else record).get("messages")
            for message in [record, *(said if isinstance(said, list) else [])]:
                if isinstance(message, dict):
                    self._learn_message(message)

    def _learn_message(self, message: Mapping[str, Any]) -> None:
        found = [*listed(message.get("content")), *listed(message.get("parts"))]
        for call in listed(message.get("toolCalls")):
            if isinstance(call, dict):
                found += listed(call.get("result"))
        for raw in found:
            if isinstance(raw, dict):
                for part in parts_of([raw], Role.USER):
                    self._parts.setdefault(_key(part), raw)

    # -- the list that is in force ------------------------------------------------------------------------------------

    def _framed(self, items: Sequence[Item]) -> Iterator[Item]:
        """The context as the agent will have it: a summary in its tags, acknowledged; nothing that the agent would leave out."""
        for n, told in enumerate(items):
            spoken = told.role in (Role.USER, Role.SYSTEM, Role.DEVELOPER) and not told.results
            item = self._readable(told) if spoken else told
            if is_summary(item) and not is_snapshot(item.text.strip()):
                self.notes.add("a summary stands in the tags of the agent's own snapshots")
                yield replace(item, parts=(Part(PartKind.TEXT, _SNAPSHOT.format(item.text)),))
            else:
                yield item
            follows = items[n + 1] if n + 1 < len(items) else None
            if is_summary(item) and (follows is None or follows.text.strip() != THANKS):
                self.notes.add("the agent's acknowledgement follows the summary")
                yield Item(
                    f"{item.key}-thanks", None, Role.ASSISTANT, InsertKind.NOTICE, (Part(PartKind.TEXT, THANKS),)
                )

    def _readable(self, item: Item) -> Item:
        text = item.text.strip()
        if not left_out(text) or text.startswith((ENVIRONMENT, HOOK)) or not text:
            return item
        self.notes.add("a message that begins with / or ? is opened by a word: the agent would leave it out")
        return replace(item, parts=(Part(PartKind.TEXT, f"Message: {item.text}"),))

    def _listed(self, items: Sequence[Item]) -> Iterator[dict[str, Any]]:
        said: list[Item] = []
        for item in items:
            if item.role is Role.ASSISTANT and said and _one_answer(said[-1], item):
                said.append(item)
                continue
            if said:
                yield from self._answer(said)
                said = []
            if item.role is Role.ASSISTANT:
                said = [item]
            else:
                yield self._message("user", item, list(self._raw(item.parts, Role.USER)))
        if said:
            yield from self._answer(said)

    def _answer(self, items: Sequence[Item]) -> Iterator[dict[str, Any]]:
        parts = [part for item in items for part in item.parts]
        words = [part for part in parts if not _of_result(part)]
        results = [part for part in parts if _of_result(part)]
        if words:
            yield self._message("gemini", items[0], list(self._raw(words, Role.ASSISTANT)))
        if results:
            yield self._message("user", items[-1], list(self._raw(results, Role.USER)), fresh=True)

    def _message(self, kind: str, item: Item, content: list[Any], *, fresh: bool = False) -> dict[str, Any]:
        name = None if fresh else self._name_of(item)
        at = stamp(item.at) if item.at is not None else self.draft.names.stamp()
        return {"id": name or self.draft.names.uuid4(), "timestamp": at, "type": kind, "content": content}

    def _name_of(self, item: Item) -> str | None:
        """The id under which the log has the message, where it is to say the same."""
        if item.seq is None or self.draft.agent != AGENT or is_summary(item):
            return None
        name = self.draft.links[item.seq].native_id
        if name not in self._names:
            return None
        self._names.discard(name)
        return name

    def _raw(self, parts: Sequence[Part], role: Role) -> Iterator[dict[str, Any]]:
        for group in groups(parts):
            for part in group:
                known = self._parts.get(_key(part))
                yield _with_id(known, part) if known is not None else _part(part)


def _wired(draft: Draft) -> list[Item]:
    """The records of one answer together, each result once; without what the agent adds itself when it goes on."""
    items = sent(draft.items)
    return items[:-1] if items and items[-1].label.startswith("put in by the agent") else items


def _one_answer(before: Item, item: Item) -> bool:
    return before.step is not None and before.step == item.step


def _of_result(part: Part) -> bool:
    return part.kind is PartKind.TOOL_RESULT or (part.kind is PartKind.MEDIA and part.call_id is not None)


def _key(part: Part) -> bytes:
    bare = replace(part, role=None, call_id=part.call_id if part.kind is not PartKind.MEDIA else None)
    return digest_of(None, (bare,))


def _with_id(raw: dict[str, Any], part: Part) -> dict[str, Any]:
    """A recorded part whose call has the id that the API sees."""
    for name in ("functionCall", "functionResponse"):
        if isinstance(raw.get(name), dict) and part.call_id:
            return {**raw, name: {**raw[name], "id": part.call_id}}
    return raw


def _part(part: Part) -> dict[str, Any]:
    match part.kind:
        case PartKind.TOOL_CALL:
            return {"functionCall": {"id": part.call_id, "name": part.tool, "args": _object(part.text)}}
        case PartKind.TOOL_RESULT:
            response = {"error" if part.is_error else "output": part.text}
            return {"functionResponse": {"id": part.call_id, "name": part.tool or "tool", "response": response}}
        case PartKind.OTHER:
            try:
                return load(part.text.encode())
            except NotARecord:
                return {"text": part.text}
        case _:
            return {"text": part.text}


def _object(text: str) -> Any:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = text
    return value if isinstance(value, dict) else {"arguments": value}


WRITER = GeminiCli()
