"""Reads a Claude Code transcript line by line: every line one entry, whatever its era.

What the reader must remember between lines is small and goes into JSON: calls that still wait for their result (for its tool and its
goals), the lanes of inline sub-agents, the candidates for the title. Everything the tree needs goes into each entry's `link`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from sessions.adapters import lineage
from sessions.adapters.base import Line
from sessions.adapters.claude_code import marks
from sessions.adapters.claude_code.attachments import read_attachment
from sessions.adapters.claude_code.content import name_of, parts_of_message, words
from sessions.adapters.claude_code.people import SUMMARY_OPENING, kind_of_text, origin_is_human
from sessions.adapters.claude_code.tools import (
    TASK_TOOLS,
    plan_change,
    plan_of_request,
    plan_payload,
    result_facts,
    tasks_change,
    todos_change,
)
from sessions.adapters.claude_code.usage import SYNTHETIC, usage_of
from sessions.adapters.records import utc
from sessions.adapters.tolerant import entry_of
from sessions.entries import Entry, Facts, GoalChange, Kind, Part, PartKind, Role

_CALLS = 256  # calls without result that are remembered
_LANES = 512  # records of inline sub-agents that are remembered
_RECENT = 64  # ids of last records, to tell whether an old title is of this file
_SUMMARIES = 64
AGENT_FILE = re.compile(r"agent-([0-9a-zA-Z]+)$")
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")


class ClaudeReader:
    """One reader for one file. `facts` grow as the lines come."""

    def __init__(self, path: PurePath, state: Mapping[str, Any] | None = None) -> None:
        self.facts = Facts()
        self._calls: dict[str, list[Any]] = {}  # call id → [tool, plan payload]
        self._lanes: dict[str, str] = {}  # record id → lane
        self._tasks: dict[str, str] = {}  # task id → status
        self._recent: list[str] = []
        self._titles: dict[str, str] = {}  # custom, ai, summary
        self._summaries: dict[str, str] = {}  # leaf id → old title that waits for its record
        self._boundary: str | None = None  # id of the last compact boundary, while its summary may follow
        self._own_agent: str | None = None  # the agent id, where the file is a sub-agent's
        self._begun = False  # a tree record has been read
        self._bare: bool = False  # the file began as a 1.0.x copy does
        stem = path.stem
        found = AGENT_FILE.match(stem)
        if found:
            self._own_agent = found.group(1)
            self.facts.native_id = found.group(1)
            self.facts.parent_kind = "subagent"
        elif UUID.match(stem):
            self.facts.native_id = stem
        if state:
            self._restore(state)

    def read(self, line: Line) -> Entry:
        """The entry of one line. Never raises on content."""
        return entry_of(line, self._entry)

    def state(self) -> dict[str, Any]:
        return {
            "facts": dataclasses.asdict(self.facts),
            "calls": self._calls,
            "lanes": self._lanes,
            "tasks": self._tasks,
            "recent": self._recent,
            "titles": self._titles,
            "summaries": self._summaries,
            "boundary": self._boundary,
            "own_agent": self._own_agent,
            "begun": self._begun,
            "bare": self._bare,
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.facts = Facts(**state["facts"])
        self._calls = {key: list(value) for key, value in state["calls"].items()}
        self._lanes = dict(state["lanes"])
        self._tasks = dict(state["tasks"])
        self._recent = list(state["recent"])
        self._titles = dict(state["titles"])
        self._summaries = dict(state["summaries"])
        self._boundary = state["boundary"]
        self._own_agent = state["own_agent"]
        self._begun = state["begun"]
        self._bare = state["bare"]

    # -- records ------------------------------------------------------------------------------------------------------

    def _entry(self, record: dict[str, Any]) -> Entry:
        kind = record.get("type")
        match kind:
            case "user":
                entry = self._user(record)
            case "assistant":
                entry = self._assistant(record)
            case "attachment":
                entry = self._attachment(record)
            case "system":
                entry = self._system(record)
            case "progress":
                entry = self._progress(record)
            case _:
                return self._loose(record, kind)
        return self._in_tree(record, entry)

    def _in_tree(self, record: dict[str, Any], entry: Entry) -> Entry:
        """What all tree records share: ids, time, lane, the session's facts."""
        native_id = name_of(record.get("uuid"))
        parent = name_of(record.get("parentUuid"))
        at = utc(record.get("timestamp"))
        self._learn(record, native_id)
        lane = self._lane(record, native_id, parent, entry)
        link = dict(entry.link or {})
        link["t"] = marks.LETTER[record["type"]]
        if at is not None:
            link["ms"] = int(at.timestamp() * 1000)
        # Every record comes by here: written out, this takes a fraction of what `replace` does.
        return Entry(
            kind=entry.kind,
            role=entry.role,
            parts=entry.parts,
            native_id=native_id,
            native_parent=parent,
            at=at,
            sent=entry.sent and not lane,
            lane=lane,
            # A sub-agent is prompted by an agent, not by a person.
            opens_turn=entry.opens_turn and not lane and self._own_agent is None,
            step_key=entry.step_key,
            response_id=entry.response_id,
            model=entry.model,
            usage=entry.usage,
            goals=None if lane else entry.goals,
            link=link,
            problem=entry.problem,
        )

    def _learn(self, record: dict[str, Any], native_id: str | None) -> None:
        facts = self.facts
        # Every record says them, and seldom anything new.
        if (cwd := record.get("cwd")) != facts.cwd:
            facts.cwd = name_of(cwd) or facts.cwd
        if (branch := record.get("gitBranch")) != facts.branch:
            facts.branch = name_of(branch) or facts.branch
        if (version := record.get("version")) != facts.agent_version:
            facts.agent_version = name_of(version) or facts.agent_version
        if not self._begun:
            self._begin(record, native_id)
        origin = record.get("forkedFrom")
        if isinstance(origin, dict) and facts.parent_native_id is None and name_of(origin.get("sessionId")):
            facts.parent_native_id, facts.parent_kind = origin["sessionId"], "fork"
        if native_id:
            self._recent.append(native_id)
            if len(self._recent) > 2 * _RECENT:
                del self._recent[:-_RECENT]
            if native_id in self._summaries:
                self._title("summary", self._summaries.pop(native_id))

    def _begin(self, record: dict[str, Any], native_id: str | None) -> None:
        self._begun = True
        session = name_of(record.get("sessionId")) or name_of(record.get("session_id"))
        agent = name_of(record.get("agentId"))
        facts = self.facts
        if self._own_agent is None and agent and record.get("isSidechain") is True:
            self._own_agent = agent
            facts.native_id, facts.parent_kind = agent, "subagent"
        if self._own_agent is not None:
            facts.parent_native_id = session
        elif facts.native_id is None:
            facts.native_id = session
        # Version 1 continues a session in a new file: prompts come re-wrapped as lists, answers without their request's id.
        first = record.get("message")
        if (
            str(record.get("version", "")).startswith("1.")
            and record["type"] == "user"
            and isinstance(first, dict)
            and isinstance(first.get("content"), list)
            and not _has(first["content"], "tool_result", "image", "document")
        ):
            self._bare = True
            facts.extra["copied_from"] = native_id

    def _lane(self, record: dict[str, Any], native_id: str | None, parent: str | None, entry: Entry) -> str:
        if record.get("isSidechain") is not True or self._own_agent is not None:
            return ""
        agent = name_of(record.get("agentId"))
        lane = agent or (self._lanes.get(parent) if parent else None)
        if lane is None:
            lane = native_id or "sub-agent"
        if native_id:
            self._lanes[native_id] = lane
            while len(self._lanes) > _LANES:
                del self._lanes[next(iter(self._lanes))]
        return lane

    # -- conversation -------------------------------------------------------------------------------------------------

    def _user(self, record: dict[str, Any]) -> Entry:
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        parts = parts_of_message(content, self._tool_of)
        results = [part for part in parts if part.kind is PartKind.TOOL_RESULT]
        if results:
            return self._results(record, parts, results)
        text = "\n".join(part.text for part in parts if part.kind is PartKind.TEXT)
        goals = todos_change(record.get("todos"))
        if self._is_summary(record, text):
            self._boundary = None
            link: dict[str, Any] = {"summary": True}
            return Entry(Kind.SUMMARY, Role.USER, parts, sent=True, link=link, goals=goals)
        kind = kind_of_text(text) if text else Kind.PROMPT if parts else Kind.CONTEXT
        if kind is Kind.PROMPT and (record.get("isMeta") is True or not origin_is_human(record)):
            kind = Kind.CONTEXT
        person = kind is Kind.PROMPT
        goals = plan_of_request(text) if person and goals is None else goals
        origin = record.get("origin")
        if isinstance(origin, dict) and origin.get("kind") == "task-notification":
            parts = tuple(dataclasses.replace(part, meta={**part.meta, "notice": True}) for part in parts)
        link = {"source_call": record["sourceToolUseID"]} if name_of(record.get("sourceToolUseID")) else {}
        if record.get("isSidechain") is True and record.get("parentUuid") is None and self._own_agent is None:
            call = next(
                (
                    call
                    for call, known in self._calls.items()
                    if known[0] in ("Task", "Agent") and known[1] == text[:500]
                ),
                None,
            )
            link |= {"call": call} if call else {}
        return Entry(kind, Role.USER, parts, sent=bool(parts), opens_turn=person, goals=goals, link=link)

    def _tool_of(self, call: str) -> str | None:
        known = self._calls.get(call)
        return known[0] if known else None

    def _is_summary(self, record: dict[str, Any], text: str) -> bool:
        if record.get("isCompactSummary") is True:
            return True
        parent = name_of(record.get("parentUuid"))
        if not text.startswith(SUMMARY_OPENING):
            return False
        return parent is None or parent == self._boundary

    def _results(self, record: dict[str, Any], parts: tuple[Part, ...], results: list[Part]) -> Entry:
        structured = record.get("toolUseResult")
        if len(results) == 1 and structured is not None:
            only = results[0]
            facts = result_facts(structured, is_error=only.is_error)
            if facts:
                known = only.with_meta({**facts, **only.meta})
                parts = tuple([known if part is only else part for part in parts])
        goals: GoalChange | None = None
        for part in results:
            call = self._calls.pop(part.call_id, None) if part.call_id else None
            if call and call[1] is not None and call[0] not in ("Task", "Agent") and not part.is_error:
                goals = plan_change(call[0], call[1], structured, part.text, self._tasks) or goals
        return Entry(Kind.TOOL_RESULT, Role.TOOL, parts, sent=True, goals=goals)

    def _assistant(self, record: dict[str, Any]) -> Entry:
        message = record.get("message")
        message = message if isinstance(message, dict) else {}
        parts = parts_of_message(message.get("content"), self._tool_of)
        model = name_of(message.get("model"))
        response = name_of(message.get("id"))
        error = record.get("isApiErrorMessage") is True
        if model == SYNTHETIC or error:
            link = {"error": True} if error else {"synthetic": True}
            kind = Kind.EVENT if error else Kind.MESSAGE
            return Entry(kind, Role.ASSISTANT, parts, sent=not error, response_id=response, link=link)
        if model is not None and model not in self.facts.models:
            self.facts.models.append(model)
        if self._bare and record.get("requestId") is None and self.facts.parent_kind is None:
            self.facts.parent_kind = "continued"
        if self._bare and record.get("requestId") is not None:
            self._bare = False
        self._remember(message.get("content"))
        request = name_of(record.get("requestId"))
        step_key = f"{response}:{request or ''}" if response else name_of(record.get("uuid"))
        return Entry(
            _kind_of_answer(parts),
            Role.ASSISTANT,
            parts,
            sent=bool(parts),
            step_key=step_key,
            response_id=response,
            model=model,
            usage=usage_of(message, name_of(record.get("version")) or self.facts.agent_version),
        )

    def _remember(self, content: Any) -> None:
        for block in content if isinstance(content, list) else []:
            if not isinstance(block, dict) or block.get("type") != "tool_use":
                continue
            call, tool = name_of(block.get("id")), name_of(block.get("name"))
            if call is None or tool is None:
                continue
            arguments = block.get("input")
            if tool in ("Task", "Agent") and isinstance(arguments, dict):
                payload: Any = words(arguments.get("prompt"))[:500]
            else:
                payload = plan_payload(tool, arguments)
            self._calls[call] = [tool, payload]
        while len(self._calls) > _CALLS:
            del self._calls[next(iter(self._calls))]

    def _attachment(self, record: dict[str, Any]) -> Entry:
        read = read_attachment(record)
        body = record.get("attachment")
        body = body if isinstance(body, dict) else {}
        goals = None
        if body.get("type") == "todo_reminder":
            goals = todos_change(body.get("content"))
        elif body.get("type") == "task_reminder":
            goals = tasks_change(body.get("content"), self._tasks)
        return Entry(
            read.kind, read.role, read.parts, sent=read.sent, opens_turn=read.person, goals=goals, problem=read.problem
        )

    def _system(self, record: dict[str, Any]) -> Entry:
        entry = marks.system_entry(record)
        if entry.link and "boundary" in entry.link:
            self._boundary = name_of(record.get("uuid"))
        return entry

    def _progress(self, record: dict[str, Any]) -> Entry:
        data = record.get("data")
        data = data if isinstance(data, dict) else {}
        name = name_of(data.get("type")) or "progress"
        meta: dict[str, Any] = {}
        for key, to in (
            ("agentId", "agent_id"),
            ("hookName", "hook"),
            ("hookEvent", "hook_event"),
            ("command", "command"),
        ):
            if isinstance(data.get(key), str):
                meta[to] = data[key][:200]
        call = name_of(record.get("parentToolUseID")) or name_of(record.get("toolUseID"))
        if call:
            meta["for_call"] = call
        goals = self._shared_tasks(data.get("message")) if name == "agent_progress" else None
        return Entry(Kind.EVENT, None, (Part(PartKind.MARKER, name, meta=meta),), goals=goals)

    def _shared_tasks(self, told: Any) -> GoalChange | None:
        """What a sub-agent's call, told as progress, did to the session's tasks: it works on the same list (Claude Code 2.1.29).

        A TodoWrite of its own is not told here on purpose: that list is the sub-agent's.
        """
        message = told.get("message") if isinstance(told, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        self._remember([block for block in blocks if block.get("name") in TASK_TOOLS])
        goals: GoalChange | None = None
        for part in parts_of_message(blocks, self._tool_of):
            known = self._calls.get(part.call_id or "") if part.kind is PartKind.TOOL_RESULT else None
            if known and known[0] in TASK_TOOLS:
                del self._calls[part.call_id or ""]
                if not part.is_error:
                    goals = plan_change(known[0], known[1], None, part.text, self._tasks) or goals
        return goals

    # -- records outside the tree -------------------------------------------------------------------------------------

    def _loose(self, record: dict[str, Any], kind: Any) -> Entry:
        at = utc(record.get("timestamp"))
        if self.facts.native_id is None and name_of(record.get("sessionId")):
            self.facts.native_id = record["sessionId"]
        match kind:
            case lineage.NAME:
                return dataclasses.replace(lineage.take(record.get(lineage.NAME), self.facts), at=at)
            case "summary":
                self._summary(name_of(record.get("leafUuid")), name_of(record.get("summary")))
            case "custom-title":
                self._title("custom", name_of(record.get("customTitle")))
            case "ai-title":
                self._title("ai", name_of(record.get("aiTitle")))
            case "agent-name" | "tag" | "pr-link" | "cost-state":
                marks.learn_extra(self.facts, kind, record)
        return dataclasses.replace(marks.loose_entry(record, kind, self._own_agent), at=at)

    def _summary(self, leaf: str | None, title: str | None) -> None:
        if leaf is None or title is None:
            return
        if leaf in self._recent:
            self._title("summary", title)
            return
        self._summaries[leaf] = title[:300]
        while len(self._summaries) > _SUMMARIES:
            del self._summaries[next(iter(self._summaries))]

    def _title(self, source: str, title: str | None) -> None:
        if title is None:
            return
        self._titles[source] = title[:300]
        self.facts.title = self._titles.get("custom") or self._titles.get("ai") or self._titles.get("summary")


def _kind_of_answer(parts: tuple[Part, ...]) -> Kind:
    kinds = [part.kind for part in parts]
    if PartKind.TOOL_CALL in kinds:
        return Kind.TOOL_CALL
    return Kind.REASONING if kinds and kinds.count(PartKind.REASONING) == len(kinds) else Kind.MESSAGE


def _has(content: Any, *types: str) -> bool:
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") in types for block in content
    )
