"""What a session taught that the next one should know: sentences of a person and of the assistant, by kind, with their entries. Pure.

Four kinds, as Claude Code's own memory has them: the person, their feedback, the project, references. Nothing is made up and nothing
paraphrased; what is proposed is what was said, and a person decides.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compaction.summary.events import Event, Voice
from compaction.summary.facts import decided, is_instruction, unmarked
from compaction.summary.items import IDENT, PATH, URL, terms
from compaction.tools import one_line

USER, FEEDBACK, PROJECT, REFERENCE = "user", "feedback", "project", "reference"

MOST = 12
"""Proposals of one kind from one session: more than a person would read."""

_LONGEST, _SHORTEST = 300, 12
_READ_FOR = 6_000
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_OF_THE_PERSON = re.compile(
    r"\b(?:i(?:'m| am) (?:a|an|the|new to|not|used to)|i (?:always|never|usually|prefer|like|hate|work|use|live)|my (?:name|team|role|job|machine|editor|setup|"
    r"preference)|call me|as an? [a-z]+ (?:engineer|developer|scientist|student))\b|我(?:是|喜欢|习惯|偏好|不喜欢|叫)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\s*(?:no\b[,. ]|nope\b|don'?t\b|do not\b|stop\b|never\b|always\b|instead\b|please (?:don'?t|always|never)\b|不要|别|不对|必须|务必|以后)",
    re.IGNORECASE,
)
_HERE_AND_NOW = re.compile(
    r"\b(?:this time|for now|right now|just now|this one|that one|again\?)\b|这次|先不", re.IGNORECASE
)
_WHERE = re.compile(
    r"\b(?:see|docs?|documentation|spec|wiki|ticket|issue|dashboard|board|tracked|runbook|reference|according to)\b|文档|参考|参见",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Proposal:
    kind: str
    text: str
    seqs: tuple[int, ...]

    @property
    def digest(self) -> str:
        """The same for the same words, however they are written."""
        return digest_of(self.text)


def digest_of(text: str) -> str:
    words = re.sub(r"\W+", " ", text.casefold()).strip()
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def propose(events: Sequence[Event]) -> list[Proposal]:
    """The proposals of a session in the order of their kinds, the newest words first, each once."""
    found: dict[tuple[str, str], Proposal] = {}
    for event in reversed(events):
        for proposal in _of(event):
            found.setdefault((proposal.kind, proposal.digest), proposal)
    by_kind = {
        kind: [one for one in found.values() if one.kind == kind][:MOST]
        for kind in (USER, FEEDBACK, PROJECT, REFERENCE)
    }
    return [one for several in by_kind.values() for one in several]


def _of(event: Event) -> Iterable[Proposal]:
    if event.voice is Voice.USER:
        for sentence in _sentences(event.text):
            if _OF_THE_PERSON.search(sentence):
                yield Proposal(USER, sentence, event.seqs)
            elif (is_instruction(sentence) or _CORRECTION.match(sentence)) and not _HERE_AND_NOW.search(sentence):
                yield Proposal(FEEDBACK, sentence, event.seqs)
            if any(term[0] == URL for term in terms(sentence)) or (
                _WHERE.search(sentence) and any(term[0] == PATH for term in terms(sentence))
            ):
                yield Proposal(REFERENCE, sentence, event.seqs)
    elif event.voice is Voice.ASSISTANT:
        for sentence in decided(event.text[:_READ_FOR]):
            lasting = not sentence.endswith((":", "：", "?", "？")) and any(
                term[0] in (PATH, IDENT) for term in terms(sentence)
            )
            if lasting and _SHORTEST <= len(sentence) <= _LONGEST:
                yield Proposal(PROJECT, one_line(sentence, _LONGEST), event.seqs)


def _sentences(text: str) -> Iterable[str]:
    if "```" in text:
        text = re.sub(r"```.*?(?:```|\Z)", " ", text, flags=re.DOTALL)
    for raw in _SENTENCE.split(text[:_READ_FOR]):
        sentence = one_line(unmarked(raw), _LONGEST + 1)
        weight = len(sentence) * (1 if sentence.isascii() else 2)
        if weight >= _SHORTEST and len(sentence) <= _LONGEST and not sentence.endswith(("?", "？")):
            yield sentence
