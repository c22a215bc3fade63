"""What a context establishes: requests, files, errors and their fixes, commands, the plan, decisions, dropped approaches.

One pass over the events gives all of it; summariser and retention report read the same findings, so that what is reported lost is what
could have been written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from compaction.patches import parse_patch
from compaction.summary.events import Event, Voice
from compaction.tools import Call, Output, ToolKind, error_lines, one_line, signature


@dataclass(slots=True)
class Message:
    """A person's message, in their words. `instruction`: it reads as a rule (never, must, 不要 …)."""

    n: int
    seqs: tuple[int, ...]
    text: str
    instruction: bool


@dataclass(slots=True)
class FileUse:
    """What was done to one file. `news`: the texts that edits put in, in order; `last_new`: the last of them."""

    path: str
    edits: int = 0
    writes: int = 0
    reads: int = 0
    first: int = 0
    last: int = 0  # number of the last event that touched it
    seqs: list[int] = field(default_factory=list)
    news: list[str] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return self.edits + self.writes > 0

    @property
    def last_new(self) -> str:
        return self.news[-1] if self.news else ""

    @property
    def defined(self) -> list[str]:
        """Symbols that the new texts define, the last defined last."""
        return self.defined_lately(None)

    def defined_lately(self, most: int | None) -> list[str]:
        """The last `most` of them; no more texts are read than it takes."""
        found: dict[str, None] = {}
        for text in reversed(self.news):
            for name in reversed(DEFINES.findall(text[:60_000])):
                if len(found) == most:
                    return [*found][::-1]
                found.setdefault(name)
        return [*found][::-1]


@dataclass(slots=True)
class Failure:
    """Something that failed. `solved`: the event at which the same thing succeeded later; `fixes`: files edited in between."""

    n: int
    seqs: tuple[int, ...]
    what: str  # the command, or tool and path
    lines: list[str]
    sign: str
    key: str
    exit_code: int | None = None
    is_command: bool = False
    times: int = 1
    solved: int | None = None
    fixes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Command:
    """A distinct shell command and how it ended last."""

    text: str
    n: int
    seqs: tuple[int, ...]
    failed: bool
    exit_code: int | None
    times: int = 1
    failures: int = 0


@dataclass(slots=True)
class Todo:
    text: str
    status: str  # pending, in_progress, completed, cancelled
    seqs: tuple[int, ...]
    n: int = 0

    @property
    def open(self) -> bool:
        return self.status in ("pending", "in_progress")


@dataclass(slots=True)
class Remark:
    """A sentence worth keeping: a decision or its cause, or a dropped approach."""

    n: int
    seqs: tuple[int, ...]
    text: str


@dataclass(slots=True)
class Findings:
    messages: list[Message] = field(default_factory=list)
    files: dict[str, FileUse] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    commands: dict[str, Command] = field(default_factory=dict)
    todos: list[Todo] = field(default_factory=list)
    decisions: list[Remark] = field(default_factory=list)
    decided: dict[str, list[str]] = field(default_factory=dict)  # by what the assistant said, all of it
    dropped: list[Remark] = field(default_factory=list)


_INSTRUCTION = re.compile(
    r"\b(?:never|must(?:n't)?|only|don'?t|do not|always|make sure|ensure|avoid|should(?:n't)?|without|instead of|no longer|required?|"
    r"keep|important|prefer|stop|rule)\b|不要|必须|只能|务必|不能|别|禁止|应该|一定|确保|始终|永远",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:root cause|because|instead of|decided?|decision|turns out|the (?:problem|issue|reason|fix) (?:is|was)|doesn'?t work|does not work|"
    r"didn'?t work|reverted|rather than|trade-?off|so that|caused by|due to|won'?t|chose|switch(?:ed|ing)? to|the key)\b"
    r"|因为|原因|决定|改用|所以|问题是|由于|根因|而不是",
    re.IGNORECASE,
)
# Parts of the words above, one of which is in every text that they match: plain search is much faster than the patterns.
_INSTRUCTION_HINTS = (
    *(
        "never",
        "must",
        "only",
        "don",
        "do not",
        "always",
        "make sure",
        "ensure",
        "avoid",
        "should",
        "without",
        "instead of",
    ),
    *("no longer", "require", "keep", "important", "prefer", "stop", "rule"),
    *("不要", "必须", "只能", "务必", "不能", "别", "禁止", "应该", "一定", "确保", "始终", "永远"),
)
_DECISION_HINTS = (
    *(
        "root cause",
        "because",
        "instead of",
        "deci",
        "turns out",
        "the problem",
        "the issue",
        "the reason",
        "the fix",
        "the key",
        "work",
        "reverted",
        "rather than",
        "trade",
        "so that",
    ),
    *("caused by", "due to", "won", "chose", "switch"),
    *("因为", "原因", "决定", "改用", "所以", "问题是", "由于", "根因", "而不是"),
)
_TURNING = re.compile(
    r"\s*(?:no\b|nope|stop\b|revert|undo\b|instead\b|wrong\b|don'?t\b|not what|不对|换|不是|停|撤销|别)", re.IGNORECASE
)
_TAKEN_BACK = re.compile(
    r"\bgit\s+(?:checkout\s+(?:--|HEAD|\S+\s+--)|checkout\s+\.|restore\b|reset\s+--hard|stash(?:\s+(?:push|save|-u))?\s*(?:$|[;&|])|revert\b)"
)
_ENDS = re.compile(r"[.!?。！？\n](?:(?<=[.!?])\s+|(?<=[。！？])|(?<=\n)\n*)")
DEFINES = re.compile(
    r"^\s*(?:export\s+|pub(?:\([^)]*\))?\s+|async\s+|static\s+|abstract\s+|default\s+|public\s+|private\s+|protected\s+)*"
    r"(?:def|class|func(?:tion)?|fn|struct|enum|trait|interface|type|impl|module|const|macro_rules!|CREATE TABLE)\s+"
    r"(?:\([^)\n]{0,80}\)\s*)?([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_STATUS = {
    "complete": "completed",
    "done": "completed",
    "canceled": "cancelled",
    "abandoned": "cancelled",
    "deleted": "cancelled",
}
_TASK_ID = re.compile(r"[Tt]ask #?(\w+)")
_REFUSED = re.compile(
    r"\s*(?:<tool_use_error>)?(?:\[Request interrupted|The user doesn'?t want to|Cancelled: |The user (?:rejected|declined|denied|cancel+ed)|"
    r"User (?:rejected|declined|denied|cancel+ed)|\[?(?:Operation|Tool (?:call|execution)|Command)? ?(?:was )?(?:aborted|cancel+ed) by (?:the )?user|"
    r"aborted\Z|Tool execution aborted|interrupted\Z|The agent was interrupted|Sibling tool call errored|File has (?:not been read yet|been modified since read)|unsupported call: )",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r"(?:ls|cat|head|tail|wc|stat|file|tree|find|fd|grep|egrep|rg|ag|which|type|command|test|\[|pwd|echo|printf|sed\s+-n|jq|diff|du|ps|pgrep|"
    r"git\s+(?:-C\s+\S+\s+)?(?:cat-file|show|log|diff|status|rev-parse|ls-files|ls-tree|ls-remote|grep|blame|stash\s+list|"
    r"merge-base|describe|for-each-ref|show-ref|check-ignore|"
    r"config\s+(?:--(?:get|list|local|global|system)\S*\s+)*[\w.-]+(?=\s*(?:2>\S+\s*)?\Z)))(?![\w./-])"
)
_DOING = (ToolKind.RUN, ToolKind.EDIT, ToolKind.WRITE, ToolKind.PATCH)
_WRITES = re.compile(r"(?<![0-9&])>(?!\s*/dev/null|&)")
_SAYS_NO = re.compile(
    r"\s*(?:The user (?:doesn|rejected|declined|denied)|User (?:rejected|declined|denied))", re.IGNORECASE
)
_FIRST = re.compile(
    r"(?:\s*(?:cd\s+\S+|export\s+\S+|set\s+-\S+)\s*(?:&&|;)|\s*\w+=\S*\s|\s*(?:sudo|time|env|timeout\s+\S+)\s)*\s*"
)
_PIPES = re.compile(r"\s*(?:2>&1|\|\s*(?:tail|head)\b[^|;&]*)\s*")


def was_refused(text: str) -> bool:
    """Whether an output says that its call was never made, by a person's will or the harness's: nothing failed then."""
    return _REFUSED.match(text) is not None


def only_looks(command: str) -> bool:
    """Whether a command only looks something up: where it ends badly there was nothing to see, and nothing is to be mended."""
    if _WRITES.search(command) is not None:
        return False
    for one in re.split(r"&&|\|\||[;|\n]", command[_start(command) :]):
        if one.strip() and _LOOKS.match(one, _start(one)) is None:
            return False
    return True


def _start(command: str) -> int:
    found = _FIRST.match(command)
    return 0 if found is None else found.end()


_MARK = re.compile(r"^(?:[-*•>]\s+|#{1,6}\s+|\d+[.)]\s+)+")


def unmarked(sentence: str) -> str:
    """A sentence without the list or heading mark before it, and without emphasis that begins or ends outside of it."""
    text = _MARK.sub("", sentence.strip())
    return text.replace("**", "") if text.count("**") % 2 else text


def is_instruction(text: str) -> bool:
    return _hinted(text.lower(), _INSTRUCTION_HINTS) and _INSTRUCTION.search(text) is not None


def _hinted(low: str, hints: Sequence[str]) -> bool:
    for hint in hints:  # noqa: SIM110 -- asked of every message: without a generator
        if hint in low:
            return True
    return False


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, as they stand there, empty ones among them."""
    start = 0
    for end in _ENDS.finditer(
        text
    ):  # it begins with one of few characters: many times as fast as a look behind every one
        first = end.start()
        yield text[start:first] if text[first] == "\n" else text[start : first + 1]
        start = end.end()
    yield text[start:]


def decided(text: str) -> list[str]:
    """The sentences that say what was decided, or why."""
    if not _hinted(text.lower(), _DECISION_HINTS) or _DECISION.search(text) is None:
        return []
    found = []
    for raw in sentences(text):
        sentence = unmarked(raw)
        long_enough = len(sentence) * (2 if not sentence.isascii() else 1) >= 30
        if long_enough and len(sentence) <= 400 and _DECISION.search(sentence):
            found.append(sentence)
    return found


def find(events: Sequence[Event]) -> Findings:
    """All findings of these events, each in order of time."""
    return _Finder().run(events)


class _Finder:
    """The state of the pass: what failed and is not solved yet, edits so far, the plan."""

    def __init__(self) -> None:
        self.found = Findings()
        self.pending: dict[str, list[Failure]] = {}
        self.edited: list[tuple[int, str]] = []
        self.olds: dict[str, set[tuple[str, str]]] = {}
        self.tasks: dict[str, Todo] = {}
        self.plan: list[Todo] = []
        self.task_calls: dict[str, Todo] = {}

    def run(self, events: Sequence[Event]) -> Findings:
        found = self.found
        for event in events:
            if event.voice is Voice.USER:
                found.messages.append(Message(event.n, event.seqs, event.text, is_instruction(event.text)))
                if _TURNING.match(event.text):
                    found.dropped.append(Remark(event.n, event.seqs, one_line(event.text, 300)))
            elif event.voice is Voice.ASSISTANT:
                self._remarks(event)
            elif event.voice is Voice.CALL and event.call is not None:
                self._call(event, event.call)
            elif event.voice is Voice.RESULT and event.call is not None:
                self._result(event, event.call)
        found.todos = [*self.plan, *self.tasks.values()]
        for todo in found.todos:
            if todo.status == "cancelled":
                found.dropped.append(Remark(todo.n, todo.seqs, f"dropped from the plan: {todo.text}"))
        for command in found.commands.values():
            if command.failures >= 2 and command.failures == command.times:
                text = f"failed {command.times} times and was given up: {one_line(command.text, 160)}"
                found.dropped.append(Remark(command.n, command.seqs, text))
        found.dropped.sort(key=lambda remark: remark.n)
        return found

    def _remarks(self, event: Event) -> None:
        found = self.found.decided[event.text] = decided(event.text)
        self.found.decisions.extend([Remark(event.n, event.seqs, sentence) for sentence in found])

    def _call(self, event: Event, call: Call) -> None:
        kind = call.kind
        if kind is ToolKind.PLAN:
            self._plan(event, call)
        elif kind is ToolKind.RUN and call.command and _TAKEN_BACK.search(call.command) and self.edited:
            self.found.dropped.append(Remark(event.n, event.seqs, f"taken back with: {one_line(call.command, 160)}"))

    def _result(self, event: Event, call: Call) -> None:
        kind, output = call.kind, event.output
        assert output is not None
        seqs = event.seqs if call.seq is None else (call.seq, *event.seqs)
        if output.failed or self.pending or kind is ToolKind.RUN:
            self._outcome(event, call, output, seqs)
        if not output.failed:
            self._done(event, call, seqs)

    def _outcome(self, event: Event, call: Call, output: Output, seqs: tuple[int, ...]) -> None:
        """What a result says of this and earlier calls of the same: it failed, or what failed before passes now."""
        kind = call.kind
        what = call.argument if kind in (ToolKind.RUN, ToolKind.PATCH) else f"{call.tool} {call.argument}".strip()
        if output.failed and was_refused(output.text):
            if kind in _DOING and what and _SAYS_NO.match(output.text):
                self.found.dropped.append(Remark(event.n, seqs, f"refused by the user: {one_line(what, 160)}"))
            return
        piped = kind is ToolKind.RUN and ("|" in what or "2>&1" in what)
        key = " ".join(_PIPES.sub(" ", what).split()) if piped else what
        if kind is ToolKind.RUN and key:
            self._command(event, key, what, seqs)
        if output.failed:
            if kind not in (ToolKind.SEARCH, ToolKind.PLAN) and not (kind is ToolKind.RUN and only_looks(what)):
                self._failure(event, key, what, seqs, is_command=kind is ToolKind.RUN)
            return
        for failure in self.pending.pop(key, ()):
            failure.solved = event.n
            since = bisect_right(self.edited, (failure.n, "\U0010ffff"))
            failure.fixes = list(dict.fromkeys(path for _, path in self.edited[since : since + 60]))[:6]

    def _done(self, event: Event, call: Call, seqs: tuple[int, ...]) -> None:
        """What a call that passed did: a task named, a file read or changed."""
        kind = call.kind
        if kind is ToolKind.PLAN and call.call_id in self.task_calls:
            todo = self.task_calls.pop(call.call_id)
            if match := _TASK_ID.search(event.text):
                self.tasks[match[1]] = todo
        elif kind is ToolKind.READ and call.path:
            self._file(call.path, event, seqs).reads += 1
        elif kind in (ToolKind.EDIT, ToolKind.WRITE, ToolKind.PATCH):
            self._edit(event, call, seqs)

    def _command(self, event: Event, key: str, what: str, seqs: tuple[int, ...]) -> None:
        output = event.output
        assert output is not None
        old = self.found.commands.pop(key, None)  # set anew, so that the table is in order of last use
        times, failures = (old.times, old.failures) if old else (0, 0)
        self.found.commands[key] = Command(
            what, event.n, seqs, output.failed, output.exit_code, times + 1, failures + output.failed
        )

    def _failure(self, event: Event, key: str, what: str, seqs: tuple[int, ...], *, is_command: bool) -> None:
        lines = error_lines(event.text)
        sign = signature(lines[0]) if lines else ""
        waiting = self.pending.setdefault(key, [])
        for known in waiting:
            if known.sign == sign:
                known.times += 1
                return
        output = event.output
        failure = Failure(event.n, seqs, what, lines, sign, key, output.exit_code if output else None, is_command)
        waiting.append(failure)
        self.found.failures.append(failure)

    def _file(self, path: str, event: Event, seqs: tuple[int, ...]) -> FileUse:
        use = self.found.files.get(path)
        if use is None:
            use = self.found.files[path] = FileUse(path, first=event.n)
        use.last = event.n
        if len(use.seqs) < 40:
            use.seqs.extend(seqs)
        else:
            use.seqs[-len(seqs) :] = seqs
        return use

    def _edit(self, event: Event, call: Call, seqs: tuple[int, ...]) -> None:
        for path, old, new, whole in edits_of(call):
            use = self._file(path, event, seqs)
            if whole:
                use.writes += 1
            else:
                use.edits += 1
            self.edited.append((event.n, path))
            use.news.append(new)
            if old.strip() and not whole:
                pairs = self.olds.setdefault(path, set())
                if (new, old) in pairs:
                    text = f"reverted in {path}: {one_line(old, 160)}"
                    self.found.dropped.append(Remark(event.n, seqs, text))
                pairs.add((old, new))

    def _plan(self, event: Event, call: Call) -> None:
        args = call.args or {}
        name = call.tool.lower()
        if name == "taskcreate":
            text = str(args.get("subject") or args.get("description") or "")
            if text and call.call_id:
                todo = Todo(text, "pending", event.seqs, event.n)
                self.task_calls[call.call_id] = todo
                self.tasks[str(len(self.tasks) + 1)] = todo
            return
        if name == "taskupdate":
            known = self.tasks.get(str(args.get("taskId") or args.get("task_id") or args.get("id") or ""))
            if known is not None:
                if isinstance(args.get("status"), str):
                    known.status = _status(args["status"])
                if isinstance(args.get("subject"), str):
                    known.text = args["subject"]
                known.seqs, known.n = (*known.seqs[:1], *event.seqs), event.n
            return
        items = next((args[key] for key in ("todos", "plan", "items") if isinstance(args.get(key), list)), None)
        if items is None:
            return
        plan = []
        for item in items:
            if isinstance(item, dict):
                text = next(
                    (str(item[k]) for k in ("content", "step", "description", "text", "title", "task") if item.get(k)),
                    "",
                )
                if text:
                    plan.append(Todo(text, _status(str(item.get("status") or "pending")), event.seqs, event.n))
        gone = {todo.text for todo in plan}
        for todo in self.plan:
            if todo.open and todo.text not in gone and not plan:
                self.found.dropped.append(Remark(event.n, event.seqs, f"dropped from the plan: {todo.text}"))
        self.plan = plan


def _status(raw: str) -> str:
    word = raw.strip().lower().replace("-", "_").replace(" ", "_")
    return _STATUS.get(word, word)


def edits_of(call: Call) -> Iterable[tuple[str, str, str, bool]]:
    """What a change call does: (path, old text, new text, is it the whole file) for each place."""
    args = call.args or {}
    if call.kind is ToolKind.PATCH:
        for change in parse_patch(call.patch or call.raw):
            if change.op == "add":
                yield change.moved_to or change.path, "", change.text, True
            elif change.op == "update":
                for hunk in change.hunks:
                    yield change.moved_to or change.path, "\n".join(hunk.old), "\n".join(hunk.new), False
        return
    if not call.path:
        return
    if call.kind is ToolKind.WRITE:
        yield call.path, "", _text(args, "content", "file_text", "text"), True
        return
    many = args.get("edits")
    for one in many if isinstance(many, list) else [args]:
        if isinstance(one, dict):
            new = _text(one, "new_string", "new_str", "newText", "new_source", "insert_text")
            yield call.path, _text(one, "old_string", "old_str", "oldText"), new, False


def _text(args: dict[str, object], *names: str) -> str:
    """The first of the arguments that is a text."""
    for name in names:
        value = args.get(name)
        if isinstance(value, str):
            return value
    return ""
