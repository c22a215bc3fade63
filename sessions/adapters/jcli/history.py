"""What clears, restores and compactions made of the list of messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from sessions.adapters.base import Link, NativeVersion, PartsOf
from sessions.adapters.generic.lists import Wanted, edits_to
from sessions.adapters.jcli.reader import COMPRESSED
from sessions.contexts import Edit, Hide
from sessions.entries import Kind, Part, Role
from sessions.ranges import Ranges

_VERBATIM = 5  # of a person's last messages that a compaction writes again before its summary


def versions(links: Sequence[Link], parts_of: PartsOf) -> list[NativeVersion]:
    """The agent's own versions. A compaction without a mark is known by its summary, which follows what it stands for."""
    out: list[NativeVersion] = []
    sent: list[Link] = []
    for link in links:
        what = link.facts.get("is")
        edits: list[Edit]
        if what == "clear":
            if not sent and not out:
                continue
            out.append(NativeVersion("cut", link.seq, (_hide(sent, set()),), "The conversation was cleared"))
        elif what == "restore":
            edits = edits_to(_messages(parts_of(link.seq)), links, link.seq)
            if tuple(edits) == (out[-1].edits if out else ()):
                continue
            compacted = link.kind is Kind.COMPACTION
            label = "Compacted" if compacted else "The list of messages was replaced"
            facts = {"messages": link.facts.get("count")}
            out.append(
                NativeVersion("compaction" if compacted else "replacement", link.seq, tuple(edits), label, facts)
            )
        if link.sent and not link.lane:
            if link.kind is Kind.SUMMARY and (sent or out):
                kept = _written_again(sent)
                out.append(NativeVersion("compaction", link.seq, (_hide(sent, kept),), "Compacted"))
            sent.append(link)
    return out


def steady(link: Link) -> bool:
    """Whether the versions stay as they are after one more message."""
    return link.facts.get("is") not in ("clear", "restore") and link.kind is not Kind.SUMMARY


def _hide(sent: Sequence[Link], kept: set[int]) -> Hide:
    every = [link.seq for link in sent]
    return Hide(Ranges.from_numbers(seq for seq in every if seq not in kept).closed_over(every))


def _written_again(sent: Sequence[Link]) -> set[int]:
    """The last messages before a summary that are a person's and stand earlier in the log too."""
    out: set[int] = set()
    for n in range(len(sent) - 1, max(-1, len(sent) - 1 - _VERBATIM), -1):
        link = sent[n]
        if link.role is not Role.USER or not any(other.digest == link.digest for other in sent[:n]):
            break
        out.add(link.seq)
    return out


def _messages(parts: Sequence[Part]) -> list[Wanted]:
    out: list[Wanted] = []
    for _, group in groupby(parts, key=lambda part: part.meta.get("n")):
        block = list(group)
        body = tuple(
            replace(part, role=None, meta={key: value for key, value in part.meta.items() if key != "n"})
            for part in block
        )
        role = block[0].role or Role.USER
        summary = role is Role.USER and bool(body) and body[0].text.lstrip().startswith(COMPRESSED)
        out.append(Wanted(role, body, summary))
    return out
