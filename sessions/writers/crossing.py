"""One agent's context for another agent's writer: calls as the other's tools or in words, what only the one agent can use left out.

Everything that is not carried over as it was is noted, in words for a person; nothing is dropped silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sessions.adapters.gemini_cli.lists import THANKS
from sessions.adapters.opencode.parts import ASKED
from sessions.contexts import Item
from sessions.entries import Kind, Part, PartKind, Role
from sessions.ranges import Ranges
from sessions.writers.base import CannotWrite, Draft, Notes, is_summary
from sessions.writers.goals import planned
from sessions.writers.tools import ANY_TOOL, carried

_FRAMES = {"opencode": ASKED, "gemini-cli": THANKS}
_NAMES = {"claude-code": "Claude Code", "codex": "Codex", "gemini-cli": "Gemini CLI", "opencode": "OpenCode"}
TOLD = "a result told in words"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def crossed(draft: Draft, wired: Sequence[Item], agent: str) -> Draft:
    """The draft for the writer of `agent`. `wired`: its context as its own agent sends it, which is what is carried over."""
    if draft.agent == agent:
        items, notes = named(draft.items)
        if not items:
            raise CannotWrite("This context is empty: there is nothing to go on from.")
        return planned(replace(draft, items=items, notes=(*draft.notes, *notes)), agent)
    crossing = _Crossing(draft.agent, agent)
    items, notes = named([new for item in wired for new in crossing.item(item)])
    items = crossing.answered(arranged(items))
    if not items:
        raise CannotWrite("Nothing of this context can be carried over to another agent.")
    notes = (*draft.notes, *crossing.notes.lines(), *notes)
    return planned(replace(draft, items=items, ghosts=Ranges(), changed_from=0, notes=notes), agent)


def named(items: Sequence[Item]) -> tuple[list[Item], tuple[str, ...]]:
    """The items with ids for calls that were recorded without one; the next result without one is theirs."""
    notes = Notes()
    waiting: list[str] = []
    count = 0
    out: list[Item] = []
    for item in items:
        if all(part.call_id or part.kind not in (PartKind.TOOL_CALL, PartKind.TOOL_RESULT) for part in item.parts):
            out.append(item)
            continue
        parts: list[Part] = []
        for part in item.parts:
            if part.kind is PartKind.TOOL_CALL and not part.call_id:
                count += 1
                waiting.append(f"call_unnamed_{count}")
                parts.append(replace(part, call_id=waiting[-1]))
                notes.add("a call that was recorded without an id got one")
            elif part.kind is PartKind.TOOL_RESULT and not part.call_id:
                parts.append(_answer(part, waiting, notes))
            else:
                parts.append(part)
        out.append(replace(item, parts=tuple(parts)))
    return out, notes.lines()


def arranged(items: Sequence[Item]) -> list[Item]:
    """Of every answer first its words, then its calls, then their results in that order, then what is told of others: each agent's order.

    What stands together so is one answer from here on (`step`).
    """
    out: list[Item] = []
    step = 0
    said: list[Item] = []
    came: list[Item] = []

    def close() -> None:
        nonlocal step
        step += 1
        calls = {call: n for n, call in enumerate(call for item in said for call in item.calls)}
        spoken = [piece for item in said for piece in _words_and_calls(item)]
        out.extend(replace(item, step=step) for item in sorted(spoken, key=lambda item: bool(item.calls)))
        came.sort(key=lambda item: min((calls.get(call, -1) for call in item.results), default=len(calls)))
        out.extend(replace(item, step=step if item.results else None) for item in came)
        said.clear()
        came.clear()

    for item in items:
        if item.role is Role.ASSISTANT:
            if came:
                close()
            said.append(item)
        elif said and (item.results or item.label == TOLD):
            came.append(item)
        else:
            close()
            out.append(replace(item, step=None))
    close()
    return out


def _words_and_calls(item: Item) -> list[Item]:
    """An item of an answer with its calls apart: a call that is told in words stands among its words, also beside one that is carried."""
    calls = tuple(part for part in item.parts if part.kind is PartKind.TOOL_CALL)
    words = tuple(part for part in item.parts if part.kind is not PartKind.TOOL_CALL)
    return [replace(item, parts=parts) for parts in (words, calls)] if calls and words else [item]


def _answer(part: Part, waiting: list[str], notes: Notes) -> Part:
    if waiting:
        return replace(part, call_id=waiting.pop(0))
    notes.add("a result that was recorded without its call stands as words")
    return Part(PartKind.TEXT, part.text, role=Role.USER)


@dataclass(slots=True)
class _Crossing:
    source: str
    target: str
    notes: Notes = field(default_factory=Notes)
    _told: dict[str, str] = field(default_factory=dict)  # calls told in words, each with its tool
    _tools: dict[str, str] = field(default_factory=dict)  # calls carried over, each with its tool there
    _ids: dict[str, str] = field(default_factory=dict)

    def item(self, item: Item) -> Iterator[Item]:
        """What of an item is carried over: runs of parts of one role."""
        if item.role in (Role.SYSTEM, Role.DEVELOPER) and self.target not in ANY_TOOL:
            self.notes.add("words of the other agent's harness (role system or developer) left out")
            return
        if item.text.strip() == _FRAMES.get(self.source):
            return  # the other agent's own words around its summaries
        if is_summary(item) and item.role is Role.ASSISTANT:
            said = tuple(
                Part(PartKind.TEXT, part.text) for part in item.parts if part.kind is PartKind.TEXT and part.text
            )
            if said:
                yield replace(item, role=Role.USER, parts=said, step=None, masked=False)
            return
        run: list[Part] = []
        role = item.role
        for part in item.parts:
            new = self._part(part)
            if new is None:
                continue
            own = new.role or _role(new, item)
            if run and own is not role:
                yield self._of(item, role, run)
                run = []
            role = own
            run.append(replace(new, role=None))
        if run:
            yield self._of(item, role, run)

    def answered(self, items: Sequence[Item]) -> list[Item]:
        """With a result for every call, which most agents and providers insist on."""
        results = {result for item in items for result in item.results}
        out: list[Item] = []
        for item in items:
            out.append(item)
            for part in item.parts:
                if part.kind is PartKind.TOOL_CALL and part.call_id not in results:
                    self.notes.add("a call without a result got one that says so")
                    words = Part(
                        PartKind.TOOL_RESULT, "[no result was recorded]", part.tool, part.call_id, is_error=True
                    )
                    out.append(
                        replace(item, key=f"{item.key}-none", role=Role.TOOL, kind=Kind.TOOL_RESULT, parts=(words,))
                    )
        return out

    def _of(self, item: Item, role: Role | None, parts: Sequence[Part]) -> Item:
        kind, label = item.kind, item.label
        if role is Role.USER and item.role is not Role.USER:
            kind, label = Kind.CONTEXT, TOLD if item.results else label
        if role is Role.ASSISTANT and kind is Kind.TOOL_CALL and all(p.kind is PartKind.TEXT for p in parts):
            kind = Kind.MESSAGE
        return replace(item, role=role, parts=tuple(parts), kind=kind, label=label, masked=False)

    def _part(self, part: Part) -> Part | None:
        match part.kind:
            case PartKind.TEXT:
                return Part(PartKind.TEXT, part.text, role=part.role) if part.text.strip() else None
            case PartKind.REASONING:
                self.notes.add("reasoning left out: it is of another agent's model")
                return None
            case PartKind.TOOL_CALL:
                return self._call(part)
            case PartKind.TOOL_RESULT:
                return self._result(part)
            case PartKind.MEDIA:
                self.notes.add("an image or document left out: named in words")
                words = f"[{part.media_type or 'media'} that is not carried over]"
                return Part(PartKind.TEXT, words, role=Role.USER if part.call_id else part.role)
            case PartKind.OTHER:
                return Part(PartKind.TEXT, part.text, role=part.role) if part.text.strip() else None
            case _:
                if part.signed:
                    self.notes.add("a summary that only the provider can read left out")
                return None

    def _call(self, part: Part) -> Part:
        found = carried(part.tool, part.text, self.source, self.target)
        call = part.call_id or ""
        if found is None:
            self.notes.add(
                f"calls of {part.tool or 'a tool'} told in words: {_NAMES.get(self.target, self.target)} has no equal"
            )
            self._told[call] = part.tool or "a tool"
            return Part(PartKind.TEXT, f"[Called {part.tool or 'a tool'} with {part.text}]", role=Role.ASSISTANT)
        tool, arguments = found
        self._tools[call] = tool
        return Part(PartKind.TOOL_CALL, arguments, tool=tool, call_id=self._id(call) if call else None)

    def _result(self, part: Part) -> Part:
        call = part.call_id or ""
        if call in self._told:
            failed = " failed" if part.is_error else ""
            return Part(PartKind.TEXT, f"[{self._told[call]}{failed}: {part.text}]", role=Role.USER)
        own = self._id(call) if call else None
        tool = self._tools.get(call, part.tool)
        return Part(PartKind.TOOL_RESULT, part.text, tool=tool, call_id=own, is_error=part.is_error)

    def _id(self, call: str) -> str:
        """A call's id in letters that every provider takes; two of them stay two."""
        if call not in self._ids:
            own = call if _ID.fullmatch(call) else re.sub(r"[^A-Za-z0-9_-]", "_", call)[:48] or "call"
            taken = set(self._ids.values())
            n = 2
            fit = own
            while fit in taken:
                fit, n = f"{own}_{n}", n + 1
            self._ids[call] = fit
        return self._ids[call]


def _role(part: Part, item: Item) -> Role:
    if part.kind is PartKind.TOOL_CALL:
        return Role.ASSISTANT
    if part.kind is PartKind.TOOL_RESULT:
        return Role.TOOL
    if item.role is None or item.role is Role.TOOL:
        return Role.USER
    return item.role
