"""Writes an OpenCode export under new ids: messages and parts as they were, a fold as the request and answer of a compaction.

`opencode import` takes only ids that it does not know, so every id is made anew. What the summary stands for stays before the tail, where
the agent shows it and does not read it back. Checked with 1.18.33.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from sessions.adapters.base import Link
from sessions.adapters.lineage import NAME
from sessions.adapters.opencode.parts import ASKED
from sessions.adapters.opencode.values import inside
from sessions.adapters.records import load
from sessions.contexts import InsertKind, Item
from sessions.entries import Kind, Part, PartKind, Role
from sessions.writers.base import Draft, File, Notes, Written, last_summary
from sessions.writers.splice import dumps

AGENT = "opencode"
_VERSION = "1.18.33"
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
_PROVIDERS = (("claude", "anthropic"), ("gpt", "openai"), ("o1", "openai"), ("o3", "openai"), ("gemini", "google"))
_KEPT = ("id", "slug", "projectID", "directory", "path", "title", "agent", "model", "permission")


class OpenCode:
    """See `sessions.writers.base.Writer`."""

    agent = AGENT
    label = "OpenCode"

    def write(self, draft: Draft) -> Written:
        made = _Export(draft)
        data = made.document()
        name = f"{made.session}.json"
        return Written(made.session, (File(name, data),), tuple(made.expected), (*draft.notes, *made.notes.lines()))

    def command(self, native_id: str, file: str, *, placed: bool) -> str:
        return f"opencode import {shlex.quote(file)} && opencode --session {native_id}"


@dataclass(slots=True)
class _Said:
    """A message on its way: `info` and `parts` with the ids they had, which `_Export` makes anew. `figures`: its usage still holds."""

    info: dict[str, Any]
    parts: list[dict[str, Any]] = field(default_factory=list)
    origin: str | None = None
    step: int | None = None
    figures: bool = False


@dataclass(slots=True)
class _Export:
    draft: Draft
    session: str = ""
    expected: list[Item] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    _clock: int = 0
    _count: int = 0
    _infos: dict[str, Link] = field(default_factory=dict)
    _inside: dict[str, list[Link]] = field(default_factory=dict)

    def document(self) -> bytes:
        draft = self.draft
        self.session = self._id("ses")
        self._index()
        items = list(draft.items)
        at = last_summary(items)
        messages: list[_Said] = []
        if at is None:
            messages = self._messages(items)
            self.expected = items
        else:
            messages = self._compacted(items, at)
        self._number(messages)
        return dumps({"info": self._info(), "messages": [self._out(said) for said in messages]})

    def _compacted(self, items: Sequence[Item], at: int) -> list[_Said]:
        """The messages of a context with a summary at `at`: what it stands for, the tail, the compaction, what came after."""
        there = self._recorded_compaction(items, at)
        own = set() if there is None else {link.digest for name in there for link in self._inside.get(name, [])}
        start = at
        while start and (items[start - 1].digest in own or _is_asked(items[start - 1])):
            start -= 1
        if start:
            self.notes.add("what stood before the summary is sent after it, as this agent does")
        rest = [*items[:start], *items[at + 1 :]]
        if there is None:
            self.notes.add("a summary stands as the answer to the agent's own question, as its compactions do")
            tail = self._messages(rest)
            self.expected = [_asked(items[at]), _told(items[at]), *rest]
            return [*self._ghosts(tail, ()), *tail, *self._compaction(items[at], tail)]
        asked = self._infos[there[0]].seq
        cut = next(
            (n for n, item in enumerate(rest) if (item.seq if item.seq is not None else item.after or 0) >= asked),
            len(rest),
        )
        tail, after = self._messages(rest[:cut]), self._messages(rest[cut:])
        request, answer = (self._whole(name) for name in there)
        for part in request.parts:
            if part.get("type") == "compaction":
                part["tail_start_id"] = tail[0] if tail else None
        asked_for = [] if any(_is_asked(item) for item in items[start:at]) else [_asked(items[at])]
        self.expected = [*asked_for, *items[start : at + 1], *rest]
        return [*self._ghosts([*tail, *after], there), *tail, request, answer, *after]

    def _recorded_compaction(self, items: Sequence[Item], at: int) -> tuple[str, str] | None:
        """The messages, by id, of the compaction that the agent itself made and whose summary stands at `at`, all of it there."""
        before = {item.digest for item in items[: at + 1]}
        for name, link in reversed(self._infos.items()):
            said = [one for one in self._inside.get(name, []) if one.sent]
            if not link.facts.get("counts") or link.native_parent not in self._infos:
                continue
            if said and said[-1].digest == items[at].digest and all(one.digest in before for one in said):
                return link.native_parent, name
        return None

    # -- what is there ------------------------------------------------------------------------------------------------

    def _index(self) -> None:
        if self.draft.agent != AGENT:
            return
        for link in self.draft.links:
            if link.facts.get("is") == "message" and link.native_id:
                self._infos[link.native_id] = link
            elif link.native_parent:
                self._inside.setdefault(link.native_parent, []).append(link)

    def _ghosts(self, shown: Sequence[_Said], besides: Sequence[str]) -> list[_Said]:
        """Messages that the summary stands for, whole."""
        known = {said.origin for said in shown} | set(besides)
        return [
            self._whole(name)
            for name in self._infos
            if name not in known and any(link.seq in self.draft.ghosts for link in self._inside.get(name, []))
        ]

    def _whole(self, name: str) -> _Said:
        said = _Said(load(self.draft.record(self._infos[name].seq)), origin=name, figures=True)
        said.parts = [part for link in self._inside.get(name, []) if (part := self._part(link)) is not None]
        return said

    def _part(self, link: Link) -> dict[str, Any] | None:
        if link.native_id is None or link.native_id.endswith("/result"):
            return None
        part = load(self.draft.record(link.seq))
        return part if isinstance(part.get("type"), str) else None

    # -- the context as messages --------------------------------------------------------------------------------------

    def _messages(self, items: Sequence[Item]) -> list[_Said]:
        out: list[_Said] = []
        calls: dict[str, dict[str, Any]] = {}
        there = {item.seq: item for item in items if item.seq is not None}
        done: set[int] = set()
        for n, item in enumerate(items):
            if item.seq is not None and item.seq in done:
                continue
            owner = self._owner(item)
            if owner is not None:
                said, seen = self._recorded(owner, there, figures=n < self.draft.changed_from)
                done |= seen
                out.append(said)
                for part in said.parts:
                    if part.get("type") == "tool" and isinstance(part.get("callID"), str):
                        calls[part["callID"]] = part
                continue
            self._made(item, out, calls)
        return [said for said in out if said.parts]

    def _owner(self, item: Item) -> str | None:
        if item.seq is None or self.draft.agent != AGENT:
            return None
        parent = self.draft.links[item.seq].native_parent
        return parent if parent in self._infos else None

    def _recorded(self, owner: str, there: dict[int, Item], *, figures: bool) -> tuple[_Said, set[int]]:
        """A recorded message with those of its parts that the context has, as it has them."""
        said = _Said(load(self.draft.record(self._infos[owner].seq)), origin=owner, figures=figures)
        seen: set[int] = set()
        open_: dict[str, dict[str, Any]] = {}
        for link in self._inside.get(owner, []):
            item = there.get(link.seq)
            if item is not None:
                seen.add(link.seq)
            if link.kind is Kind.TOOL_RESULT:
                self._state(open_.get(link.native_id or ""), item, link)
                continue
            part = self._part(link)
            if part is None or (link.sent and item is None):
                continue
            if item is not None and item.parts != self.draft.parts_of(link.seq):
                part = _masked(part, item.parts)
            said.parts.append(part)
            open_[f"{link.native_id}/result"] = part
        return said, seen

    def _state(self, part: dict[str, Any] | None, item: Item | None, link: Link) -> None:
        """What a tool came to, as the context has it."""
        if part is None or item is None or not isinstance(part.get("state"), dict):
            return
        recorded = self.draft.parts_of(link.seq)
        state = part["state"]
        if item.parts == recorded:
            return
        result = next((one for one in item.parts if one.kind is PartKind.TOOL_RESULT), None)
        if result is None:
            return
        if state.get("status") == "completed":
            state["output"] = result.text
        else:
            part["state"] = state = _completed(state.get("input") or {}, result, self._now())
        if not any(one.kind is PartKind.MEDIA for one in item.parts):
            state.pop("attachments", None)

    def _made(self, item: Item, out: list[_Said], calls: dict[str, dict[str, Any]]) -> None:
        """What no message of the log says, as a message; a result goes to its call."""
        words: list[dict[str, Any]] = []
        for part in item.parts:
            if part.kind is PartKind.TOOL_RESULT and part.call_id in calls:
                tool = calls[part.call_id]
                tool["state"] = _completed(tool["state"].get("input") or {}, part, self._now())
            elif part.kind is PartKind.TOOL_CALL and part.call_id:
                state = {"status": "error", "input": _object(part.text), "error": "[Tool execution was interrupted]"}
                state["time"] = {"start": self._now(), "end": self._now()}
                tool = {"type": "tool", "callID": part.call_id, "tool": part.tool or "tool", "state": state}
                calls[part.call_id] = tool
                words.append(tool)
            elif part.kind is PartKind.REASONING:
                self.notes.add("reasoning left out: it was not recorded by this agent")
            elif part.text:
                text: dict[str, Any] = {"type": "text", "text": part.text}
                if item.role is not Role.ASSISTANT and item.kind is not Kind.PROMPT:
                    text["synthetic"] = True
                words.append(text)
        if not words:
            return
        last = out[-1] if out else None
        if item.role is Role.ASSISTANT:
            if last is not None and last.origin is None and last.step is not None and last.step == item.step:
                last.parts += words
            else:
                out.append(_Said(self._assistant(), words, step=item.step))
        else:
            out.append(_Said(self._user(), words))

    def _compaction(self, item: Item, tail: Sequence[_Said]) -> list[_Said]:
        asked: dict[str, Any] = {"type": "compaction", "auto": False}
        request = _Said(self._user(), [asked])
        if tail:
            asked["tail_start_id"] = tail[0]  # the message itself, until it has its id
        answer = _Said(
            self._assistant() | {"mode": "compaction", "agent": "compaction", "summary": True, "finish": "stop"},
            [{"type": "text", "text": item.text}],
        )
        return [request, answer]

    # -- messages of our own ------------------------------------------------------------------------------------------

    def _user(self) -> dict[str, Any]:
        provider, model = self._model()
        return {"role": "user", "agent": "build", "model": {"providerID": provider, "modelID": model}}

    def _assistant(self) -> dict[str, Any]:
        provider, model = self._model()
        cwd = self.draft.facts.cwd or "/"
        return {
            "role": "assistant",
            "mode": "build",
            "agent": "build",
            "path": {"cwd": cwd, "root": cwd},
            "cost": 0,
            "tokens": _NO_TOKENS,
            "modelID": model,
            "providerID": provider,
            "finish": "stop",
        }

    def _model(self) -> tuple[str, str]:
        for link in reversed(list(self._infos.values())):
            info = load(self.draft.record(link.seq))
            if isinstance(info.get("providerID"), str) and isinstance(info.get("modelID"), str):
                return info["providerID"], info["modelID"]
        model = self.draft.facts.models[-1] if self.draft.facts.models else "unknown"
        return next((name for start, name in _PROVIDERS if model.startswith(start)), "unknown"), model

    # -- the document -------------------------------------------------------------------------------------------------

    def _number(self, messages: Sequence[_Said]) -> None:
        """New ids and times that grow together; whom an answer answers; figures only where they still hold."""
        asked: str | None = None
        for said in messages:
            created = inside(said.info, "time", "created")
            own = created if isinstance(created, int | float) and not isinstance(created, bool) else self._now()
            before, self._clock = self._clock, max(int(own), self._clock + 1)
            if not inside(said.info, "time", "completed") or int(own) <= before:
                said.figures = False  # its answer is known again by its times and figures alone
            name = self._id("msg")
            time = said.info.get("time")
            times = {**(time if isinstance(time, dict) else {}), "created": self._clock}
            said.info = {**said.info, "id": name, "sessionID": self.session, "time": times}
            if said.info.get("role") == "assistant":
                said.info["parentID"] = asked or name
                self._fill(said)
            else:
                asked = name
                said.info.setdefault("agent", "build")
                if not isinstance(said.info.get("model"), dict):
                    provider, model = self._model()
                    said.info["model"] = {"providerID": provider, "modelID": model}
            said.parts = [self._owned(part, name) for part in said.parts]
        for part in (part for said in messages for part in said.parts):
            if "tail_start_id" in part:
                self._tail(part, messages)

    def _tail(self, part: dict[str, Any], messages: Sequence[_Said]) -> None:
        """The new id of the message with which a kept tail begins."""
        tail = part.pop("tail_start_id")
        found = tail if isinstance(tail, _Said) else next((one for one in messages if one.origin == tail), None)
        if found is not None and tail is not None:
            part["tail_start_id"] = found.info["id"]

    def _fill(self, said: _Said) -> None:
        """What an older release did not write and an import needs."""
        info = said.info
        for key, value in self._assistant().items():
            info.setdefault(key, value)
        if not said.figures:
            info["tokens"], info["cost"] = _NO_TOKENS, 0
            for part in said.parts:
                if part.get("type") == "step-finish":
                    part["tokens"], part["cost"] = _NO_TOKENS, 0

    def _owned(self, part: dict[str, Any], message: str) -> dict[str, Any]:
        return {**part, "id": self._id("prt"), "sessionID": self.session, "messageID": message}

    def _info(self) -> dict[str, Any]:
        draft = self.draft
        recorded: dict[str, Any] = {}
        if draft.agent == AGENT:
            found = next((link for link in draft.links if link.facts.get("is") == "session"), None)
            recorded = load(draft.record(found.seq)) if found is not None else {}
        info = {key: recorded[key] for key in _KEPT if recorded.get(key) is not None}
        kept = recorded.get("metadata")
        metadata = {**(kept if isinstance(kept, dict) else {}), NAME: draft.lineage.to_json()}
        created = inside(recorded, "time", "created")
        return info | {
            "id": self.session,
            "slug": info.get("slug") or "palimpsest",
            "projectID": info.get("projectID") or "global",
            "directory": info.get("directory") or draft.facts.cwd or "/",
            "title": draft.title or info.get("title") or "Session",
            "version": recorded.get("version") or _VERSION,
            "metadata": metadata,
            "time": {"created": created if isinstance(created, int) else self._now(), "updated": self._now()},
        }

    def _out(self, said: _Said) -> dict[str, Any]:
        return {"info": said.info, "parts": said.parts}

    def _now(self) -> int:
        return int(self.draft.names.now.timestamp() * 1000)

    def _id(self, kind: str) -> str:
        self._count += 1
        number = (self._now() * 4096 + self._count) & ((1 << 48) - 1)
        if kind == "ses":
            number ^= (1 << 48) - 1  # newest first
        return f"{kind}_{number:012x}{self.draft.names.word(_LETTERS, 14)}"


def _masked(part: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    """A recorded part that says what a masked entry says."""
    words = "\n".join(one.text for one in parts)
    if part.get("type") in ("text", "reasoning"):
        return {**part, "text": words}
    if part.get("type") == "tool" and isinstance(part.get("state"), dict):
        return {**part, "state": {**part["state"], "input": _object(words)}}
    kept = {key: value for key, value in part.items() if key in ("id", "time")}
    return {**kept, "type": "text", "text": words, "synthetic": True}


def _completed(given: Any, result: Part, now: int) -> dict[str, Any]:
    time = {"start": now, "end": now}
    if result.is_error:
        return {"status": "error", "input": given, "error": result.text, "time": time}
    return {
        "status": "completed",
        "input": given,
        "output": result.text,
        "title": result.tool or "",
        "metadata": {},
        "time": time,
    }


def _is_asked(item: Item) -> bool:
    return item.role is Role.USER and item.text == ASKED


def _asked(item: Item) -> Item:
    return Item(f"{item.key}-asked", None, Role.USER, InsertKind.MESSAGE, (Part(PartKind.TEXT, ASKED),))


def _told(item: Item) -> Item:
    return replace(item, role=Role.ASSISTANT, parts=(Part(PartKind.TEXT, item.text),))


def _object(text: str) -> Any:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = text
    return value if isinstance(value, dict) else {"arguments": value}


WRITER = OpenCode()
