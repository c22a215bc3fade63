"""The tree of a transcript's records and the walk from a leaf to its root, as the agent does it when it loads a session.

Records that carry a parent id form the tree. A repeated id means the last record that has it. A parent that is nowhere in the file is
repaired to the nearest earlier record within five seconds; otherwise history ends there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions.adapters.base import Link
from sessions.entries import Kind

_REPAIR_MS = 5_000
_REPAIR_LOOK = 200  # earlier records that are looked at for a repair


@dataclass(frozen=True, slots=True)
class Relink:
    """What a boundary says of kept records: `kept` in order, chained behind `anchor`. `lost`: an id was not found, so none is kept.

    Where records are kept, everything else before the boundary is gone: what still names it as parent hangs on the last kept one.
    """

    boundary: int = -1
    anchor: int = -1
    kept: tuple[int, ...] = ()
    parents: Mapping[int, int] = field(default_factory=dict)  # of the kept ones, as they are chained
    lost: bool = False

    def gone(self, node: int) -> bool:
        """Whether the record is no longer there for the agent."""
        return bool(self.kept) and node < self.boundary and node not in self.parents


@dataclass(frozen=True, slots=True)
class Walk:
    """The chain from root to leaf, in order of the chain. `phantom`: the id of a parent that is nowhere, where history was cut."""

    nodes: list[int]
    phantom: str | None = None


NO_RELINK = Relink()


class Tree:
    """Grows record by record; every question is answered for the records added so far. Nodes are numbered from 0 in file order."""

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.index: dict[str, int] = {}
        self.talks: list[bool] = []  # user and assistant records
        self.talk_above: list[int] = []  # the nearest such record at or above, -1 for none
        self.group: list[str | None] = []  # the answer a call, its siblings and its results belong to
        self.by_response: dict[str, list[int]] = {}
        self.results_of: dict[int, list[int]] = {}
        self.children: dict[int, list[int]] = {}

    def add(self, link: Link) -> int:
        node = len(self.links)
        parent = self.index.get(link.native_parent, -1) if link.native_parent else -1
        letter = link.facts.get("t")
        talks = letter in ("u", "a")
        self.links.append(link)
        self.talks.append(talks)
        above = self.talk_above[parent] if parent >= 0 else -1
        self.talk_above.append(node if talks else above)
        self.group.append(self._group(node, link, letter, above))
        if letter == "a" and link.response_id:
            self.by_response.setdefault(link.response_id, []).append(node)
        if link.kind is Kind.TOOL_RESULT and above >= 0:
            self.results_of.setdefault(above, []).append(node)
        if not talks and parent >= 0:
            self.children.setdefault(parent, []).append(node)
        if link.native_id:
            self.index[link.native_id] = node
        return node

    def _group(self, node: int, link: Link, letter: Any, above: int) -> str | None:
        if letter == "a":
            return link.response_id or f"#{node}"
        if link.kind is Kind.TOOL_RESULT and above >= 0 and self.links[above].facts.get("t") == "a":
            return self.group[above]
        return None  # a result chained on another result belongs to the chain alone

    def parent(self, node: int, relink: Relink = NO_RELINK) -> int:
        """The node above, progress records bridged; -1 at a root, -2 where the parent is nowhere and nothing is near enough."""
        if node in relink.parents:
            return relink.parents[node]
        at = node
        for _ in range(len(self.links)):
            wanted = self.links[at].native_parent
            if not wanted:
                return -1
            found = self.index.get(wanted)
            if found is None:
                return self._repair(node)
            if relink.kept and (found == relink.anchor or relink.gone(found)):
                return relink.kept[-1]
            if self.links[found].facts.get("t") != "p":
                return found
            at = found
        return -1

    def _repair(self, node: int) -> int:
        at = self.links[node].facts.get("ms")
        if at is None:
            return -2
        for other in range(node - 1, max(node - 1 - _REPAIR_LOOK, -1), -1):
            then = self.links[other].facts.get("ms")
            if then is not None and 0 <= at - then <= _REPAIR_MS and self.links[other].facts.get("t") != "p":
                return other
        return -2

    def walk(self, leaf: int, relink: Relink = NO_RELINK, first: int = 0) -> Walk:
        """From `leaf` up to the root, stopping at a cycle; nodes before `first` do not exist. Given from the root down."""
        out: list[int] = []
        seen: set[int] = set()
        kept = set(relink.kept)
        phantom = None
        node = leaf
        while node >= 0 and node not in seen:
            if node < first and node not in kept:
                phantom = self.links[out[-1]].native_parent if out else None
                break
            seen.add(node)
            out.append(node)
            above = self.parent(node, relink)
            if above == -2:
                phantom = self.links[node].native_parent
            node = above
        out.reverse()
        return Walk(out, phantom)

    def relink_of(self, boundary: int) -> Relink:
        """What the boundary keeps. All its ids must be there, else nothing is kept."""
        facts = self.links[boundary].facts.get("boundary")
        if not isinstance(facts, Mapping):
            return NO_RELINK
        if facts.get("keep"):
            return self._listed(boundary, facts["keep"], facts.get("anchor"))
        if facts.get("segment"):
            return self._segment(boundary, *facts["segment"])
        return NO_RELINK

    def _listed(self, boundary: int, ids: Iterable[str], anchor_id: str | None) -> Relink:
        kept: list[int] = []
        for one in ids:
            node = self.index.get(one)
            if node is None:
                return Relink(lost=True)
            kept.append(node)
        anchor = self.index.get(anchor_id) if anchor_id else None
        if anchor is None or len(set(kept)) != len(kept) or anchor in kept:
            return Relink(lost=True)
        return Relink(boundary, anchor, tuple(kept), dict(zip(kept, [anchor, *kept], strict=False)))

    def _segment(self, boundary: int, head_id: str | None, anchor_id: str | None, tail_id: str | None) -> Relink:
        head, anchor, tail = (self.index.get(one) if one else None for one in (head_id, anchor_id, tail_id))
        if head is None or anchor is None or tail is None:
            return Relink(lost=True)
        chain = self.walk(tail).nodes
        if head not in chain or anchor in chain[chain.index(head) :]:
            return Relink(lost=True)
        kept = chain[chain.index(head) :]
        return Relink(boundary, anchor, tuple(kept), dict(zip(kept, [anchor, *kept], strict=False)))

    def siblings(self, chain: Iterable[int], relink: Relink = NO_RELINK, first: int = 0) -> dict[int, list[int]]:
        """By node of the chain: what belongs beside it though no path leads there. The other records of its answer, and their results."""
        on_chain = set(chain)
        last: dict[str, int] = {}
        for node in on_chain:
            response = self.links[node].response_id
            if response and self.links[node].facts.get("t") == "a":
                last[response] = max(node, last.get(response, -1))
        out: dict[int, list[int]] = {}
        for response, node in last.items():
            for other in self.by_response[response]:
                beside = [other, *self.results_of.get(other, ())]
                found = [one for one in beside if one not in on_chain and one >= first and not relink.gone(one)]
                if found:
                    out.setdefault(node, []).extend(found)
        return out

    def hangers_on(self, leaf: int, relink: Relink = NO_RELINK, first: int = 0) -> list[int]:
        """Records below the leaf that are neither the person's nor the assistant's: attachments, commands' output."""
        out: list[int] = []
        todo = [leaf]
        seen = {leaf}
        while todo:
            for child in self.children.get(todo.pop(), ()):
                if child not in seen and child >= first and not relink.gone(child):
                    seen.add(child)
                    out.append(child)
                    todo.append(child)
        return sorted(out)

    def talk_at_or_above(self, node: int, relink: Relink = NO_RELINK) -> int:
        """The nearest user or assistant record at or above `node`, -1 where there is none."""
        seen: set[int] = set()
        at = node
        while at >= 0 and at not in seen:
            if self.talks[at]:
                return at
            seen.add(at)
            at = self.parent(at, relink)
        return -1


class Spine:
    """The chain from the root to the newest words, kept up to date record by record.

    `phantom`: see `Walk`. `revived`: the last move led over records that had left the view, so that the whole must be walked.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._chain: list[int] = []
        self._place: dict[int, int] = {}
        self._floor = 0  # nothing before this is in view but what is on the chain
        self._gone: set[int] = set()
        self.phantom: str | None = None
        self.revived = False

    def start(self, chain: Iterable[int], floor: int, view: Iterable[int]) -> None:
        """Take over a chain that was walked whole, and the seqs in view with it."""
        self._chain = list(chain)
        self._place = {node: at for at, node in enumerate(self._chain)}
        self._floor = floor
        seen = set(view)
        links = self._tree.links
        self._gone = {node for node in range(floor, len(links)) if links[node].sent and links[node].seq not in seen}

    def advance(self, node: int, hanging: Iterable[int], relink: Relink) -> set[int]:
        """Move to `node`, the newest record that talks; the records that are no longer in view.

        `hanging`: records since the last one that talks, which stay in view only if the way to `node` leads over them.
        """
        tree = self._tree
        path: dict[int, None] = {node: None}
        above = tree.parent(node, relink)
        while above >= 0 and above not in self._place and above not in path:
            path[above] = None
            above = tree.parent(above, relink)
        self.phantom = tree.links[next(reversed(path))].native_parent if above == -2 else None
        self.revived = any(one in self._gone or one < self._floor for one in path)
        start = self._place[above] + 1 if above in self._place else 0
        cut = self._chain[start:]
        for one in cut:
            del self._place[one]
        del self._chain[start:]
        for one in reversed(path):
            self._place[one] = len(self._chain)
            self._chain.append(one)
        lost = {one for one in hanging if one not in self._place}
        if cut:
            lost |= self._lost(cut, above, path)
        self._gone |= lost
        return lost

    def _lost(self, cut: Iterable[int], above: int, path: Iterable[int]) -> set[int]:
        """What goes with the records that were cut off: they, the siblings of their answers, and those records' results.

        An answer that the chain still touches keeps all its records, and their results.
        """
        tree = self._tree
        touched = {tree.group[one] for one in path}
        near = tree.talk_above[above] if above >= 0 else -1
        touched.add(tree.group[near] if near >= 0 else None)
        touched.discard(None)
        lost: set[int] = set()
        for one in cut:
            group = tree.group[one]
            if group in touched:
                continue
            lost.add(one)
            for sibling in tree.by_response.get(group or "", ()):
                lost.add(sibling)
                lost.update(tree.results_of.get(sibling, ()))
            if tree.talks[one]:
                lost.update(tree.hangers_on(one))
        return {one for one in lost if one not in self._place}


def woven(chain: Sequence[int], beside: Mapping[int, Sequence[int]]) -> list[int]:
    """The chain with the siblings put in: in file order within every stretch in which the chain is in file order itself."""
    if not beside:
        return list(chain)
    stretches: list[list[int]] = []
    before = -1
    for node in chain:
        if node < before or not stretches:
            stretches.append([])
        stretches[-1].append(node)
        stretches[-1].extend(beside.get(node, ()))
        before = node
    return [node for stretch in stretches for node in sorted(stretch)]
