"""The candidate lines of an extractive summary: what each of the nine sections could say, and what it must not leave out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from compaction.plan import Count
from compaction.summary import concepts
from compaction.summary.events import Voice
from compaction.summary.facts import is_instruction, only_looks, sentences, unmarked
from compaction.summary.items import PATH, path_term, shown, terms
from compaction.summary.manifest import as_listed
from compaction.summary.survey import Survey
from compaction.summary.template import EARLIER, LISTED, TITLES, parse
from compaction.summary.wording import CLOSED, Wording, wording
from compaction.tools import ToolKind, clip, one_line

REQUEST, CONCEPTS, FILES, ERRORS, SOLVING, MESSAGES, TASKS, WORK, NEXT = range(9)

LARGE = 4_000  # tokens of room from which a person's messages are cut less
MOST = 1_500  # units of one section, newest first: beyond it none would be chosen anyway


@dataclass(slots=True)
class Unit:
    """One candidate line. `rank`: place among what must not be missing (lower first), None = optional. `order`: place in its section.

    `usage`: it stands for the names it uses and may be one of many. `file`: of a line of code, its file, which is named once for all its lines; `head`: it is the line that names it.
    """

    section: int
    order: float
    text: str
    seqs: tuple[int, ...]
    prior: float = 0.0
    rank: int | None = None
    bare: bool = False
    usage: bool = False
    file: str | None = None
    head: bool = False
    terms: frozenset[str] = frozenset()
    tokens: int = 0


@dataclass(slots=True)
class _Gatherer:
    survey: Survey
    folded: set[int]
    room: int
    count: Count
    listed: set[str]
    say: Wording
    units: list[Unit] = field(default_factory=list)

    def add(
        self,
        section: int,
        order: float,
        text: str,
        seqs: tuple[int, ...],
        prior: float = 0.0,
        rank: int | None = None,
        *,
        bare: bool = False,
        usage: bool = False,
        file: str | None = None,
        head: bool = False,
    ) -> None:
        body = "\n".join(line.rstrip() for line in text.strip().split("\n") if line.strip())
        body = _LIST_MARK.sub("", body)  # it gets one of ours
        if body:
            found = frozenset(terms(body))
            if file is not None:
                found |= terms(file)
            sources = tuple(dict.fromkeys(seqs))
            self.units.append(Unit(section, order, body, sources, prior, rank, bare, usage, file, head, found))

    def in_fold(self, n: int) -> bool:
        return self.survey.events[n].pos in self.folded


def gather(survey: Survey, folded: set[int], *, room: int, count: Count, listed: set[str] | None = None) -> list[Unit]:
    """All candidate lines about the events at the positions `folded`. `room`: tokens for all chosen ones; with more of it, messages are cut less.
    `listed`: files and commands that are listed below the summary and need no line that says only that.
    """
    g = _Gatherer(survey, folded, room, count, listed or set(), wording(survey.findings.messages))
    steps: tuple[Callable[[_Gatherer], None], ...] = (
        _earlier,
        _messages,
        _files,
        _errors,
        _solving,
        _tasks,
        _work,
        _concepts,
    )
    for step in steps:
        step(g)
    if not g.units:
        _wordless(g)
    return g.units


def _wordless(g: _Gatherer) -> None:
    """Nobody said or did anything here: say at least that."""
    g.add(WORK, 0, "only text that the agent's harness put in: nobody said or did anything in this part", (), 1.0, 0)


def _earlier(g: _Gatherer) -> None:
    """Lines of earlier summaries, word for word. Those of requests, messages, edited files and open tasks must not be missing."""
    ranks = {REQUEST: 4, MESSAGES: 14, TASKS: 26, FILES: 32}
    for event in g.survey.events:
        if event.voice is not Voice.SUMMARY or event.pos not in g.folded:
            continue
        sections = parse(event.text)
        if not sections:  # no nine-section summary: each paragraph on its own
            for at, block in enumerate(re.split(r"\n\s*\n", event.text.partition(LISTED)[0])):
                g.add(
                    SOLVING,
                    -1 + at / 1e6,
                    _marked(clip(block.strip(), 2_000)),
                    event.seqs,
                    0.4,
                    12 if at == 0 else None,
                )
            continue
        for section in sections:
            number = TITLES.index(section.title)
            if number == NEXT:
                continue  # what was next then is done or dropped by now
            lines = [one for line, _ in section.lines for one in _NESTED.split(line.strip()) if one.strip()]
            for at, line in enumerate(lines):
                text = line.strip()
                rank = ranks.get(number)
                if number == MESSAGES and not is_instruction(text):
                    rank = 36
                if number == TASKS and text.startswith(CLOSED):
                    rank = None
                if number == WORK:
                    rank = None
                g.add(number, -1 + at / 1e6, _marked(text), event.seqs, 0.3, rank)


_NESTED = re.compile(r"\n\s*[-*•]\s+")  # a list below a line: each of its lines is one


def _marked(text: str) -> str:
    return text if text.endswith(EARLIER) else f"{text} {EARLIER}"


def _messages(g: _Gatherer) -> None:
    messages = [m for m in g.survey.findings.messages if g.in_fold(m.n)]
    if not messages:
        return
    most = min(max(160, min(600, g.room // 8)), g.room // 4)
    cut = _cut_all([_without_pastes(m.text) for m in messages], most, g.count)
    request = dict(
        zip(
            (messages[0].n, messages[-1].n),
            _cut_all(
                [_without_pastes(m.text) for m in (messages[0], messages[-1])],
                min(max(260, most), g.room // 4),
                g.count,
            ),
            strict=False,
        )
    )
    g.add(REQUEST, messages[0].n, request[messages[0].n], messages[0].seqs, 1.0, 0)
    if messages[-1].n != messages[0].n:
        g.add(REQUEST, messages[-1].n, f"{g.say.latest}{request[messages[-1].n]}", messages[-1].seqs, 1.0, 2)
    for message in messages[1:-1]:
        if re.match(
            r"\s*(?:instead|actually|new task|now|next|/\w)|\s*(?:改为|现在|接下来)", message.text, re.IGNORECASE
        ):
            g.add(REQUEST, message.n, one_line(message.text, 300), message.seqs, 0.3)
    last = {m.n for m in messages[-3:]}
    for message, text in zip(messages, cut, strict=True):
        rule, late = message.instruction, message.n in last
        rank = 10 if rule else 11 if late else 30
        if text == request.get(message.n):
            continue  # said already, word for word, under the request
        g.add(MESSAGES, message.n, text, message.seqs, 0.4 + 0.5 * rule + 0.5 * late, rank)


def _files(g: _Gatherer) -> None:
    findings = g.survey.findings
    events = g.survey.events
    for use in sorted(findings.files.values(), key=lambda use: use.path)[:MOST]:
        touched = use.seqs
        if not g.in_fold(use.first) and not any(events[n].pos in g.folded for n in (use.first, use.last)):
            continue
        say = g.say
        counts = [
            word.format(n=n)
            for n, word in ((use.edits, say.edited), (use.writes, say.written), (use.reads, say.read))
            if n
        ]
        symbols = use.defined_lately(8)
        text = f"{use.path} ({say.comma.join(counts)})" + (": " + ", ".join(symbols) if symbols else "")
        seqs = tuple(touched[-6:])
        if symbols or use.changed or use.path not in g.listed:
            g.add(
                FILES,
                -use.last,
                text,
                seqs,
                0.5 if use.changed else 0.1,
                20 if use.changed else None,
                file=use.path,
                head=True,
            )
        if use.changed and use.last_new.strip() and events[use.last].pos in g.folded:
            lines = [" ".join(line.split()) for line in use.last_new.split("\n") if len(line.strip()) > 10][:6]
            for at, line in enumerate(lines):
                g.add(
                    FILES,
                    -use.last + (at + 1) / 100,
                    clip(_LIST_MARK.sub("", line), 160),
                    seqs,
                    0.05,
                    file=use.path,
                )
    named = {t for t, use in g.survey.needs.uses.items() if t[0] == PATH and use.user_step >= 0}
    known = {path_term(use.path) for use in findings.files.values()}
    for term in sorted(named - known):
        use_of = g.survey.needs.uses[term]
        g.add(FILES, 1, f"{shown(term)}{g.say.named}", _span(use_of.first_seq, use_of.last_seq), 0.2)


_LETTERS = re.compile(r"\w{2}")


def _errors(g: _Gatherer) -> None:
    failures = [f for f in g.survey.findings.failures if g.in_fold(f.n)]
    for failure in failures[-MOST:]:
        code = g.say.comma + g.say.exit.format(n=failure.exit_code) if failure.exit_code else ""
        times = g.say.times.format(n=failure.times) if failure.times > 1 else ""
        lines = " / ".join(line for line in failure.lines if _LETTERS.search(line) and not line.endswith(": (none)"))
        text = f"{one_line(failure.what, 160)}{code}{times}" + (f": {lines}" if lines else "")
        if failure.solved is None:
            text += g.say.unsolved
        elif failure.fixes:
            text += g.say.fixed + ", ".join(failure.fixes)
        else:
            text += g.say.passed
        open_ = failure.solved is None
        weighty = open_ and (failure.is_command or bool(failure.exit_code))
        g.add(
            ERRORS,
            failure.n + (0 if open_ else 1e9),
            text,
            failure.seqs,
            0.5 if open_ else 0.2,
            24 if weighty else None,
        )


def _solving(g: _Gatherer) -> None:
    findings = g.survey.findings
    for remark in findings.dropped[-MOST:]:
        if g.in_fold(remark.n):
            g.add(SOLVING, remark.n, f"{g.say.dropped}{clip(remark.text, 380)}", remark.seqs, 0.6, 28)
    decided = set()
    for remark in findings.decisions[-MOST:]:
        if g.in_fold(remark.n):
            decided.add(remark.text)
            g.add(SOLVING, remark.n, remark.text, remark.seqs, 0.4)
    found = 0
    for event in reversed(g.survey.events):
        if event.voice is not Voice.ASSISTANT or event.pos not in g.folded:
            continue
        for raw in sentences(event.text[:8_000]):
            sentence = unmarked(raw)
            if 25 <= len(sentence) <= 380 and sentence not in decided:
                g.add(SOLVING, event.n, sentence, event.seqs)
                found += 1
        if found > MOST:
            break


_TOLD = ("in_progress", "pending", "completed", "cancelled")


def _tasks(g: _Gatherer) -> None:
    for at, todo in enumerate(g.survey.findings.todos):
        if not g.in_fold(todo.n) and not todo.open:
            continue
        word = getattr(g.say, todo.status, todo.status) if todo.status in _TOLD else todo.status
        order = todo.n + at / 1e4 + (0 if todo.open else 1e9)
        g.add(
            TASKS,
            order,
            f"{word}: {one_line(todo.text, 300)}",
            todo.seqs,
            0.6 if todo.open else 0.15,
            6 if todo.open else None,
        )
    for failure in g.survey.findings.failures:
        if failure.solved is None and failure.is_command and g.in_fold(failure.n):
            g.add(TASKS, failure.n + 1e8, f"{g.say.not_passing}{one_line(failure.what, 160)}", failure.seqs, 0.3)


def _work(g: _Gatherer) -> None:
    last = next((e for e in reversed(g.survey.events) if e.voice is Voice.ASSISTANT and e.pos in g.folded), None)
    if last is not None:
        text = _cut_all([last.text], min(220, g.room // 4), g.count)[0]
        g.add(WORK, last.n, text, last.seqs, 0.8, 5)
    commands = [c for c in g.survey.findings.commands.values() if g.in_fold(c.n)]
    for command in commands[-MOST:]:
        if as_listed(command.text) in g.listed or (not command.failed and only_looks(command.text)):
            continue
        ended = g.say.exit.format(n=command.exit_code)
        if command.exit_code is None:
            ended = g.say.failed if command.failed else g.say.ok
        many = g.say.ran.format(n=command.times) if command.times > 1 else ""
        g.add(WORK, command.n, f"$ {one_line(command.text, 200)} → {ended}{many}", command.seqs, 0.15)
    step = None if last is None else _next_step(last.text)
    doing = next((todo for todo in g.survey.findings.todos if todo.status == "in_progress"), None)
    if step is not None and last is not None:
        g.add(NEXT, last.n, f"“{clip(step, 300)}”", last.seqs, 0.8, 7)
    elif doing is not None:
        g.add(NEXT, doing.n, clip(doing.text, 300), doing.seqs, 0.8, 7)


_NEXT = re.compile(
    r"\b(?:next|now i|i'll|i will|let me|let's|then|remaining|going to|todo)\b|接下来|下一步|然后|现在", re.IGNORECASE
)


def _next_step(text: str) -> str | None:
    sentences = [unmarked(s) for s in re.split(r"(?<=[.!?:])\s+|(?<=[。！？])|\n+", text) if s.strip()]
    at = next((n for n in range(len(sentences) - 1, -1, -1) if _NEXT.search(sentences[n])), None)
    if at is None:
        return None
    alone = at == 0 or len(sentences[at]) >= 60  # "Let me fix that." says nothing without what is before it
    return sentences[at] if alone else f"{sentences[at - 1]} {sentences[at]}"


def _concepts(g: _Gatherer) -> None:
    """Languages, libraries and tools; sentences that explain a name; lines of code and commands that use one, where such lines belong."""
    findings, say = g.survey.findings, g.say
    events = [event for event in g.survey.events if event.pos in g.folded]
    files = [use for use in findings.files.values() if g.in_fold(use.first) or g.in_fold(use.last)]
    sorts = (
        (say.languages, concepts.languages(files)),
        (say.libraries, concepts.libraries(events, findings.files)),
        (say.programs, concepts.programs(one for one in findings.commands.values() if g.in_fold(one.n))),
    )
    for at, (word, named) in enumerate(sorts):
        if named.names:
            names = [f"{name} ×{times}" if times > 1 else name for name, times in named.names]
            g.add(CONCEPTS, -3 + at, word + say.comma.join(names[: 5 if g.room < LARGE else 10]), named.seqs, 0.2)
    found, bare = concepts.usages(g.survey, g.folded)
    for usage in found:
        prior = 0.02 if usage.output else 0.1
        event = usage.event
        if usage.path is not None:
            known = findings.files.get(usage.path)
            order = (1.0 if known is None else -known.last) + 0.5 + event.n / 1e7
            g.add(FILES, order, usage.text, event.seqs, prior, file=usage.path, usage=True)
        elif usage.prose and concepts.narrates(usage.text):
            g.add(SOLVING, event.n, usage.text, event.seqs, prior, usage=True)
        elif usage.prose:
            g.add(CONCEPTS, event.n, usage.text, event.seqs, prior, usage=True)
        elif event.voice is Voice.CALL:
            mark = "$ " if event.call is not None and event.call.kind is ToolKind.RUN else say.asked
            g.add(WORK, event.n, f"{mark}{usage.text}", event.seqs, prior, usage=True)
        else:
            g.add(FILES, 1e8 + event.n, usage.text, event.seqs, prior, usage=True)
    for at in range(0, min(len(bare), 120), 8):
        group = bare[at : at + 8]
        uses = [g.survey.needs.uses[term] for term in group]
        seqs = tuple(sorted({use.last_seq for use in uses if use.last_seq >= 0}))
        g.add(CONCEPTS, 1e9 + at, say.names + ", ".join(map(shown, group)), seqs, bare=True, usage=True)


_LIST_MARK = re.compile(r"\A\s*(?:[-*•]\s+)+")
_FENCE = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)


def _without_pastes(text: str) -> str:
    """A message without what was pasted into it: long fenced blocks, very long lines, the middle of a very long text."""

    def fence(match: re.Match[str]) -> str:
        lines = match[1].count("\n")
        return match[0] if lines <= 8 else f"(pasted {lines} lines)"

    lines = _FENCE.sub(fence, text).split("\n")
    lines = [line if len(line) <= 1_200 else f"{line[:400]} … ({len(line) - 400} more characters)" for line in lines]
    if len(lines) > 60:
        lines = [*lines[:30], f"(pasted {len(lines) - 40} lines)", *lines[-10:]]
    return "\n".join(lines)


def _cut_all(texts: list[str], most: int, count: Count) -> list[str]:
    """Each text in at most about `most` tokens: its head (70 %) and tail (30 %)."""
    out = []
    for text, tokens in zip(texts, count(texts), strict=True):
        if tokens <= most:
            out.append(text)
            continue
        room = max(40, len(text) * most // tokens - 12)
        head = room * 7 // 10
        out.append(f"{text[:head].rstrip()} … {text[-(room - head) :].lstrip()}")
    return out


def _span(first: int, last: int) -> tuple[int, ...]:
    return tuple(seq for seq in dict.fromkeys((first, last)) if seq >= 0)
