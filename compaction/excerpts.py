"""Pieces of files that come back after a fold: those likely to be worked on next, word for word, out of any file the transcript knows.

An edit needs the text it replaces word for word, and most edits go to files that were read and not changed yet. Bringing back whole files by
last use spends a small budget on one of them; pieces chosen by what they are about hold nearly twice as many of the texts that the session
went on to replace (at 5,000 tokens 0.64 of them against 0.48, on sessions the weights were not fitted on).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log1p

from compaction.files import forbidden, inserted_text, joined, numbered_lines, relative
from compaction.masks import calls_of
from compaction.plan import Count, FilesAnswer, FilesAsk, FileState, Snapshot
from compaction.reconstruct import History, Known, histories, replay
from compaction.summary.events import Voice
from compaction.summary.facts import DEFINES
from compaction.summary.items import path_term, terms
from compaction.summary.survey import Survey


@dataclass(frozen=True, slots=True)
class Weights:
    """What makes a piece of a file likely to be worked on next: a logistic rule."""

    intercept: float
    changed: float  # the session changed the file already
    named: float  # a person named it
    log_size: float  # of its tokens
    prose: float  # documentation, not code
    log_age: float  # answers of the model since the file was last named
    need: float  # the largest worth of a name in the piece
    log_talked: float  # names in it that the last TALK messages said too


FITTED = Weights(0.03, -0.99, 0.68, -0.53, -0.81, -0.16, 1.04, 0.98)
"""Fitted on recorded sessions by `compaction.measure.pieces.fit`; docs/retention.md says on which, and what held-out sessions gave."""

TALK = 6
FILES = 60  # most recently used files that are looked into
TOLD = 5  # files that may not be given back, and are said
CHARACTERS = 600_000  # of them all
SHORT, LONG, LONGEST = 6, 24, 40  # lines of a piece: it ends before a definition, at an empty line, in any case
_PROSE = frozenset({"md", "mdx", "rst", "txt"})
_PER_FILE, _PER_GAP = 45, 12  # tokens a file's header and each gap cost, about
_FLUSH = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines `first` to before `last` of a file's known lines. `p`: how likely it is to be worked on next."""

    file: int
    first: int
    last: int
    p: float
    tokens: int


@dataclass(frozen=True, slots=True)
class _File:
    """A file that may be given back: its known lines with their numbers from 1."""

    history: History
    known: Known
    numbers: list[int]
    lines: list[str]


def answer_pieces(ask: FilesAsk, snapshot: Snapshot, survey: Survey, count: Count) -> FilesAnswer:
    """The pieces most worth their tokens, in `ask.total`, file by file, the file of the best one first. Files the kept part shows word for
    word are not repeated. `survey`: of the snapshot's items.
    """
    files, left_out = known_files(snapshot)
    pieces = _pieces(snapshot, survey, count)
    wanted = {
        n
        for n, file in enumerate(files)
        if not {file.history.path, relative(file.history.path, snapshot.cwd)} & ask.without
        and not all(seq in ask.kept for seq in file.known.seqs)
    }
    chosen = _chosen([piece for piece in pieces if piece.file in wanted], ask)
    while chosen:
        states = _states(files, chosen, pieces, count)
        over = sum(state.tokens for state in states) - ask.total
        if over <= 0:
            return FilesAnswer(ask.key, tuple(states), left_out)
        while chosen and over > 0:
            over -= chosen.pop().tokens
    return FilesAnswer(ask.key, (), left_out)


def known_tokens(snapshot: Snapshot) -> int:
    """About how many tokens of files the transcript knows that may be given back."""
    files, _ = known_files(snapshot)
    return sum(60 + sum(len(line) + 1 for line in file.lines) // 3 for file in files)


def known_files(snapshot: Snapshot) -> tuple[list[_File], tuple[tuple[str, str], ...]]:
    """The files that may be given back, most recently used first, and those that may not with the reason; found once per snapshot."""
    found: tuple[list[_File], tuple[tuple[str, str], ...]] | None = snapshot.memo.get("known files")
    if found is None:
        files: list[_File] = []
        left_out: list[tuple[str, str]] = []
        characters = 0
        log = snapshot.log() or snapshot.items
        for history in histories(log, snapshot.cwd, understood=calls_of(snapshot))[:FILES]:
            reason = forbidden(history.path, snapshot.cwd)
            if reason is not None:
                left_out.append((history.path, reason))
                continue
            known = None if history.deleted else replay(history)
            if known is None:
                continue
            numbers, lines = numbered_lines(known)
            characters += sum(map(len, lines))
            if characters > CHARACTERS:
                break
            files.append(_File(history, known, numbers, lines))
        found = snapshot.memo["known files"] = (files, tuple(left_out[:TOLD]))
    return found


def spans_of(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The pieces of a text: from a definition to the next, not too short, not too long."""
    start = 0
    for n, line in enumerate(lines):
        size = n - start
        new = size >= SHORT and _FLUSH.match(line) is not None and DEFINES.match(line) is not None
        remark = size >= 2 * SHORT and line.startswith(("#", "//", "@"))
        if new or remark or (size >= LONG and not line.strip()) or size >= LONGEST:
            yield start, n
            start = n
    if start < len(lines):
        yield start, len(lines)


def features_of(snapshot: Snapshot, survey: Survey, count: Count) -> list[tuple[str, tuple[float, ...]]]:
    """Each piece of the files that may be given back, as its text and its features, in the order of `Weights`."""
    files, _ = known_files(snapshot)
    return [("\n".join(files[n].lines[first:last]), found) for n, first, last, _, found in _found(files, survey, count)]


def _pieces(snapshot: Snapshot, survey: Survey, count: Count) -> list[Piece]:
    """Every piece with its p; found once per snapshot."""
    known: list[Piece] | None = snapshot.memo.get("pieces")
    if known is None:
        weights: Weights = snapshot.memo.get("piece weights", FITTED)
        factors = (
            weights.changed,
            weights.named,
            weights.log_size,
            weights.prose,
            weights.log_age,
            weights.need,
            weights.log_talked,
        )
        known = []
        for n, first, last, tokens, found in _found(known_files(snapshot)[0], survey, count):
            score = weights.intercept + sum(factor * value for factor, value in zip(factors, found, strict=True))
            known.append(Piece(n, first, last, 1 / (1 + exp(-score)), tokens))
        snapshot.memo["pieces"] = known
    return known


def _found(
    files: Sequence[_File], survey: Survey, count: Count
) -> Iterator[tuple[int, int, int, int, tuple[float, ...]]]:
    """Of each piece: its file, first and last line, tokens, features."""
    needs = survey.needs
    now = survey.events[-1].step if survey.events else 0
    talk = [event for event in survey.events if event.voice in (Voice.USER, Voice.ASSISTANT)][-TALK:]
    talked: set[str] = set().union(*(terms(event.text) for event in talk))
    for n, file in enumerate(files):
        bounds = list(spans_of(file.lines))
        texts = ["\n".join(file.lines[first:last]) for first, last in bounds]
        path = file.history.path
        use = needs.uses.get(path_term(path) or "")
        whole = (
            float(any(op.verb in ("write", "edit", "patch") for op in file.history.ops)),
            float(use is not None and use.user_step >= 0),
            log1p(sum(map(len, texts)) / 4),
            float(path.rpartition(".")[2].lower() in _PROSE),
            log1p(max(0, now - (0 if use is None else use.last_step))),
        )
        for (first, last), text, tokens in zip(bounds, texts, count(texts), strict=True):
            names = terms(text)
            need = max(map(needs.value, names), default=0.0)
            yield n, first, last, tokens, (*whole, need, log1p(len(names & talked)))


def _chosen(pieces: Sequence[Piece], ask: FilesAsk) -> list[Piece]:
    ranked = sorted(pieces, key=lambda piece: (-piece.p / (piece.tokens + 100) ** 0.5, piece.file, piece.first))
    spent: dict[int, int] = {}
    out: list[Piece] = []
    left = ask.total
    for piece in ranked:
        opened = spent.get(piece.file)
        if opened is None and len(spent) >= ask.count:
            continue
        cost = piece.tokens + _PER_GAP + (_PER_FILE if opened is None else 0)
        if cost > left or (opened or 0) + cost > ask.each:
            continue
        spent[piece.file] = (opened or 0) + cost
        left -= cost
        out.append(piece)
    return out


def _states(
    files: Sequence[_File],
    chosen: Sequence[Piece],
    pieces: Sequence[Piece],
    count: Count,
) -> list[FileState]:
    out: list[FileState] = []
    for n in dict.fromkeys(piece.file for piece in chosen):
        path, known = files[n].history.path, files[n].known
        mine = sorted((piece for piece in chosen if piece.file == n), key=lambda piece: piece.first)
        keep = [line for piece in mine for line in range(piece.first, piece.last)]
        cut = sum(piece.tokens for piece in pieces if piece.file == n) - sum(piece.tokens for piece in mine)
        ranges = () if known.whole else tuple((start, start + len(part)) for start, part in known.segments)
        seqs = tuple(sorted(set(known.seqs)))
        state = FileState(path, joined(files[n].numbers, files[n].lines, keep), 0, seqs, cut, ranges)
        tokens = count([inserted_text(state)])[0]
        out.append(FileState(path, state.text, tokens, seqs, cut, ranges))
    return out
