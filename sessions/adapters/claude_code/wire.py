"""A context as Claude Code sends it: answers whole, results behind their calls, reminders in their places, gaps mended.

Observed on version 2.1.332 as it resumes sessions of every era. Between two answers stands one message of the user and, after it, one
of the system; what is kept as separate items here is joined there (texts by a line end, reminders by an empty line).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sessions.adapters.claude_code.attachments import NOTICE, QUEUED, REMINDER
from sessions.contexts import InsertKind, Item
from sessions.entries import Kind, Part, PartKind, Role

INTERRUPTED = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. "
    "Check whether it took effect before relying on it or running it again.]"
)
MISSING = "[Tool result missing due to internal error]"
ORPHAN = "[Orphaned tool result removed due to conversation resume]"
_OPENS, _CLOSES = REMINDER.split("{}")


def as_sent(items: Sequence[Item]) -> list[Item]:
    """See `Adapter.wire`."""
    cleaned = [item for item in map(_cleaned, items) if item is not None]
    return _arranged(_paired(_answered(cleaned)))


def _cleaned(item: Item) -> Item | None:
    """Without what is never sent: unsigned reasoning, blank text, marks."""
    parts = tuple(part for part in item.parts if _is_sent(part, item.role))
    if not parts:
        return None
    return item if len(parts) == len(item.parts) else replace(item, parts=parts)


def _is_sent(part: Part, role: Role | None) -> bool:
    match part.kind:
        case PartKind.REASONING:
            return part.signed
        case PartKind.TEXT:
            return not part.text.isspace() and part.text != ""
        case PartKind.MARKER:
            return False
        case PartKind.OTHER:
            return not (role is Role.ASSISTANT and part.meta.get("type") == "fallback")
        case _:
            return True


# -- calls and results ------------------------------------------------------------------------------------------------


def _answered(items: Sequence[Item]) -> list[Item]:
    """Without answers' records all of whose calls have no result, unless the conversation ends there."""
    results = {call for item in items for call in item.results}
    if all(call in results for item in items for call in item.calls):
        return list(items)
    ending = _ending(items)
    return [
        item
        for item in items
        if not item.calls or any(call in results for call in item.calls) or _same_answer(item, ending)
    ]


def _ending(items: Sequence[Item]) -> Item | None:
    """The answer with which the conversation ends: nothing follows but its results and what the harness attached."""
    for item in reversed(items):
        if item.role is Role.ASSISTANT:
            return item
        if not (item.results or _attached(item) or any(part.meta.get("local") for part in item.parts)):
            return None
    return None


def _same_answer(item: Item, other: Item | None) -> bool:
    return other is not None and (item is other or (item.step is not None and item.step == other.step))


def _paired(items: Sequence[Item]) -> list[Item]:
    """Every answer's records together, its calls last, its results right behind in the order in which they came; orphans dropped."""
    answers: dict[str, tuple[int, Item]] = {}
    steps: dict[int, list[Item]] = {}
    for at, item in enumerate(items):
        if item.step is not None and item.role is Role.ASSISTANT:
            steps.setdefault(item.step, []).append(item)
        for answered in item.results:
            answers.setdefault(answered, (at, item))
    called = {call for item in items for call in item.calls}
    ending = _ending(items)
    out: list[Item] = []
    done: set[int] = set()
    placed: set[str] = set()
    beside: dict[int, Item] = {}  # a person's words that stood beside a result, where other results come after them
    for here, item in enumerate(items):
        if id(item) in done:
            if id(item) in beside:
                out.append(beside.pop(id(item)))
            continue
        if item.results:
            if placed.issuperset(item.results) or called.isdisjoint(item.results):
                _orphan(item, placed, out)
            continue  # else its call comes later, and takes it along
        block = steps[item.step] if item.step is not None and item.role is Role.ASSISTANT else [item]
        done.update(id(member) for member in block)
        out.extend(_calls_last(block))
        found: list[tuple[int, Item]] = []
        for member in block:
            for part in member.parts:
                call = part.call_id
                if part.kind is not PartKind.TOOL_CALL or call is None or call in placed:
                    continue
                placed.add(call)
                known = answers.get(call)
                if known is None:
                    ends = _same_answer(member, ending)
                    found.append(
                        (len(items), _mended(member, part, INTERRUPTED))
                        if ends
                        else (-1, _mended(member, part, MISSING))
                    )
                elif id(known[1]) not in done:
                    done.add(id(known[1]))
                    found.append(known)
        found.sort(key=lambda pair: pair[0])
        for at, answer in found:
            words = _words_beside(answer) if len(found) > 1 and at > here else ()
            if words:
                beside[id(answer)] = replace(
                    answer, key=f"{answer.key}:words", role=Role.USER, kind=Kind.PROMPT, parts=words
                )
                out.append(replace(answer, parts=tuple(part for part in answer.parts if part not in words)))
            else:
                out.append(answer)
    return out


def _calls_last(block: Sequence[Item]) -> Iterable[Item]:
    """Within one answer the agent puts the calls behind everything else."""
    if len(block) == 1 and not block[0].calls:
        return block
    mixed = [item for item in block if item.calls and len(item.calls) < len(item.parts)]
    if mixed:
        block = [_parts_sorted(item) if item in mixed else item for item in block]
    return sorted(block, key=lambda item: bool(item.calls))


def _parts_sorted(item: Item) -> Item:
    return replace(item, parts=tuple(sorted(item.parts, key=lambda part: part.kind is PartKind.TOOL_CALL)))


def _words_beside(item: Item) -> tuple[Part, ...]:
    return tuple(part for part in item.parts if part.kind is PartKind.TEXT)


def _orphan(item: Item, placed: set[str], out: list[Item]) -> None:
    """A result whose call is not there, or was answered already, is dropped; a person's words beside it stay."""
    if any(call in placed for call in item.results):
        return
    rest = _words_beside(item)
    if not rest and not out:
        rest = (Part(PartKind.TEXT, ORPHAN),)  # the conversation must begin with the user
    if rest:
        out.append(replace(item, parts=rest, role=Role.USER, kind=Kind.CONTEXT))


def _mended(call: Item, part: Part, text: str) -> Item:
    """The agent's words for a result that never came."""
    result = Part(PartKind.TOOL_RESULT, text, tool=part.tool, call_id=part.call_id, is_error=True)
    return Item(
        key=f"{call.key}:{part.call_id}",
        seq=None,
        role=Role.TOOL,
        kind=InsertKind.NOTICE,
        parts=(result,),
        turn=call.turn,
        after=call.seq,
        label="the agent's words for a call without result",
    )


# -- what stands between two answers ----------------------------------------------------------------------------------


def _arranged(items: Sequence[Item]) -> list[Item]:
    out: list[Item] = []
    between: list[Item] = []
    for item in items:
        if item.role is Role.ASSISTANT:
            out.extend(_between(between, begins=not out))
            between = []
            out.append(item)
        else:
            between.append(item)
    out.extend(_between(between, begins=not out))
    return out


def _between(items: Sequence[Item], *, begins: bool) -> list[Item]:
    """Results, then the harness's reminders of role user, then the person's words, then the reminders of role system.

    Behind results a user's reminder becomes part of the last one's text. A conversation cannot begin with the system.
    """
    if not any(_attached(item) or any(part.meta.get("notice") for part in item.parts) for item in items):
        return list(items)
    results: list[Item] = []
    reminders: list[Item] = []
    words: list[Item] = []
    system: list[Item] = []
    for item in map(_wrapped, items):
        if item.results:
            results.append(item)
        elif item.role is Role.SYSTEM:
            system.append(item)
        elif _attached(item):
            reminders.append(item)
        else:
            words.append(item)
    if results and reminders and all(_only_reminds(item) for item in reminders):
        results[-1] = _with_reminders(results[-1], reminders)
        reminders = []
    if begins and not (results or reminders or words):
        return [replace(item, role=Role.USER) for item in system]
    return [*results, *reminders, *words, *map(_untagged, system)]


def _attached(item: Item) -> bool:
    return any("attachment" in part.meta for part in item.parts)


def _only_reminds(item: Item) -> bool:
    return all(part.kind is PartKind.TEXT and part.text.startswith("<system-reminder>") for part in item.parts)


def _wrapped(item: Item) -> Item:
    """Queued words and notices in the agent's wrapping. Queued words go with the system's reminders, unless media come with them."""
    queued = any(part.meta.get("queued") for part in item.parts)
    notice = any(part.meta.get("notice") for part in item.parts)
    if not queued and not notice:
        return item
    form = REMINDER.format(NOTICE if notice else QUEUED)
    parts = tuple(
        replace(part, text=form.format(part.text)) if part.kind is PartKind.TEXT else part for part in item.parts
    )
    plain = all(part.kind is PartKind.TEXT for part in parts)
    return replace(item, parts=parts, role=Role.SYSTEM if queued and plain else item.role)


def _with_reminders(result: Item, reminders: Iterable[Item]) -> Item:
    text = "".join(f"\n\n{part.text}" for item in reminders for part in item.parts)
    at = max(n for n, part in enumerate(result.parts) if part.kind is PartKind.TOOL_RESULT)
    parts = list(result.parts)
    parts[at] = replace(parts[at], text=parts[at].text + text)
    return replace(result, parts=tuple(parts))


def _untagged(item: Item) -> Item:
    """A message of the system says its reminders without the tags around them."""
    parts = tuple(
        replace(part, text=part.text.removeprefix(_OPENS).removesuffix(_CLOSES)) if part.kind is PartKind.TEXT else part
        for part in item.parts
    )
    return replace(item, parts=parts)
