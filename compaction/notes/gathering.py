"""What new entries add to a session's memory: lines for each section, each with what it is about and the entries it comes from. Pure.

No line paraphrases: it is a person's or the assistant's own sentence, cut, or a figure counted from calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compaction.notes.sections import (
    CODEBASE,
    ERRORS,
    FILES,
    LEARNINGS,
    RESULTS,
    STATE,
    TASK,
    TITLE,
    TITLES,
    WORKFLOW,
    WORKLOG,
    Line,
    Notes,
    uncounted,
)
from compaction.summary.events import Event, Voice, is_edit
from compaction.summary.facts import Failure, Findings, edits_of, find, unmarked
from compaction.summary.items import IDENT, PATH, terms
from compaction.tools import ToolKind, one_line

_WORDS, _LONG = 300, 500
_NAMED = 6  # files that one line of the worklog names
_DEFINED = 8  # symbols that one line of a file names
_SAYS_WHAT_IS = re.compile(
    r"\b(?:lives? in|(?:is |are )?defined in|handles?|stores?|implements?|contains?|consists? of|entry point|depends? on|responsible for|"
    r"is (?:the|a|an|where|called|used)|are (?:the|where|called|used)|comes? from|belongs? to)\b|负责|位于|定义在|用于|包含|实现了|入口",
    re.IGNORECASE,
)
_SAYS_WHAT_I_DO = re.compile(r"\s*(?:i\b|i'|let me|let's|now\b|next\b|first\b|we\b|我|让我|现在|接下来)", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_READ_FOR = 8_000  # characters of one message that are read for sentences
_DOCUMENT = re.compile(
    r"(?:\A|/)(?:README|CONTRIBUTING|ARCHITECTURE|DESIGN|CHANGELOG)[^/]*\Z|(?:\A|/)docs?/.+\.(?:md|rst|txt)\Z",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Gathered:
    """`lines`: by section, in order of time. `solved`: keys of what failed and has succeeded since. `open`: as in `Notes`."""

    lines: list[list[Line]] = field(default_factory=lambda: [[] for _ in TITLES])
    solved: dict[str, int] = field(default_factory=dict)
    open: Line | None = None

    def add(self, section: int, text: str, seqs: Sequence[int], key: str = "", weight: int = 1, **data: Any) -> None:
        if text.strip():
            # Ends and newest of the entries say where it comes from; a file touched a thousand times needs no thousand links.
            few = tuple(dict.fromkeys([*seqs[:2], *seqs[-4:]]))
            self.lines[section].append(Line(text.strip(), few, key, weight, data))


def gather(events: Sequence[Event], before: Notes, *, title: str = "") -> Gathered:
    """What these events add. `before`: the memory up to them, whose figures go on counting. `title`: the session's, where it has one."""
    out = Gathered(open=before.open)
    known = {line.key: line for line in before.lines if line.key}
    found = find(events)
    _title(out, found, known, title)
    _task(out, found, known)
    _files(out, found, known)
    _workflow(out, found, known)
    _errors(out, found, events, known)
    _codebase(out, found, events)
    _learnings(out, found)
    _worklog(out, events, known)
    _state(out, found, events)
    return out


def _title(out: Gathered, found: Findings, known: Mapping[str, Line], title: str) -> None:
    words = one_line(title, 160)
    if words:
        out.add(TITLE, words, (), "title", 9)
    elif "title" not in known and found.messages:
        out.add(TITLE, one_line(found.messages[0].text, 160), found.messages[0].seqs, "title", 9)


def _task(out: Gathered, found: Findings, known: Mapping[str, Line]) -> None:
    first = not any(key.startswith("asked:") for key in known)
    for at, message in enumerate(found.messages):
        weight = 4 if first and at == 0 else 3 if message.instruction else 1
        out.add(
            TASK,
            one_line(message.text, _LONG),
            message.seqs,
            f"asked:{message.seqs[0] if message.seqs else at}",
            weight,
        )


def _files(out: Gathered, found: Findings, known: Mapping[str, Line]) -> None:
    for use in sorted(found.files.values(), key=lambda use: use.last):
        key = f"file:{use.path}"
        old = known[key].data if key in known else {}
        counts = {
            "edited": use.edits + old.get("edited", 0),
            "written": use.writes + old.get("written", 0),
            "read": use.reads + old.get("read", 0),
        }
        defined = list(dict.fromkeys([*old.get("defined", ()), *use.defined]))[-_DEFINED:]
        text = f"{use.path} ({', '.join(f'{n}× {word}' for word, n in counts.items() if n)})"
        if defined:
            text += ": " + ", ".join(defined)
        seqs = (*(known[key].seqs if key in known else ()), *use.seqs)
        out.add(
            FILES,
            one_line(text, _LONG),
            seqs,
            key,
            2 if counts["edited"] + counts["written"] else 1,
            **counts,
            defined=defined,
        )


def _workflow(out: Gathered, found: Findings, known: Mapping[str, Line]) -> None:
    for name, command in found.commands.items():
        key = f"run:{name[:_WORDS]}"
        old = known[key].data if key in known else {}
        times, failures = command.times + old.get("times", 0), command.failures + old.get("failures", 0)
        ended = "failed" if command.failed else "passed"
        if command.exit_code is not None:
            ended = f"exit {command.exit_code}"
        many = f"; run {times} times" + (f", {failures} of them failed" if failures else "") if times > 1 else ""
        text = f"$ {one_line(command.text, _WORDS)} → {ended}{many}"
        out.add(WORKFLOW, text, command.seqs, key, 1 + (times > 1) + (times > 4), times=times, failures=failures)


def _errors(out: Gathered, found: Findings, events: Sequence[Event], known: Mapping[str, Line]) -> None:
    for failure in found.failures:
        key = f"fail:{failure.key[:_WORDS]}|{failure.sign[:120]}"
        old = known[key].data if key in known else {}
        times = failure.times + old.get("times", 0)
        out.add(
            ERRORS,
            _failed(failure, times),
            failure.seqs,
            key,
            1 if failure.solved is not None else 3,
            of=failure.key[:_WORDS],
            open=failure.solved is None,
            times=times,
        )
    for remark in found.dropped:
        out.add(
            ERRORS,
            f"tried and dropped, or corrected: {one_line(remark.text, _WORDS)}",
            remark.seqs,
            f"dropped:{remark.text[:_WORDS]}",
            3,
        )
    for name, command in found.commands.items():
        if not command.failed:
            out.solved[name[:_WORDS]] = command.seqs[-1] if command.seqs else -1
    for event in events:
        if (
            event.voice is Voice.RESULT
            and event.call is not None
            and not event.failed
            and event.call.kind is not ToolKind.RUN
        ):
            name = f"{event.call.tool} {event.call.argument}".strip()
            out.solved[name[:_WORDS]] = event.seqs[-1] if event.seqs else -1


def _failed(failure: Failure, times: int) -> str:
    code = f", exit {failure.exit_code}" if failure.exit_code else ""
    many = f", {times} times" if times > 1 else ""
    text = f"{one_line(failure.what, 160)}{code}{many}: {one_line(' / '.join(failure.lines), _WORDS)}"
    if failure.solved is None:
        return f"{text} → not seen to pass since"
    fixed = f"fixed by edits to {', '.join(failure.fixes)}" if failure.fixes else "passed later"
    return f"{text} → {one_line(fixed, _WORDS)}"


def _codebase(out: Gathered, found: Findings, events: Sequence[Event]) -> None:
    for use in found.files.values():
        if use.reads and _DOCUMENT.search(use.path):
            out.add(CODEBASE, f"documentation read: {one_line(use.path, _WORDS)}", use.seqs, f"document:{use.path}", 2)
    for event in events:
        if event.voice is not Voice.ASSISTANT or _SAYS_WHAT_IS.search(event.text) is None:
            continue
        for raw in _SENTENCE.split(event.text[:_READ_FOR]):
            sentence = unmarked(raw)
            says = (
                30 <= len(sentence) <= _WORDS and _SAYS_WHAT_IS.search(sentence) and not _SAYS_WHAT_I_DO.match(sentence)
            )
            if says and any(term[0] in (PATH, IDENT) for term in terms(sentence)):
                out.add(CODEBASE, one_line(sentence, _WORDS), event.seqs, f"is:{sentence}")


def _learnings(out: Gathered, found: Findings) -> None:
    for remark in found.decisions:
        if remark.text.endswith((":", "：")):
            continue  # what it announces stands on other lines
        out.add(LEARNINGS, one_line(remark.text, 400), remark.seqs, f"learned:{remark.text}")
    for todo in found.todos:
        if todo.status == "completed":
            out.add(RESULTS, f"done: {one_line(todo.text, _WORDS)}", todo.seqs, f"done:{todo.text[:_WORDS]}")


def _worklog(out: Gathered, events: Sequence[Event], known: Mapping[str, Line]) -> None:
    """A line for each turn: what was asked, how many calls, which files changed; and what the assistant said at its end, as a result."""
    turn = "" if out.open is None else out.open.key
    figures = {} if out.open is None else dict(out.open.data)
    seqs = [] if out.open is None else list(out.open.seqs)
    said = known.get("state:said") if figures else None
    last = (said.data["words"], said.seqs) if said is not None else None

    def close() -> None:
        if figures:
            # A turn in which nothing was done says little: its request stands in the specification.
            out.add(WORKLOG, _worked(figures), seqs, turn, 1 if figures["calls"] else 0, **figures)

    for event in events:
        if event.voice is Voice.USER:
            close()
            if last is not None and turn:
                out.add(RESULTS, last[0], last[1], f"result:{last[1][0] if last[1] else turn}", 2)
            turn, last, seqs = f"turn:{event.seqs[0] if event.seqs else event.n}", None, list(event.seqs)
            figures = _begun(one_line(event.text, 120))
            continue
        if not turn:
            turn, figures = "turn:-1", _begun("")
        if event.voice is Voice.ASSISTANT:
            last = _gist(event.text, _WORDS), event.seqs
        elif not figures:
            continue  # of a turn that nobody counted from its beginning no figure is known
        elif event.voice is Voice.CALL:
            figures["calls"] += 1
            seqs.extend(event.seqs)
        elif event.voice is Voice.RESULT:
            figures["failed"] += event.failed
            if not event.failed and is_edit(event) and event.call is not None:
                paths = [path for path, *_ in edits_of(event.call)]
                figures["files"] = list(dict.fromkeys([*figures["files"], *paths]))[-40:]
    close()
    if turn:
        out.open = out.lines[WORKLOG][-1] if figures else uncounted(turn)


def _begun(asked: str) -> dict[str, Any]:
    return {"asked": asked, "calls": 0, "failed": 0, "files": []}


def _worked(turn: Mapping[str, Any]) -> str:
    parts = [f"{turn['calls']} call{'' if turn['calls'] == 1 else 's'}"]
    if turn["failed"]:
        parts.append(f"{turn['failed']} failed")
    if turn["files"]:
        names = [path.rpartition("/")[2] for path in turn["files"]]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        parts.append(f"changed {', '.join(names[:_NAMED])}{more}")
    asked = f"“{turn['asked']}”" if turn["asked"] else "before the first request"
    return f"{asked}: {', '.join(parts)}"


def _state(out: Gathered, found: Findings, events: Sequence[Event]) -> None:
    """What is so now. Of each kind of state the newest word takes the place of all before it (`updating`)."""
    if found.messages:
        message = found.messages[-1]
        out.add(STATE, f"asked last: {one_line(message.text, _LONG)}", message.seqs, "state:asked", 5)
    for at, todo in enumerate([one for one in found.todos if one.open][:12]):
        word = "in progress" if todo.status == "in_progress" else "open"
        out.add(STATE, f"{word}: {one_line(todo.text, _WORDS)}", todo.seqs, f"state:todo:{at}", 4)
    if found.todos and not any(todo.open for todo in found.todos):
        out.add(STATE, "nothing of the plan is open", found.todos[-1].seqs, "state:todo:0", 4)
    last = next((event for event in reversed(events) if event.voice is Voice.ASSISTANT), None)
    if last is not None:
        words = _gist(last.text, _LONG)
        out.add(STATE, f"said last: {words}", last.seqs, "state:said", 5, words=_gist(last.text, _WORDS))


def _gist(text: str, most: int) -> str:
    """A message on one line without its blocks of code; with them where it has nothing else."""
    return one_line(_FENCED.sub(" ", text), most) or one_line(text, most)
