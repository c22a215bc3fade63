"""Reads a session record by record: lines of the append-only log, or the messages that `documents` finds in a whole file.

A message that is written again under its id, because its tools came back, is an entry that holds only what is new: so words, thoughts
and calls stand in the log once. A message that came to say something else is an entry that is not sent, and a version says that it took
the place. A result stands with its call; where the log repeats it as a user's message, that is an entry that is not sent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from sessions.adapters import lineage
from sessions.adapters.base import Line
from sessions.adapters.gemini_cli.content import atoms, parts_of, results, user_text, words
from sessions.adapters.gemini_cli.lists import LETTERS, listed_messages, message_parts, new_snapshot
from sessions.adapters.gemini_cli.people import ENVIRONMENT, is_command, is_investigation, left_out, place_of
from sessions.adapters.gemini_cli.plans import TOOLS, Plans
from sessions.adapters.gemini_cli.usage import usage_of
from sessions.adapters.records import text_of, utc
from sessions.adapters.tolerant import entry_of
from sessions.entries import Entry, Facts, GoalChange, Kind, Part, PartKind, Role

DOCUMENT = "$document"  # marks the head of a whole file, as `documents` gives it
_RECENT = 64  # messages that may be written again
_CALLS = 512  # calls that may be answered again


class GeminiReader:
    """One reader for one source. `facts` grow as the records come."""

    def __init__(self, path: PurePath, state: Mapping[str, Any] | None = None) -> None:
        self.facts = Facts()
        self._folder = path.parent.name
        self._document = False
        self._messages = 0
        self._child = False
        self._recent: dict[str, dict[str, Any]] = {}  # id → what was said under it
        self._answered: dict[str, None] = {}
        self._calls: dict[str, list[str]] = {}  # calls of plan tools that wait for their result
        self._snapshots: list[str] = []
        self._unnamed: dict[str, list[str]] = {}  # tool → ids given to calls that had none
        self._number = 0
        self._plans = Plans()
        if state:
            self._restore(state)

    def read(self, line: Line) -> Entry:
        """The entry of one record. Never raises on content."""
        return entry_of(line, self._entry)

    def state(self) -> dict[str, Any]:
        return {
            "facts": dataclasses.asdict(self.facts),
            "document": self._document,
            "messages": self._messages,
            "child": self._child,
            "recent": self._recent,
            "answered": list(self._answered),
            "calls": self._calls,
            "snapshots": self._snapshots,
            "unnamed": self._unnamed,
            "number": self._number,
            "plans": self._plans.state(),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.facts = Facts(**state["facts"])
        self._document = state["document"]
        self._messages = state["messages"]
        self._child = state["child"]
        self._recent = {key: dict(value) for key, value in state["recent"].items()}
        self._answered = dict.fromkeys(state["answered"])
        self._calls = {key: list(value) for key, value in state["calls"].items()}
        self._snapshots = list(state["snapshots"])
        self._unnamed = {key: list(value) for key, value in state["unnamed"].items()}
        self._number = state["number"]
        self._plans = Plans.from_state(state["plans"])

    # -- records, in the order in which the agent tells them apart -----------------------------------------------------

    def _entry(self, record: dict[str, Any]) -> Entry:
        if DOCUMENT in record:
            return self._head(record)
        if isinstance(record.get("$rewindTo"), str):
            return Entry(
                Kind.ROLLBACK,
                parts=(Part(PartKind.MARKER, f"back to before {record['$rewindTo']}"),),
                link={"op": "rewind", "to": record["$rewindTo"]},
            )
        if isinstance(record.get("id"), str) or (self._document and "type" in record):
            return self._message(record)
        if isinstance(record.get("$set"), dict):
            return self._set(record["$set"])
        if lineage.NAME in record and len(record) == 1:
            return lineage.take(record[lineage.NAME], self.facts)
        if isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str):
            return self._header(record)
        if isinstance(record.get("sessionId"), str) and "startTime" in record and "projectHash" not in record:
            # The agent itself does not read such a file, and deletes it.
            return dataclasses.replace(
                self._header({**record, "messages": None}), problem="a head without a project hash"
            )
        if self._document and isinstance(record.get("role"), str) and isinstance(record.get("parts"), list):
            return self._content(record)
        return Entry(Kind.OTHER, parts=(Part(PartKind.OTHER, text_of(record)),))

    def _head(self, record: dict[str, Any]) -> Entry:
        self._document = True
        form = record.pop(DOCUMENT)
        entry = self._header(record)
        if form == "checkpoint":
            self.facts.extra["form"] = "checkpoint"
        return entry

    def _header(self, record: Mapping[str, Any]) -> Entry:
        self._learn(record)
        kept = {key: value for key, value in record.items() if key != "messages"}
        parts: tuple[Part, ...] = (Part(PartKind.MARKER, text_of(kept)),) if kept else ()
        at = utc(record.get("startTime"))
        if isinstance(record.get("messages"), list) and record["messages"]:
            entry = self._list(record["messages"], "add")
            return dataclasses.replace(entry, at=at)
        return Entry(Kind.META, parts=parts, at=at)

    def _learn(self, record: Mapping[str, Any]) -> None:
        facts = self.facts
        name = record.get("sessionId")
        if isinstance(name, str) and name:
            facts.native_id = name
        if isinstance(kind := record.get("kind"), str):
            facts.extra["kind"] = kind
            if kind == "subagent":
                self._child = True
                facts.parent_kind = "subagent"
                if self._folder not in ("", "chats"):
                    facts.parent_native_id = self._folder
        for key in ("projectHash", "memoryScratchpad"):
            if record.get(key):
                facts.extra[key] = record[key]
        summary = record.get("summary")
        if isinstance(summary, str) and summary.strip() and "\n" not in summary.strip():
            facts.title = summary.strip()
        directories = record.get("directories")
        if isinstance(directories, list) and directories and isinstance(directories[0], str) and facts.cwd is None:
            facts.cwd = directories[0]

    def _set(self, change: Mapping[str, Any]) -> Entry:
        self._learn(change)
        at = utc(change.get("lastUpdated"))
        messages = change.get("messages")
        if isinstance(messages, list):
            return dataclasses.replace(self._list(messages, "set"), at=at)
        said = {key: value for key, value in change.items() if key != "lastUpdated"}
        parts = (Part(PartKind.MARKER, text_of(said)),) if said else ()
        return Entry(Kind.META, parts=parts, at=at)

    def _list(self, raw: Sequence[Any], op: str) -> Entry:
        parts, messages = listed_messages(raw)
        snapshot = new_snapshot(messages, self._snapshots)
        self._snapshots += [m.id for m in messages if m.form == "snapshot" and m.id not in self._snapshots]
        begins = not self._messages and bool(messages) and all(m.form == "env" for m in messages)
        self._messages += len(messages)
        for message in messages:
            known = self._recent.get(message.id)
            if known and (
                known["letter"] != message.letter
                or sorted([*known["text"], *known["calls"].values()]) != sorted(message.atoms)
            ):
                del self._recent[message.id]  # what is written under this id next is not more of what was
        for part in parts:
            if self.facts.cwd is None and part.kind is PartKind.TEXT and part.text.lstrip().startswith(ENVIRONMENT):
                self.facts.cwd = place_of(part.text)
        link: dict[str, Any] = {"op": op, "list": [message.to_json() for message in messages]}
        if begins:
            return Entry(Kind.CONTEXT, Role.USER, _plain(parts, Role.USER), sent=True, link=link)
        if snapshot is not None:
            link["snapshot"] = snapshot
        return Entry(Kind.META if snapshot is None else Kind.COMPACTION, parts=tuple(parts), link=link)

    def _content(self, record: Mapping[str, Any]) -> Entry:
        """A turn of a checkpoint: the API's own form."""
        role = record["role"]
        if role not in ("user", "model"):
            return Entry(Kind.OTHER, parts=tuple(parts_of(record["parts"], Role.USER)))
        self._number += 1
        kind = "user" if role == "user" else "gemini"
        return self._message({"id": f"turn-{self._number}", "type": kind, "content": record["parts"]})

    # -- messages ------------------------------------------------------------------------------------------------------

    def _message(self, record: dict[str, Any]) -> Entry:
        kind = record.get("type")
        letter = LETTERS.get(kind, "") if isinstance(kind, str) else ""
        self._messages += 1
        match letter:
            case "u":
                entry = self._user(record)
            case "g":
                entry = self._model(record)
            case "x":
                entry = Entry(
                    Kind.EVENT,
                    parts=tuple(
                        dataclasses.replace(p, role=None) for p in parts_of(record.get("content"), Role.SYSTEM)
                    ),
                    link={"m": "x", "is": kind},
                )
            case _:
                entry = Entry(Kind.OTHER, parts=(Part(PartKind.OTHER, text_of(record)),), link={"m": "x"})
        name = record.get("id")
        if isinstance(name, str) and letter != "g" and not self._document:
            entry = self._unless_said(name, letter, entry)
        return dataclasses.replace(
            entry, native_id=name if isinstance(name, str) else None, at=utc(record.get("timestamp"))
        )

    def _unless_said(self, name: str, letter: str, entry: Entry) -> Entry:
        """A message that is no model's, written again under its id: nothing new, or something that takes its place."""
        sent = entry.parts if entry.sent or entry.kind is Kind.TOOL_RESULT else ()
        said = {"letter": letter, "text": atoms(sent), "thoughts": 0, "calls": {}, "results": results(sent)}
        known = self._recent.pop(name, None)
        self._recall(name, said)
        if known is None:
            return entry
        link: dict[str, Any] = {"m": letter or "x", "more": True}
        if known != said:
            link = {"m": letter or "x", "op": "again", "a": said["text"], "r": said["results"], "silent": not sent}
        return dataclasses.replace(entry, kind=Kind.META, sent=False, opens_turn=False, link=link)

    def _user(self, record: Mapping[str, Any]) -> Entry:
        content = record.get("content")
        text = user_text(content).strip()
        parts = self._named(parts_of(content, Role.USER))
        answers = [part for part in parts if part.kind is PartKind.TOOL_RESULT]
        link: dict[str, Any] = {"m": "u"}
        if answers:
            return self._answers(parts, answers, link)
        if text.startswith(ENVIRONMENT):
            self.facts.cwd = self.facts.cwd or place_of(text)
            # A checkpoint holds the surroundings and the first prompt in one turn.
            person = self._document and any(not p.text.lstrip().startswith(ENVIRONMENT) for p in parts)
            kind = Kind.PROMPT if person else Kind.CONTEXT
            link |= {"a": atoms(parts), "form": "env"}
            return Entry(kind, Role.USER, _plain(parts, Role.USER), sent=True, opens_turn=person, link=link)
        link["a"] = atoms(parts)
        if left_out(text) or not parts:
            kind = Kind.COMMAND if is_command(text) else Kind.PROMPT if text.startswith("?") else Kind.CONTEXT
            problem = None
            if kind is Kind.PROMPT:
                problem = "the agent leaves it out when it goes on from this session: it begins with a question mark"
            return Entry(
                kind, Role.USER, _plain(parts, Role.USER), link=link, problem=problem, opens_turn=kind is Kind.PROMPT
            )
        _, form = message_parts(record, "u")
        if form == "snapshot":
            if isinstance(record.get("id"), str):
                self._snapshots.append(record["id"])
            return Entry(Kind.SUMMARY, Role.USER, _plain(parts, Role.USER), sent=True, link={**link, "form": form})
        if self._messages == 1 and is_investigation(text) and not self._child:
            self._child = True
            self.facts.parent_kind, self.facts.parent_native_id = "subagent", self.facts.native_id
        shown = user_text(record.get("displayContent")).strip()
        if shown and shown != text:
            parts[0] = dataclasses.replace(parts[0], meta={**parts[0].meta, "typed": shown[:2000]})
        return Entry(Kind.PROMPT, Role.USER, _plain(parts, Role.USER), sent=True, opens_turn=not self._child, link=link)

    def _answers(self, parts: list[Part], answers: Sequence[Part], link: dict[str, Any]) -> Entry:
        """Results in a message of their own. Those that stand with their call already are not sent a second time."""
        again = all(part.call_id in self._answered for part in answers)
        link |= {"r": results(answers), "a": atoms(parts)}
        goals = None if again else self._goals(answers)
        self._remember_answers(answers)
        return Entry(Kind.TOOL_RESULT, Role.TOOL, _plain(parts, Role.TOOL), sent=not again, goals=goals, link=link)

    def _model(self, record: dict[str, Any]) -> Entry:
        parts, form = message_parts(record, "g")
        parts = self._named(parts)
        name = record.get("id")
        usage = usage_of(record.get("tokens"))
        model = record.get("model")
        model = model if isinstance(model, str) and model else None
        if model is not None and model not in self.facts.models:
            self.facts.models.append(model)
        link: dict[str, Any] = {"m": "g"}
        if form:
            link["form"] = form
        new: list[Part] | None = parts
        if isinstance(name, str) and not self._document:
            new = self._news(name, parts)
        key = name if isinstance(name, str) else f"n{self._messages}"
        entry = Entry(
            Kind.META,
            Role.ASSISTANT,
            step_key=None if form == "thanks" and usage is None else key,
            response_id=key if len(key) == 36 else None,
            model=model,
            usage=usage,
        )
        if new is None:
            link |= {"op": "again", "a": atoms(parts), "r": results(parts)}
            return dataclasses.replace(entry, parts=tuple(parts), link=link, goals=self._learn_calls(parts))
        link |= {"a": atoms(new), "r": results(new)}
        if new is not parts:
            link["more"] = True
        return dataclasses.replace(
            entry,
            kind=_kind_of(new) if new else Kind.EVENT if "more" in link else Kind.MESSAGE,
            parts=_plain(new, Role.ASSISTANT),
            sent=bool(new),
            link=link,
            goals=self._learn_calls(new),
        )

    def _news(self, name: str, parts: list[Part]) -> list[Part] | None:
        """What a message adds to what was said under its id; all of it the first time (the same list). None: it says something else."""
        said = {"text": atoms([p for p in parts if p.kind is not PartKind.TOOL_CALL]), "thoughts": _thoughts(parts)}
        calls = {p.call_id or "": atoms([p])[0] for p in parts if p.kind is PartKind.TOOL_CALL}
        answered = results(parts)
        known = self._recent.pop(name, None)
        self._recall(name, {"letter": "g", **said, "calls": calls, "results": answered})
        if known is None:
            return parts
        same = known["letter"] == "g" and said["text"] == known["text"] and said["thoughts"] == known["thoughts"]
        kept = all(calls.get(call) == was for call, was in known["calls"].items())
        kept = kept and all(answered.get(call) == was for call, was in known["results"].items())
        if not (same and kept):
            return None
        return [
            part
            for part in parts
            if (part.kind is PartKind.TOOL_CALL and (part.call_id or "") not in known["calls"])
            or (
                part.kind in (PartKind.TOOL_RESULT, PartKind.MEDIA)
                and part.call_id is not None
                and part.call_id not in known["results"]
            )
        ]

    def _recall(self, name: str, said: dict[str, Any]) -> None:
        self._recent[name] = said
        while len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _learn_calls(self, parts: Sequence[Part]) -> GoalChange | None:
        for part in parts:
            if part.kind is PartKind.TOOL_CALL and part.call_id and part.tool in TOOLS:
                self._calls[part.call_id] = [part.tool or "", part.text]
                while len(self._calls) > _CALLS:
                    del self._calls[next(iter(self._calls))]
        answers = [part for part in parts if part.kind is PartKind.TOOL_RESULT]
        goals = self._goals(answers)
        self._remember_answers(answers)
        return goals

    def _goals(self, answers: Sequence[Part]) -> GoalChange | None:
        found: GoalChange | None = None
        for part in answers:
            call = self._calls.pop(part.call_id, None) if part.call_id else None
            change = self._plans.answered(call[0], call[1], part) if call else None
            if change is not None and found is not None and not change.whole:
                change = GoalChange((*found.items, *change.items), found.whole)
            found = change or found
        return found

    def _remember_answers(self, answers: Sequence[Part]) -> None:
        for part in answers:
            if part.call_id:
                self._answered[part.call_id] = None
        while len(self._answered) > _CALLS:
            del self._answered[next(iter(self._answered))]

    def _named(self, parts: list[Part]) -> list[Part]:
        """Calls that have no id get one, and the results that answer them the same."""
        out: list[Part] = []
        for part in parts:
            if part.call_id is None and part.kind is PartKind.TOOL_CALL:
                self._number += 1
                name = f"unnamed-{self._number}"
                self._unnamed.setdefault(part.tool or "", []).append(name)
                out.append(dataclasses.replace(part, call_id=name))
            elif part.call_id is None and part.kind is PartKind.TOOL_RESULT:
                waiting = self._unnamed.get(part.tool or "", [])
                self._number += 1
                name = waiting.pop(0) if waiting else f"unnamed-{self._number}"
                out.append(dataclasses.replace(part, call_id=name))
            else:
                out.append(part)
        return out


def _plain(parts: Sequence[Part], role: Role) -> tuple[Part, ...]:
    """Parts of one role say it no more than once."""
    return tuple(dataclasses.replace(part, role=None) if part.role is role else part for part in parts)


def _thoughts(parts: Sequence[Part]) -> int:
    return sum(part.kind is PartKind.REASONING for part in parts)


def _kind_of(parts: Sequence[Part]) -> Kind:
    kinds = {part.kind for part in parts}
    if PartKind.TOOL_CALL in kinds:
        return Kind.TOOL_CALL
    if words(parts):
        return Kind.MESSAGE
    if PartKind.TOOL_RESULT in kinds:
        return Kind.TOOL_RESULT
    return Kind.REASONING if PartKind.REASONING in kinds else Kind.MESSAGE
