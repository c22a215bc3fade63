"""Pieces of files that come back after a fold: those likely to be worked on next, word for word, out of any file the transcript knows.

An edit needs the text it replaces word for word, and most edits go to what was read lately or what the session wrote itself. Bringing back
whole files by last use spends a small budget on one of them; pieces chosen by what they are about and when they were last seen hold far more of
the texts that a session goes on to replace (docs/retention.md). What the newest part shows word for word is not brought back beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import exp, log1p
from operator import itemgetter

from compaction.files import forbidden, inserted_text, joined, numbered_lines, relative
from compaction.masks import calls_of
from compaction.plan import Count, FilesAnswer, FilesAsk, FileState, Snapshot
from compaction.reconstruct import History, Known, histories, numbered, replay
from compaction.summary.events import Voice
from compaction.summary.facts import DEFINES
from compaction.summary.items import terms
from compaction.summary.survey import Survey


@dataclass(frozen=True, slots=True)
class Weights:
    """What makes a piece of a file likely to be worked on next: a logistic rule."""

    intercept: float
    log_size: float  # of its tokens
    prose: float  # documentation, not code
    log_seen: float  # answers of the model since these lines were last read, or the file written
    written: float  # the session itself wrote some of these lines
    need: float  # the largest worth of a name in the piece
    log_talked: float  # names in it that the last TALK messages said too


FITTED = Weights(0.75, -0.46, -1.03, -0.41, 0.35, 0.93, 1.02)
"""Fitted on recorded sessions by `compaction.measure.pieces.fit`; docs/retention.md says on which, and what held-out sessions gave."""

TALK = 6
FILES = 60  # most recently used files that are looked into
TOLD = 5  # files that may not be given back, and are said
CHARACTERS = 600_000  # of them all
LAST_LINE = 1 << 30  # a whole file's
TELLING = 12  # characters from which on a line is hardly in a file twice
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
    """The pieces most worth their tokens, in `ask.total`, file by file, the file of the best one first. What the kept part shows word for
    word is not repeated. `survey`: of the snapshot's items.
    """
    files, left_out = known_files(snapshot)
    pieces = _pieces(snapshot, survey, count)
    wanted = {
        n
        for n, file in enumerate(files)
        if not {file.history.path, relative(file.history.path, snapshot.cwd)} & ask.without
        and not all(seq in ask.kept for seq in file.known.seqs)
    }
    shown = {n: _shown(files[n], ask) for n in wanted}
    missing = [p for p in pieces if p.file in wanted and not _stands(files[p.file], p, shown[p.file])]
    chosen = _chosen(missing, ask)
    while chosen:
        states = _states(files, chosen, pieces, count)
        over = sum(state.tokens for state in states) - ask.total
        if over <= 0:
            return FilesAnswer(ask.key, tuple(states), left_out)
        while chosen and over > 0:
            over -= chosen.pop().tokens
    return FilesAnswer(ask.key, (), left_out)


def _shown(file: _File, ask: FilesAsk) -> set[str]:
    """The lines of a file that the kept part shows."""
    cut = {item.seq: item for item in ask.cut}
    out: set[str] = set()
    for op in file.history.ops:
        if op.seqs and all(seq in ask.kept for seq in op.seqs):
            out.update(line.strip() for line in op.text.split("\n"))
            out.update(line.strip() for hunk in op.hunks for line in hunk.new)
        else:
            texts = [cut[seq].text for seq in op.seqs if seq in cut]
            out.update(line.strip() for text in texts for line in numbered(text)[0] or text.split("\n"))
    return out


def _stands(file: _File, piece: Piece, shown: set[str]) -> bool:
    """Whether a piece stands in the kept part already, line by line."""
    return bool(shown) and all(line.strip() in shown for line in file.lines[piece.first : piece.last] if line.strip())


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


def features_of(
    snapshot: Snapshot, survey: Survey, count: Count
) -> Iterator[tuple[list[str], list[tuple[float, ...]]]]:
    """For each file that may be given back the texts of its pieces, in order, and the features of each, in the order of `Weights`."""
    files, _ = known_files(snapshot)
    for n, found in groupby(_found(files, survey, count), key=itemgetter(0)):
        pieces = list(found)
        yield ["\n".join(files[n].lines[first:last]) for _, first, last, _, _ in pieces], [one[-1] for one in pieces]


def _pieces(snapshot: Snapshot, survey: Survey, count: Count) -> list[Piece]:
    """Every piece with its p; found once per snapshot."""
    known: list[Piece] | None = snapshot.memo.get("pieces")
    if known is None:
        weights: Weights = snapshot.memo.get("piece weights", FITTED)
        factors = (
            weights.log_size,
            weights.prose,
            weights.log_seen,
            weights.written,
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
    steps = {seq: event.step for event in survey.events for seq in event.seqs}
    talk = [event for event in survey.events if event.voice in (Voice.USER, Voice.ASSISTANT)][-TALK:]
    talked: set[str] = set().union(*(terms(event.text) for event in talk))
    for n, file in enumerate(files):
        bounds = list(spans_of(file.lines))
        texts = ["\n".join(file.lines[first:last]) for first, last in bounds]
        whole = (
            log1p(sum(map(len, texts)) / 4),
            float(file.history.path.rpartition(".")[2].lower() in _PROSE),
        )
        showings = _showings(file.history, steps)
        texts_put = "\n".join(file.history.written).split("\n")
        written = {line for line in map(str.strip, texts_put) if len(line) >= TELLING}
        for (first, last), text, tokens in zip(bounds, texts, count(texts), strict=True):
            names = terms(text)
            need = max(map(needs.value, names), default=0.0)
            seen = _last_seen(showings, file.numbers[first], file.numbers[last - 1])
            own = bool(written) and any(line.strip() in written for line in file.lines[first:last])
            log_seen = log1p(max(0, now - seen))
            yield n, first, last, tokens, (*whole, log_seen, float(own), need, log1p(len(names & talked)))


def _showings(history: History, steps: Mapping[int, int]) -> list[tuple[int, int, int]]:
    """When which lines of a file were read or written: the answer of the model, the first line and the one after the last."""
    return [
        (
            max((steps.get(seq, 0) for seq in op.seqs), default=0),
            op.start,
            LAST_LINE if op.verb == "write" or op.whole else op.start + op.text.count("\n") + 1,
        )
        for op in history.ops
        if op.verb in ("read", "write")
    ]


def _last_seen(showings: Iterable[tuple[int, int, int]], first: int, last: int) -> int:
    return max((step for step, start, stop in showings if start <= last and first < stop), default=0)


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
