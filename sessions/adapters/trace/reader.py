"""Reads a trace's log: messages with their goals, summaries and what they replace, and the lines that retract and restore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from sessions.adapters import lineage
from sessions.adapters.generic.messages import Reader as MessageReader
from sessions.adapters.generic.messages import other
from sessions.adapters.generic.usage import counted
from sessions.adapters.generic.values import inside, moment, name_of, number, short
from sessions.adapters.records import text_of
from sessions.adapters.trace.claims import HEAD, name
from sessions.adapters.trace.goals import Told, flat
from sessions.entries import Entry, Kind, Part, PartKind, Role, Usage

_CONCLUSION = 4000  # characters of a branch's last words that are kept as its conclusion


class Reader(MessageReader):
    """`facts.extra`: the goal tree as it is now, a branch's question and conclusion. `state` also says what was told of the goals."""

    def __init__(self, path: PurePath, state: Mapping[str, Any] | None = None) -> None:
        super().__init__(path, state)
        self.told = Told() if state is None else Told.from_json(state["told"])
        if state is None:
            self.facts.native_id = name(path)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "told": self.told.to_json()}

    def record(self, record: Mapping[str, Any]) -> Entry:
        if isinstance(record.get(HEAD), dict):
            return self._beside(record[HEAD])
        if record.get("op") in ("retract", "restore"):
            ids = [one for one in record["ids"] if isinstance(one, str)] if isinstance(record.get("ids"), list) else []
            words = f"{'Retracted' if record['op'] == 'retract' else 'Restored'}: {', '.join(ids)[:400]}"
            mark = Part(PartKind.MARKER, words)
            return Entry(
                Kind.ROLLBACK, parts=(mark,), at=moment(record.get("ts")), link={"is": record["op"], "ids": ids}
            )
        entry = self.message(record)
        return entry if entry is not None else other(record)

    def message(self, record: Mapping[str, Any]) -> Entry | None:
        entry = super().message({key: value for key, value in record.items() if key != "usage"})
        if entry is None:
            return None
        goal = record.get("goal_id")
        goal = str(goal) if isinstance(goal, str | int) and goal != "" else None
        link: dict[str, Any] = {"goal": goal} if goal else {}
        sub = record.get("sub_trace_id")
        if name_of(sub):
            link["sub"] = sub
            entry = replace(
                entry, parts=tuple(replace(part, meta={**part.meta, "session": sub}) for part in entry.parts)
            )
        if record.get("kind") == "summary":
            said = record.get("replaces")
            link |= {"is": "summary", "replaces": said if isinstance(said, dict) else {}}
            entry = replace(entry, kind=Kind.SUMMARY, opens_turn=False, step_key=None)
        self._conclude(entry)
        change = self.told.message(goal, self.facts.extra.get("goals", []), entry.parts)
        used = _usage(record.get("usage")) if entry.role is Role.ASSISTANT else None
        return replace(entry, goals=change or entry.goals, link=link or None, usage=used if entry.step_key else None)

    def _conclude(self, entry: Entry) -> None:
        """The last words of a branch are what it came to."""
        if self.facts.parent_native_id is not None and entry.kind is Kind.MESSAGE:
            self.facts.extra["conclusion"] = entry.text[:_CONCLUSION]

    def _beside(self, said: Mapping[str, Any]) -> Entry:
        """What `meta.json` and `goal.json` say; they change while the log goes on, so nothing of it is told before a message comes."""
        facts = self.facts
        meta = said.get("meta")
        meta = meta if isinstance(meta, dict) else {}
        tree = said.get("goals")
        facts.native_id = name_of(meta.get("trace_id")) or facts.native_id
        mission = name_of(inside(tree, "mission"))
        branch = name_of(meta.get("branch"))
        facts.title = name_of(meta.get("title")) or branch or mission or facts.title
        facts.cwd = name_of(meta.get("cwd")) or facts.cwd
        facts.window = number(inside(meta, "context_limit", "context")) or facts.window
        self.model = name_of(meta.get("model")) or self.model
        if name_of(meta.get("parent_trace_id")):
            facts.parent_native_id, facts.parent_kind = meta["parent_trace_id"], "branch"
        if lineage.NAME in meta:
            lineage.take(meta[lineage.NAME], facts)
        kept = {
            "status": meta.get("status"),
            "parent_goal": meta.get("parent_goal_id"),
            "branch": branch,
            "mission": mission,
        }
        facts.extra |= {key: value for key, value in kept.items() if isinstance(value, str)}
        facts.extra["goals"] = flat(tree)
        shown = {**short(meta), **({"mission": mission} if mission else {})}
        return Entry(Kind.META, parts=(Part(PartKind.OTHER, text_of(shown)),), at=moment(meta.get("created_at")))


def _usage(raw: Any) -> Usage | None:
    """A request's tokens: the input includes what was read from and written to the cache."""
    if not isinstance(raw, dict):
        return None
    found = counted(
        prompt=number(raw.get("input")),
        read=number(raw.get("cached_read", raw.get("cached"))),
        write=number(raw.get("cached_write")),
        output=number(raw.get("output")),
        reasoning=number(raw.get("reasoning")),
    )
    total = number(raw.get("total"))
    if found is None or total is None or total == found.context:
        return found
    return replace(found, total=total)
