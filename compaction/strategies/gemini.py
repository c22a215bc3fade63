"""Gemini CLI's way: old tool outputs are cut to a budget, the history is split before a message of the person so that its last part stays,
and the rest becomes a state snapshot that a second reading may better.

Before May 2026 the last lines of an output stayed, since then its first fifth and its last four. Masking, a stage of its own, leaves a
preview of outputs far back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compaction.finishing import finished
from compaction.folding import blocks_of, hopeless
from compaction.masks import MARK
from compaction.merge import made_at
from compaction.outputs import CUT, Left, Output, left, outputs_of
from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot, Status
from compaction.strategies.base import Param
from compaction.strategies.emulation import DUE, Again, Way, compact_param, folded, light, summary_param, used
from compaction.summary.shapes import EARLY_SNAPSHOT, SNAPSHOT
from compaction.tools import ToolKind, one_line, output_of
from sessions.contexts import Item
from sessions.entries import Role
from sessions.meters.tokens import sent_texts

WHOLE, LINES, ENDS = "whole", "its last lines", "its head and tail"
ANSWER = "Understood. I go on from this state."

_LONGEST_LINE = 1_000  # characters
_ONE_LINE = 4_000  # characters of an output that is a single line
_PREVIEW = 250  # characters at either end
_HEAD = 5  # a fifth of what stays of an output is its head


class Gemini:
    id = "gemini"
    version = 2
    label = "Gemini CLI"
    about = (
        "Cuts old tool outputs to a budget and turns all but the last part into a state snapshot, read a second time."
    )
    params: Sequence[Param] = (
        Param("keep", "Last part, kept", "share", 0.3, 0, 1, source="Gemini CLI: 0.3 of the history's characters"),
        Param(
            "old",
            "Of an old output stays",
            "choice",
            ENDS,
            choices=(WHOLE, LINES, ENDS),
            source="Gemini CLI: whole in 2025; its last lines in January 2026; its head and tail since 6 February 2026",
        ),
        Param("outputs", "Newest output, whole", "tokens", 50_000, 0, source="Gemini CLI since January 2026: 50,000"),
        Param("lines", "Last lines", "count", 30, 1, source="Gemini CLI, January 2026: 30"),
        Param("chars", "Characters of head and tail", "count", 40_000, 10, source="Gemini CLI 0.56: 40,000"),
        Param("mask", "Mask far outputs", "flag", True, source="Gemini CLI since February 2026"),
        Param("protect", "Newest output, unmasked", "tokens", 50_000, 0, source="Gemini CLI 0.56: 50,000"),
        Param("free", "Mask if it frees at least", "tokens", 30_000, 0, source="Gemini CLI 0.56: 30,000"),
        compact_param(),
        Param("at", "Threshold, of the window", "share", 0.5, 0, 1, source="Gemini CLI since 20 November 2025: 0.5"),
        Param(
            "shape",
            "Shape of the summary",
            "choice",
            SNAPSHOT,
            choices=(EARLY_SNAPSHOT, SNAPSHOT),
            source="Gemini CLI: five elements in 2025, seven since 2026",
        ),
        Param("anchored", "Carry the earlier snapshot on", "flag", True, source="Gemini CLI since January 2026"),
        Param("critique", "Read the snapshot a second time", "flag", True, source="Gemini CLI since January 2026"),
        Param("acknowledge", "The model answers the snapshot", "flag", True, source="Gemini CLI"),
        summary_param("Gemini CLI sets no cap of its own"),
        Param(
            "layer_each",
            "Of each memory file, at most",
            "tokens",
            4_000,
            0,
            source="this product's own; Gemini CLI sets no cap",
        ),
        Param(
            "layer_total", "Of all memory files, at most", "tokens", 12_000, 0, source="this product's own; as above"
        ),
        Param("down", "Folders looked into for memory", "count", 200, 0, 200, source="Gemini CLI: 200"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "gemini-0.56": {},
        "gemini-seed": {"old": LINES, "mask": False, "shape": EARLY_SNAPSHOT, "anchored": False},
        "gemini-0.7": {
            "old": WHOLE,
            "mask": False,
            "at": 0.7,
            "shape": EARLY_SNAPSHOT,
            "anchored": False,
            "critique": False,
        },
        "outputs only": {"compact": "never"},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """Outputs left with less, the split, and one ask. Linear in the items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        at = None if budget.window is None else int(params["at"] * budget.window)
        facts: dict[str, Any] = {"used": used(params, threshold=at), "before": snapshot.total}
        outputs = outputs_of(snapshot)
        due = params["compact"] != DUE or (at is not None and snapshot.total >= at)
        cut, masked, less = _lessened(outputs, snapshot, budget, params, cutting=due and params["old"] != WHOLE)
        facts |= {"cut_outputs": len(cut), "masked_outputs": len(masked)}
        done = light(name, params["compact"], snapshot.total, at, less, facts)
        if done is not None:
            return done
        if made_at(snapshot) == snapshot.last_seq:
            reason = f"nothing came since the compaction at entry {snapshot.last_seq}"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        contents = [
            Content.of(item, allowed=allowed)
            for item, allowed in zip(less.items, blocks_of(snapshot).cuts(), strict=False)
        ]
        start = split_point(contents, 1 - params["keep"])
        if start == 0:
            reason = "no message of the person lies before the last part: there is nothing to split at"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        facts["tail_from"] = next((item.seq for item in snapshot.items[start:] if item.seq is not None), None)
        whole = _fits_whole(snapshot, budget, start)
        # Its memory files are no part of its history, they are read anew: where nothing may be read they stay as they are recorded.
        again = Again(
            layer_each=params["layer_each"],
            layer_total=params["layer_total"] if snapshot.disk is not None else 0,
            layer_down=params["down"],
        )
        by_key = {item.key: item for item in snapshot.items}
        way = Way(
            params["shape"],
            params["summary"],
            anchored=params["anchored"],
            critique=params["critique"],
            answer=ANSWER if params["acknowledge"] else "",
            reads=lambda items: [by_key[item.key] for item in items] if whole else items,
            again=again,
        )
        return folded(name, snapshot, less, way, range(start, len(snapshot.items)), facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        return finished(plan, snapshot, answers)


STRATEGY = Gemini()


def _lessened(
    outputs: Sequence[Output], snapshot: Snapshot, budget: Budget, params: Mapping[str, Any], *, cutting: bool
) -> tuple[Mapping[int, str], Mapping[int, str], Left]:
    """What outputs are cut and masked to, by their number, and the context with them.

    One with which less would save nothing stays as it is and is charged so: else a second time would find that the budget was spent
    otherwise, and cut another.
    """
    uncut: set[int] = set()
    unmasked: set[int] = set()
    while True:
        cut = cuts(outputs, params, uncut) if cutting else {}
        masked = far(outputs, snapshot, cut, params, unmasked) if params["mask"] else {}
        less = left(snapshot, budget, ((outputs[n], text) for n, text in (cut | masked).items()))
        stayed = {n for n in cut | masked if snapshot.items[outputs[n].n].seq not in less.bodies}
        if not stayed:
            return cut, masked, less
        unmasked |= stayed & masked.keys()
        uncut |= stayed - masked.keys()


@dataclass(frozen=True, slots=True)
class Content:
    """An item as the split looks at it. `weight`: characters; `splits`: a user's words, before which a history may be split; `answers`: the
    model's words without a call, behind which it may end.
    """

    weight: int
    splits: bool
    answers: bool

    @classmethod
    def of(cls, item: Item, *, allowed: bool = True) -> Content:
        weight = sum(len(text) for part in item.parts for text in sent_texts(part))
        splits = item.role is Role.USER and not item.results and allowed
        return cls(weight, splits, item.role is Role.ASSISTANT and not item.calls)


def split_point(contents: Sequence[Content], share: float) -> int:
    """The position before which is summarised: the first user's words with at least `share` of the characters before them.

    Where there are none so late: everything, if the model's words end the history, else what lies before the last user's words.
    """
    wanted = share * sum(content.weight for content in contents)
    before = last = 0
    for n, content in enumerate(contents):
        if content.splits:
            if n > 0 and before >= wanted:
                return n
            last = n
        before += content.weight
    return len(contents) if contents and contents[-1].answers else last


def cuts(outputs: Sequence[Output], params: Mapping[str, Any], stay: Collection[int] = ()) -> dict[int, str]:
    """By their number, the outputs that lie beyond the budget (counted from the newest) and what is left of each.

    What is left is charged to the budget, so that older, small outputs may still stay whole. `stay`: numbers of those that are not cut.
    """
    texts: dict[int, str] = {}
    counter = 0
    for n, output in enumerate(outputs):
        size = _tokens(output.part.text)
        if counter + size > params["outputs"] and output.free and not output.less and n not in stay:
            text = shortened(output.part.text, params)
            if len(text) < len(output.part.text):
                texts[n] = text
                size = _tokens(text)
        counter += size
    return texts


def shortened(text: str, params: Mapping[str, Any]) -> str:
    """What is left of an output in either era, the whole text where that is not longer than it may be."""
    if params["old"] == LINES:
        return last_lines(text, params["lines"])
    return head_and_tail(text, params["chars"])


def last_lines(text: str, most: int) -> str:
    """The last lines, each cut at 1,000 characters; of a single line its last 4,000."""
    lines = text.split("\n")
    if len(lines) == 1:
        return text if len(text) <= _ONE_LINE else f"{CUT}the last {_ONE_LINE:,} characters]\n{text[-_ONE_LINE:]}"
    short = [line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…" for line in lines[-most:]]
    kept = "\n".join(short)
    if kept == text:
        return text
    return f"{CUT}the last {len(short)} of {len(lines):,} lines]\n{kept}"


def head_and_tail(text: str, most: int) -> str:
    """A fifth of `most` characters from the head and the rest of them from the tail."""
    if len(text) <= most:
        return text
    head = most // _HEAD
    gone = len(text) - most
    return f"{CUT}{most:,} characters]\n{text[:head]}\n… {gone:,} characters left out …\n{text[len(text) - (most - head) :]}"


def far(
    outputs: Sequence[Output],
    snapshot: Snapshot,
    cut: Mapping[int, str],
    params: Mapping[str, Any],
    stay: Collection[int] = (),
) -> dict[int, str]:
    """By their number, the outputs that masking takes, with the preview that is left of each: all beyond the newest `protect` tokens, where
    they are at least `free` together. The last message is not looked at, and what a preview would not shorten stays, as
    do the numbers in `stay`.
    """
    found: dict[int, str] = {}
    counter = freed = 0
    for n, output in enumerate(outputs):
        if output.n == len(snapshot.items) - 1 or output.less or not output.free:
            continue
        text = cut.get(n, output.part.text)
        size = _tokens(text)
        counter += size
        if counter > params["protect"] and n not in stay and len(less := previewed(output)) < len(text):
            found[n] = less
            freed += size
    return found if freed >= params["free"] else {}


def previewed(output: Output) -> str:
    """The line that says what an output was, and the two ends of it; exit code and failure of a command are said in full."""
    text, call = output.part.text, output.call
    understood = output_of(output.part)
    said = [f"{len(text):,} characters"]
    if call is not None and call.kind is ToolKind.RUN and understood.exit_code is not None:
        said.append(f"exit {understood.exit_code}")
    if output.part.is_error:
        said.append("failed")
    name = output.tool if call is None else f"{call.tool} {one_line(call.argument, 160)}"
    line = f"{MARK}{name}: {', '.join(said)}]"
    if len(text) <= 2 * _PREVIEW:
        return f"{line}\n{text}"
    return f"{line}\n{text[:_PREVIEW]}\n…\n{text[-_PREVIEW:]}"


def _tokens(text: str) -> int:
    """The agent's estimate of a tool's answer: a fourth of its length."""
    return len(text) // 4


def _fits_whole(snapshot: Snapshot, budget: Budget, start: int) -> bool:
    """Whether the summariser can read the uncut history: the agent gives it the cut one only where it cannot."""
    return budget.window is None or sum(snapshot.tokens[:start]) < budget.window
