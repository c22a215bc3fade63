"""What a volume holds, until it is written: entries of one or several sessions, and what versions put in. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions.entries import Part
from sessions.search import bits, texts
from sessions.search.words import tokens_of, words_of

FULL = 500_000  # places of words in a volume beyond which it ends, so that memory stays bounded whatever entries hold


@dataclass(slots=True)
class Laid:
    """Entries `first` to `stop` of a session, or what a version puts in, from place `at` of the volume on."""

    session: UUID
    version: int | None
    at: int
    first: int
    stop: int


class Gathered:
    """Begin a stretch, add what it holds in order, begin the next."""

    def __init__(self) -> None:
        self.laid: list[Laid] = []
        self.classes = [0] * len(texts.CLASSES)
        self._tokens: dict[str, list[int]] = {}
        self._filed: dict[str, list[int]] = {}
        self._words = 0

    @property
    def size(self) -> int:
        """Places in use."""
        return self.laid[-1].at + self.laid[-1].stop - self.laid[-1].first if self.laid else 0

    @property
    def room(self) -> int:
        """Places for a stretch more; none where the volume holds enough."""
        return 0 if self._words >= FULL else bits.MOST - bits.aligned(self.size)

    @property
    def full(self) -> bool:
        """Whether the stretch that was begun must end here."""
        return self._words >= FULL or self.size >= bits.MOST

    def begin(self, session: UUID, first: int, version: int | None = None) -> None:
        """A stretch that begins with entry `first`, or with the first insertion of a version."""
        self.laid.append(Laid(session, version, bits.aligned(self.size), first, first))

    def give_up(self, count: int) -> None:
        """Leave out all stretches but the first so many, whatever the others hold."""
        if len(self.laid) > count:
            at = self.laid[count].at
            del self.laid[count:]
            for places in (*self._tokens.values(), *self._filed.values()):
                while places and places[-1] >= at:
                    places.pop()
            self.classes = [one & ((1 << at) - 1) for one in self.classes]

    def add(self, row: tuple[Any, ...], parts: Sequence[Part]) -> None:
        """Take in the next entry. Records that are never sent count where they are malformed or an error, as in the transcript."""
        seq, kind, tool, at, sent, is_error, problem = row
        place = self._place(seq + 1)
        wrong = is_error or kind == "malformed" or problem is not None
        if not (sent or wrong):
            return
        self.classes[texts.class_of(kind) if sent else texts.CLASSES.index("unsent")] |= 1 << place
        if wrong:
            self.classes[texts.ERRORS] |= 1 << place
        self._say(texts.text_of(parts), place)
        if at is not None:
            self._file(texts.day_word(at), place)
        if tool:
            self._file(texts.tool_word(tool), place)
            for path in texts.files_named(tool, parts):
                for name in texts.file_words(path):
                    self._file(name, place)
        for code in texts.exit_codes(parts):
            self._file(texts.exit_word(code), place)

    def add_inserted(self, n: int, kind: str, parts: Sequence[Part] | None, day: str) -> None:
        """Take in insertion `n` of a version; without `parts` it is another version's as well, and found there."""
        place = self._place(n + 1)
        if parts is not None:
            self.classes[texts.class_of("summary" if kind == "summary" else "context")] |= 1 << place
            self._say(texts.text_of(parts), place)
            self._file(day, place)

    def _place(self, stop: int) -> int:
        last = self.laid[-1]
        last.stop = stop
        return last.at + stop - 1 - last.first

    def _say(self, text: str, place: int) -> None:
        for token in set(tokens_of(text)):
            known = self._tokens.get(token)
            if known is None:
                self._tokens[token] = [place]
            else:
                known.append(place)
            self._words += 1

    def _file(self, word: str, place: int) -> None:
        known = self._filed.setdefault(word, [])
        if not known or known[-1] != place:
            known.append(place)

    def places(self) -> dict[str, list[int]]:
        """The places of every word, ascending."""
        found: dict[str, list[list[int]]] = {}
        for token, places in self._tokens.items():
            if places:
                for word in words_of(token):
                    found.setdefault(word, []).append(places)
        merged = {word: lists[0] if len(lists) == 1 else sorted(set().union(*lists)) for word, lists in found.items()}
        merged |= {word: places for word, places in self._filed.items() if places}
        return merged

    def classes_kept(self) -> bytes:
        """The sets by who speaks, one behind the other, each as long as the volume."""
        width = (self.size + 7) // 8
        return b"".join(one.to_bytes(width, "little") for one in self.classes)
