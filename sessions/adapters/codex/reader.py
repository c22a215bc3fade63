"""Reads a rollout line by line: one entry for every line, in all three eras of the format.

The transcript is made of response items, which is what the model is fed; events add only what they alone know. One reader goes
through a chain of sources: those that the session's own file builds on come first, and each begins at offset 0.

What an entry's `link` may hold, for `history`: `mark` (meta, start, end, abort, context, user, compaction, rollback) with `turn` (its
id), `n` (turns rolled back), `whole` (the compaction recorded its own history), `cut` (`ordinal`, `offset`: where the source before
ends); `user` (makes a turn), `trim` (goes with the turn rolled back behind it), `mail`; `src` and `ord` (a source begins, its first
ordinal); `before`, `window` (tokens before a compaction, its number); `copied` (another session's line in this file). For pages:
`event` (the type of an event), `call` (the call it is about).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import orjson

from sessions.adapters import lineage
from sessions.adapters.base import Line
from sessions.adapters.codex import flat, meta
from sessions.adapters.codex.copies import Copies
from sessions.adapters.codex.events import read_event
from sessions.adapters.codex.items import Item, of_replacement, read_item
from sessions.adapters.codex.plans import Plans
from sessions.adapters.codex.requests import Requests
from sessions.adapters.records import NotARecord, load, text_of, utc
from sessions.entries import TELLING, Entry, Facts, GoalChange, Kind, Part, PartKind, Role, Usage

_BOM = b"\xef\xbb\xbf"
_SHOWN = 2000
_PLACEHOLDER = "(no summary available)"  # what the agent puts where a compaction wrote no summary


class Reader:
    """A reader of one session: its own source, and before it those that it continues."""

    def __init__(self, path: PurePath, state: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.facts = Facts()
        self.requests = Requests()
        self.plans = Plans()
        self.copies = Copies()
        self.known = False  # the first session_meta of this source was read
        self.model: str | None = None
        self.task = False  # the next agent message starts a turn
        if state is not None:
            self._restore(state)

    def read(self, line: Line) -> Entry:
        first = line.offset == 0
        if first:
            self._begin_source()
        raw = line.raw.removeprefix(_BOM) if first else line.raw
        problem: str | None = None
        try:
            record = orjson.loads(raw)
            if not isinstance(record, dict):
                record = load(raw)
        except (orjson.JSONDecodeError, NotARecord):
            try:
                record = load(raw)
                problem = "the agent itself skips this line: its text is no valid Unicode"
            except NotARecord as error:
                return Entry(Kind.MALFORMED, problem=str(error), link={"src": True} if first else None)
        entry = self._record(record, problem)
        if first:
            link = dict(entry.link or {})
            link["src"] = True
            if isinstance(ordinal := record.get("ordinal"), int):
                link["ord"] = ordinal
            entry = _with(entry, link=link)
        return entry

    def state(self) -> dict[str, Any]:
        facts = self.facts
        return {
            "facts": [
                facts.native_id,
                facts.title,
                facts.cwd,
                facts.branch,
                facts.agent_version,
                list(facts.models),
                facts.window,
                facts.parent_native_id,
                facts.parent_kind,
                facts.parent_call_id,
                dict(facts.extra),
            ],
            "requests": self.requests.state(),
            "plans": self.plans.state(),
            "copies": self.copies.state(),
            "rest": [self.known, self.model, self.task],
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.facts = Facts(*state["facts"])
        self.requests = Requests.from_state(state["requests"])
        self.plans = Plans.from_state(state["plans"])
        self.copies = Copies.from_state(state["copies"])
        self.known, self.model, self.task = state["rest"]

    def _begin_source(self) -> None:
        self.known = False
        self.copies = Copies()
        self.requests.close()

    def _record(self, record: dict[str, Any], problem: str | None) -> Entry:
        payload = record.get("payload")
        if isinstance(payload, dict) and isinstance(name := record.get("type"), str):
            stamp = record.get("timestamp")
            if problem is None and not isinstance(stamp, str):
                problem = "the agent itself skips this line: it has no time"
            return self._wrapped(name, payload, record, stamp, problem)
        if flat.is_state(record):
            self.requests.usage_first = True  # calls and results come in pairs, and these lines stand between requests
            self.requests.close()
            return Entry(Kind.META, link={"event": "state"})
        if flat.is_header(record):
            if not self.known:
                self.known = True
                flat.header(record, self.facts)
            words = f"Codex session {record['id']}"
            return Entry(Kind.META, parts=_say(words), at=utc(record.get("timestamp")))
        if "type" in record or "role" in record:
            return self._flat(record, problem)
        return Entry(Kind.OTHER, parts=(Part(PartKind.OTHER, text_of(record)[:_SHOWN]),))

    def _flat(self, record: dict[str, Any], problem: str | None) -> Entry:
        self.known = True
        item = read_item(record)
        if item.skipped or item.kind is Kind.OTHER:
            item = flat.read_bare(record)
            if self.facts.native_id is None:
                self.facts.native_id = self.path.stem
        if isinstance(model := record.get("model"), str):
            self._model(model)
        if self.facts.cwd is None:
            self.facts.cwd = flat.cwd_in(item)
        at = utc(record.get("timestamp") or record.get("created_at"))
        return self._item(item, at, problem, copied=False)

    def _wrapped(
        self, name: str, payload: dict[str, Any], record: dict[str, Any], stamp: Any, problem: str | None
    ) -> Entry:
        at = utc(stamp)
        if name == "session_meta":
            return self._meta(payload, stamp, problem)
        copied = self.copies.line(record, payload)
        match name:
            case "response_item":
                return self._item(read_item(payload), at, problem, copied=copied)
            case "event_msg":
                return self._event(payload, at, problem, copied=copied)
            case "compacted":
                return self._compacted(payload, at, problem, copied=copied)
            case "turn_context":
                return self._turn_context(payload, at, copied=copied)
            case "token_usage_record":
                return self._usage_record(payload, at, copied=copied)
            case "inter_agent_communication":
                return self._mail(payload, at, problem, copied=copied)
            case "inter_agent_communication_metadata":
                self.task = payload.get("trigger_turn") is True
                return Entry(Kind.META, at=at, link=_copy({"event": name}, copied=copied), problem=problem)
            case lineage.NAME:
                return _with(lineage.take(payload, self.facts), link={"event": name}, at=at)
            case "world_state":
                words = "Environment, whole" if payload.get("full") else "Environment, changes"
                return Entry(
                    Kind.META, parts=_say(words), at=at, link=_copy({"event": name}, copied=copied), problem=problem
                )
            case "security_risk_score":
                return Entry(
                    Kind.EVENT,
                    parts=_say("Risk score"),
                    at=at,
                    link=_copy({"event": name}, copied=copied),
                    problem=problem,
                )
        parts = (Part(PartKind.OTHER, text_of(payload)[:_SHOWN]),)
        return Entry(Kind.OTHER, parts=parts, at=at, link=_copy({"event": name}, copied=copied), problem=problem)

    def _meta(self, payload: dict[str, Any], stamp: Any, problem: str | None) -> Entry:
        own = not self.known
        link: dict[str, Any] = {"mark": "meta"}
        if own:
            self.known = True
            cut = meta.take(payload, self.facts)
            if cut is not None:
                link["cut"] = cut
            self.copies.own(payload, stamp)
            self.requests.usage_first = meta.version_of(self.facts.agent_version) < (0, 60)
            self.plans.waiting = {}
        else:
            link["copied"] = True
            if payload.get("id") != self.facts.native_id:
                self.copies.parents()
        return Entry(Kind.META, parts=_say(meta.words(payload)), at=utc(stamp), link=link, problem=problem)

    def _item(self, item: Item, at: Any, problem: str | None, *, copied: bool) -> Entry:
        link = _copy(dict(item.facts), copied=copied)
        kind, key, goals = item.kind, None, None
        opens = kind is Kind.PROMPT
        inherited = copied and self.facts.parent_kind == "subagent"
        if link.get("mail"):
            # What a sub-agent is asked comes from its parent, and opens its turns as a person's message does elsewhere.
            if self.task and self.facts.parent_kind == "subagent" and not copied:
                kind, opens = Kind.PROMPT, True
            self.task = False
        if inherited:
            opens = False  # the parent's prompts are context here
        if item.output:
            key = self.requests.output()
            for part in item.parts:
                if part.kind is PartKind.TOOL_CALL and not inherited:
                    self.plans.called(part)
            if not inherited:
                self.plans.propose(item.parts)
        elif item.answer:
            self.requests.result()
            goals = self._answered(item.parts)
        elif item.sent:
            self.requests.close()
            goals = self.plans.asked(item.parts) if opens else None
        return Entry(
            kind,
            item.role,
            item.parts,
            native_id=item.native_id,
            at=at,
            sent=item.sent and problem is None,
            opens_turn=opens,
            step_key=key,
            model=self.model if key else None,
            goals=goals,
            link=link or None,
            problem=problem or item.skipped,
        )

    def _answered(self, parts: tuple[Part, ...]) -> GoalChange | None:
        for part in parts:
            if part.kind is PartKind.TOOL_RESULT and (change := self.plans.answered(part)) is not None:
                return change
        return None

    def _event(self, payload: dict[str, Any], at: Any, problem: str | None, *, copied: bool) -> Entry:
        event = read_event(payload)
        key: str | None = None
        usage: Usage | None = None
        goals: GoalChange | None = None
        match payload.get("type"):
            case "token_count":
                key, usage = self.requests.token_count(payload.get("info"), copied=copied)
                self.facts.window = self.requests.window or self.facts.window
            case "task_started" | "turn_started":
                self.requests.close()
                if isinstance(window := payload.get("model_context_window"), int) and window > 0:
                    self.facts.window = self.requests.window = window
            case "turn_aborted" | "task_complete" | "turn_complete" | "thread_rolled_back":
                self.requests.close()
            case "thread_name_updated":
                if not copied and isinstance(title := payload.get("thread_name"), str) and title.strip():
                    self.facts.title = title
            case "thread_goal_updated":
                goal = payload.get("goal")
                inherited = copied and self.facts.parent_kind == "subagent"
                goals = self.plans.stated(goal) if isinstance(goal, dict) and not inherited else None
        return Entry(
            event.kind,
            parts=event.parts,
            at=at,
            step_key=key,
            model=self.model if key else None,
            usage=usage,
            goals=goals,
            link=_copy(event.facts if problem is None else {"event": "skipped"}, copied=copied),
            problem=problem,
        )

    def _compacted(self, payload: dict[str, Any], at: Any, problem: str | None, *, copied: bool) -> Entry:
        self.requests.close()
        history, marks = payload.get("replacement_history"), payload.get("replacement_history_metadata")
        message = payload.get("message")
        message = message if isinstance(message, str) else ""
        whole = isinstance(history, list)
        if isinstance(history, list) and isinstance(marks, list) and len(marks) != len(history):
            problem = (
                problem or "the agent itself skips this line: its history and the history's metadata differ in length"
            )
        if isinstance(history, list):
            parts, left_out = of_replacement(history)
            problem = problem or left_out
        else:
            about = {"item": 0, "kind": Kind.SUMMARY.value}
            parts = (Part(PartKind.TEXT, message or _PLACEHOLDER, role=Role.USER, meta=about),)
        link: dict[str, Any] = {"mark": "compaction", "whole": whole}
        if self.requests.last is not None and isinstance(before := self.requests.last.get("total_tokens"), int):
            link["before"] = before
        if isinstance(number := payload.get("window_number"), int):
            link["window"] = number
        if problem is not None:
            link = {"event": "compacted"}
        return Entry(Kind.COMPACTION, parts=parts, at=at, link=_copy(link, copied=copied), problem=problem)

    def _turn_context(self, payload: dict[str, Any], at: Any, *, copied: bool) -> Entry:
        self.requests.close()
        if isinstance(model := payload.get("model"), str) and model:
            if copied:
                self.model = model
            else:
                self._model(model)
        if not copied and isinstance(cwd := payload.get("cwd"), str) and self.facts.cwd is None:
            self.facts.cwd = cwd
        link: dict[str, Any] = {"mark": "context"}
        if isinstance(turn := payload.get("turn_id"), str):
            link["turn"] = turn
        return Entry(Kind.META, parts=_say(meta.settings(payload)), at=at, link=_copy(link, copied=copied))

    def _usage_record(self, payload: dict[str, Any], at: Any, *, copied: bool) -> Entry:
        key, usage = self.requests.record(payload)
        if copied:
            key = usage = None
        return Entry(
            Kind.EVENT,
            at=at,
            step_key=key,
            response_id=_answer(payload) if key else None,
            model=self.model if key else None,
            usage=usage,
            link=_copy({"event": "token_usage_record"}, copied=copied),
        )

    def _mail(self, payload: dict[str, Any], at: Any, problem: str | None, *, copied: bool) -> Entry:
        """Mail between agents as a line of its own; the model is sent it as an `agent_message` item."""
        self.task = payload.get("trigger_turn") is True
        blocks: list[dict[str, Any]] = []
        if isinstance(words := payload.get("content"), str):
            blocks.append({"type": "input_text", "text": words})
        if isinstance(sealed := payload.get("encrypted_content"), str):
            blocks.append({"type": "encrypted_content", "encrypted_content": sealed})
        item = read_item({"type": "agent_message", **payload, "content": blocks})
        return self._item(item, at, problem, copied=copied)

    def _model(self, model: str) -> None:
        self.model = model
        if model not in self.facts.models:
            self.facts.models.append(model)


def _answer(payload: dict[str, Any]) -> str | None:
    """What tells an answer from all others: its id, and where that is only a number (servers of one's own count) its thread too.

    A copied record names the thread that it was copied from.
    """
    name, thread = payload.get("response_id"), payload.get("thread_id")
    if not isinstance(name, str):
        return None
    return f"{thread}/{name}" if len(name) < TELLING and isinstance(thread, str) else name


def _copy(link: dict[str, Any], *, copied: bool) -> dict[str, Any]:
    if copied:
        link["copied"] = True
    return link


def _with(entry: Entry, **changes: Any) -> Entry:
    return Entry(**{name: getattr(entry, name) for name in Entry.__slots__} | changes)


def _say(words: str) -> tuple[Part, ...]:
    return (Part(PartKind.MARKER, words[:_SHOWN]),) if words else ()
