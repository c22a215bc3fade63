"""A summary by a model, from ask to answer: what is sent, in which order, and what is accepted. Pure: the calls are made by `ask`.

Order of the calls: the record (in pieces, each bringing the summary of those before it up to date, where it does not fit at once), one
reminder where the answer has not its shape or was cut off, one look back where it was asked for. A model that says the prompt is too long
gets less, a few times. Running text that is cut off again is taken up to its last whole sentence, and that is said; one that needs a form
is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compaction.plan import Count, NotWritten, Section, Status, SummaryAnswer, SummaryAsk
from compaction.summarisers import prompts
from compaction.summarisers.endings import to_last_sentence
from compaction.summarisers.transcript import LEAST_ROOM, Layout, Level, TooLarge, lay_out
from compaction.summary.events import Event, Voice
from compaction.summary.manifest import LARGEST, SHARE, manifest
from compaction.summary.shapes import NINE, faults, runs_on
from compaction.summary.survey import Survey
from compaction.summary.template import PREFACE, parse

UNKNOWN_WINDOW = 32_000
"""Tokens taken as the window of a model nobody knows the window of."""

CAREFUL = 0.9
"""Share of a window that is used: its tokens are counted by another tokeniser than the model's."""

OVER = (
    1.25  # of the tokens asked for, as the hard limit of the output: so that a summary a little too long is not cut off
)
LEAST_OUTPUT = 200
LEAST_ANSWER = 64  # of running text
RETRIES_SMALLER = 5  # prompts that were too long
SMALLER = 0.6


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a model takes: tokens of window, prompt and answer; None where unknown."""

    window: int | None = None
    input: int | None = None
    output: int | None = None

    def room(self, output: int) -> int:
        """Tokens for a prompt whose answer may have `output`."""
        window = (self.window or UNKNOWN_WINDOW) - output
        return int(min(window, self.input if self.input is not None else window) * CAREFUL)


@dataclass(frozen=True, slots=True)
class Request:
    """One call. `turns`: (role, text), the last one the user's. `purpose`: in a word, for the log."""

    purpose: str
    system: str
    turns: tuple[tuple[str, str], ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """`cut`: the answer ended because it had reached its limit of tokens."""

    text: str
    cut: bool = False


class Overflow(Exception):
    """The model says that the prompt is too long. `limit`: the tokens it takes, where it says so."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__("the prompt is longer than the model takes")
        self.limit = limit


type Ask = Callable[[Request], Reply]
"""Makes a call. Raises Overflow, or NotWritten where no answer can be had."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What writing would take. `prompt`: tokens sent in all calls; `output`: most tokens of answers. Of a reminder nothing is known."""

    calls: int
    prompt: int
    output: int
    level: Level


@dataclass(slots=True)
class Job:
    """One summary to be written: the part, what is known of it, and the model's limits."""

    ask: SummaryAsk
    events: list[Event]
    earlier: str
    listed: str
    output: int
    wanted: int
    part: int
    capacity: Capacity
    count: Count

    @property
    def overhead(self) -> int:
        """Tokens of a prompt besides the record: rules, task, earlier summary, wishes."""
        frame = prompts.task(self.ask.template, tokens=self.wanted, earlier=True, piece=(1, 2))
        around = prompts.material("", earlier=self.earlier, wishes=self.ask.instructions, focus=self.ask.focus)
        return sum(self.count([prompts.SYSTEM, frame, around])) + 50


def job(ask: SummaryAsk, survey: Survey, folded: set[int], capacity: Capacity, count: Count) -> Job:
    """All that `write` and `forecast` need. `folded`: positions, in the survey's items, of what is to be summarised."""
    events = [event for event in survey.events if event.pos in folded]
    old = [event.text for event in events if event.voice is Voice.SUMMARY]
    numbers = {event.n for event in events}
    room = min(LARGEST, int(ask.max_tokens * SHARE))
    earlier = list(dict.fromkeys(text.strip() for text in (ask.previous, *old) if text.strip()))
    listed = manifest(survey.findings, numbers, earlier, room=room, count=count)
    said = [event for event in events if event.voice is not Voice.SUMMARY]
    wanted = max(
        LEAST_OUTPUT, ask.max_tokens - count([listed])[0] - (count([PREFACE])[0] if ask.template == NINE else 0)
    )
    output = int(wanted * OVER)
    if capacity.output is not None:
        output = min(output, capacity.output)
    output = max(_least(ask.template), min(output, (capacity.window or UNKNOWN_WINDOW) // 3))
    part = sum(count([event.text for event in events]))
    todo = Job(ask, said, "\n\n".join(earlier), listed, output, min(wanted, output), part, capacity, count)
    _leave_room(todo, capacity)
    return todo


def _leave_room(todo: Job, capacity: Capacity) -> None:
    """Of a window so small that rules and answer fill it the answer gets less, so that a record has a place in it at all."""
    lacking = LEAST_ROOM + todo.overhead - capacity.room(todo.output)
    if lacking > 0:
        todo.output = max(_least(todo.ask.template), todo.output - int(lacking / CAREFUL) - 1)
        todo.wanted = min(todo.wanted, todo.output)


def _least(template: str) -> int:
    """Tokens below which no answer of this shape says anything."""
    return LEAST_ANSWER if runs_on(template) else LEAST_OUTPUT


def forecast(todo: Job) -> Forecast:
    """What writing will take, as far as it can be known beforehand. Raises NotWritten where it cannot be done at all."""
    layout = _laid_out(todo, todo.capacity.room(todo.output))
    calls = len(layout.pieces)
    prompt = layout.tokens + calls * todo.overhead + (calls - 1) * todo.wanted
    if todo.ask.critique:
        prompt += todo.count([layout.pieces[-1]])[0] + todo.overhead + todo.wanted
        calls += 1
    return Forecast(calls, prompt, calls * todo.output, layout.level)


def write(todo: Job, ask: Ask, *, name: str) -> SummaryAnswer:
    """Have the summary written. `name`: of the summariser, for the answer. Raises NotWritten with the status the run ends in."""
    notes: list[str] = []
    room = todo.capacity.room(todo.output)
    for _ in range(RETRIES_SMALLER):
        layout = _laid_out(todo, room)
        try:
            text = _written(todo, layout, ask, notes)
            break
        except Overflow as overflow:
            # Too long by the model's own tokens: what it says it takes, else a good part less.
            taken = max(size for piece in layout.pieces for size in todo.count([piece]))
            room = int(min(room, taken + todo.overhead) * SMALLER)
            if overflow.limit is not None:
                todo.output = min(todo.output, max(_least(todo.ask.template), overflow.limit // 3))
                todo.wanted = min(todo.wanted, todo.output)
                served = Capacity(overflow.limit)
                _leave_room(todo, served)
                room = min(room, served.room(todo.output))
    else:
        raise NotWritten(
            Status.FAILED_CONTEXT_OVERFLOW,
            "the model found the prompt too long, however much of the record was left out",
        )
    if layout.level is not Level.WHOLE:
        notes.append(_shrunk(layout))
    return _answer(todo, text, name, notes)


def _laid_out(todo: Job, room: int) -> Layout:
    try:
        return lay_out(todo.events, room - todo.overhead, todo.count)
    except TooLarge as large:
        raise NotWritten(
            Status.FAILED_CONTEXT_OVERFLOW, f"the model's window is too small for this part: {large}"
        ) from large


def _shrunk(layout: Layout) -> str:
    match layout.level:
        case Level.MASKED:
            return "the model was given tool output as one line each: the whole did not fit into its window"
        case Level.OLDEST_OUT:
            return f"{layout.left_out:,} of the oldest answers, calls and results were left out: they did not fit into the model's window"
        case _:
            return f"the model read the part in {len(layout.pieces)} pieces: it did not fit into its window at once"


def _written(todo: Job, layout: Layout, ask: Ask, notes: list[str]) -> str:
    """The text in its shape, without what is added to it. Raises Overflow as the model does."""
    text = todo.earlier
    last = len(layout.pieces)
    for n, piece in enumerate(layout.pieces, 1):
        request = _first(todo, piece, text, (n, last))
        reply = ask(request)
        text = plain(reply.text)
        if n < last:
            if not text:
                raise NotWritten(Status.FAILED_EMPTY_SUMMARY, f"the model's answer to piece {n} of {last} was empty")
            if reply.cut:
                text = to_last_sentence(text) or text
            continue
        wrong = _wrong(todo, text, cut=reply.cut)
        if wrong:
            request, text = _reminded(todo, request, reply, wrong, ask, notes)
        if todo.ask.critique:
            text = _looked_over(todo, request, text, ask, notes)
    return text


def _first(todo: Job, piece: str, earlier: str, place: tuple[int, int]) -> Request:
    told = prompts.task(
        todo.ask.template, tokens=todo.wanted, earlier=bool(earlier), piece=place if place[1] > 1 else None
    )
    given = prompts.material(piece, earlier=earlier, wishes=todo.ask.instructions, focus=todo.ask.focus)
    purpose = "summary" if place[1] == 1 else f"summary, piece {place[0]} of {place[1]}"
    return Request(purpose, prompts.SYSTEM, (("user", f"{given}\n\n{told}"),), todo.output)


def _reminded(
    todo: Job, request: Request, reply: Reply, wrong: Sequence[str], ask: Ask, notes: list[str]
) -> tuple[Request, str]:
    said = reply.text if reply.text.strip() else "(nothing)"
    again = replace(
        request, purpose="reminder", turns=(*request.turns, ("assistant", said), ("user", prompts.reminder(wrong)))
    )
    spare = _usable(todo, reply)
    try:
        answer = ask(again)
    except (Overflow, NotWritten):
        if not spare:
            raise
        return request, _cut_short(todo, spare, notes)
    text = plain(answer.text)
    spare = _usable(todo, answer) or spare
    if spare and (answer.cut or not text or _longer(todo, text)):
        return request, _cut_short(todo, spare, notes)
    if not text:
        raise NotWritten(Status.FAILED_EMPTY_SUMMARY, "the model's answer was empty, also after a reminder")
    still = _wrong(todo, text, cut=answer.cut)
    if still:
        raise NotWritten(Status.FAILED_BAD_TEMPLATE, f"also after a reminder, {'; '.join(still)}")
    return again, text


def _cut_short(todo: Job, text: str, notes: list[str]) -> str:
    notes.append(f"the model's text was cut off at {todo.output:,} tokens: it ends with its last whole sentence")
    return text


def _usable(todo: Job, reply: Reply) -> str:
    """Running text that was cut off, up to its last whole sentence; "" where a form was asked for, or nothing is whole."""
    text = plain(reply.text)
    if not reply.cut or not runs_on(todo.ask.template) or _longer(todo, text):
        return ""
    return to_last_sentence(text)


def _looked_over(todo: Job, request: Request, text: str, ask: Ask, notes: list[str]) -> str:
    """The text after the model has looked over it; the first one stays where the second is none."""
    turns = (*request.turns, ("assistant", text), ("user", prompts.CRITIQUE))
    try:
        reply = ask(replace(request, purpose="self-critique", turns=turns))
    except Overflow:
        notes.append("the model could not look over its summary: with it the prompt is too long")
        return text
    except NotWritten as failure:
        notes.append(f"the model did not look over its summary ({failure}); the first one stands")
        return text
    second = plain(reply.text)
    if _longer(todo, second) or _wrong(todo, second, cut=reply.cut):
        notes.append("the model's second look gave no usable summary: the first one stands")
        return text
    return second


def _wrong(todo: Job, text: str, *, cut: bool) -> list[str]:
    wrong = faults(todo.ask.template, text)
    if text and _longer(todo, text):
        raise NotWritten(
            Status.FAILED_INFLATED,
            f"the model's summary is {todo.count([text])[0]:,} tokens, the part it stands for {todo.part:,}",
        )
    if cut:
        wrong.append(f"it was cut off at {todo.output:,} tokens")
    return wrong


def _longer(todo: Job, text: str) -> bool:
    return todo.count([text])[0] >= todo.part


_THOUGHT = re.compile(r"<(analysis|think|thinking|scratchpad)>.*?(?:</\1>|\Z)", re.DOTALL)
_FENCE = re.compile(r"\A```[\w-]*\n(.*)\n```\Z", re.DOTALL)


def plain(text: str) -> str:
    """An answer without the thoughts before it and a fence around it."""
    text = _THOUGHT.sub("", text).strip()
    fence = _FENCE.match(text)
    return fence[1].strip() if fence is not None else text


_CITED = re.compile(r"\[e(\d+)(?:[,;\s]+e?\d+)*\]")


def _answer(todo: Job, text: str, name: str, notes: Sequence[str]) -> SummaryAnswer:
    sections: tuple[Section, ...] = ()
    if todo.ask.template == NINE:
        seqs = {seq for event in todo.events for seq in event.seqs}
        sections = tuple(_cited(section, seqs) for section in parse(text))
        text = f"{PREFACE}\n\n{text}"
    if todo.listed:
        text = f"{text}\n\n{todo.listed}"
    return SummaryAnswer(todo.ask.key, text, name, sections, notes=tuple(notes), listed=todo.listed)


def _cited(section: Section, known: set[int]) -> Section:
    """The section with the entries its lines name, as far as they were in the record."""
    return Section(
        section.title,
        tuple((line, tuple(n for n in map(int, _CITED.findall(line)) if n in known)) for line, _ in section.lines),
    )


def figures(found: Forecast) -> Mapping[str, Any]:
    return {"calls": found.calls, "prompt": found.prompt, "output": found.output, "record": found.level.value}
