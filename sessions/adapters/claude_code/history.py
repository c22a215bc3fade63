"""The versions the agent itself made: compactions, shortened results, rewinds, other branches, and history lost silently.

The transcript is followed in file order, as the agent lived it. `Spine` keeps the chain from the root to the newest words; only where a
record does not simply continue it does the view change. At the end the agent's own choice of a leaf on loading is applied, so that the
last version is what it would send next.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from sessions.adapters.base import Link, NativeVersion, PartsOf, Unfollowed
from sessions.adapters.claude_code.edits import Bodies, edits_of, edits_without
from sessions.adapters.claude_code.tip import WHOLE_FILE, Tip
from sessions.adapters.claude_code.tree import NO_RELINK, Relink, Spine, Tree, Walk, woven
from sessions.contexts import Edit
from sessions.entries import Facts, Kind

_WORK = 3_000_000  # steps of work beyond which versions in the middle are left out; the last one is always made


def native_versions(links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> list[NativeVersion]:
    """See `Adapter.history`."""
    del facts
    return follow_all(links, parts_of).versions


def follow_all(links: Sequence[Link], parts_of: PartsOf) -> Follower:
    """A follower at the end of links of which all are at hand."""
    follower = Follower(parts_of, ids={link.native_id for link in links if link.native_id})
    for link in links:
        follower.add(link)
    follower.settle()
    return follower


class Follower:
    """Follows a transcript record by record. `ids`: those of all records, of later ones too, where they are at hand.

    Without them it lets go, at each compaction, of everything before it, and raises Unfollowed where a record asks for that, or for
    one that it does not know.
    """

    def __init__(self, parts_of: PartsOf, ids: AbstractSet[str] | None = None) -> None:
        self.parts_of = parts_of
        self.by_seq: dict[int, Link] = {}
        self.ids = ids
        self.forgot = False
        self.size = 0  # bytes of all records so far
        self.last = -1  # seq of the last of them
        self.settled = False  # the end made a version of its own
        self.tip = Tip()
        self.tree = Tree()
        self.spine = Spine(self.tree)
        self.bodies = Bodies(parts_of, self.by_seq)
        self.sent = array("q")  # seq of every sent entry of the main conversation so far
        self.view: list[int] = []  # seq of what is sent now, in order
        self.edits: tuple[Edit, ...] = ()
        self.versions: list[NativeVersion] = []
        self.tail = -1  # the last record of the tree
        self.talk = -1  # the last user or assistant record
        self.hanging: list[int] = []  # sent records since that are neither
        self.boundary = -1
        self.relink: Relink = NO_RELINK
        self.waiting: Link | None = None  # a boundary whose summary has not come yet
        self.bookmark: Link | None = None
        self.retracted: set[str] = set()
        self.walked = Walk([])
        self.work = 0
        self.skipped = 0

    def add(self, link: Link) -> None:
        """The next record."""
        self.last = link.seq
        self.size += link.length
        self.tip.add(link)
        self.by_seq[link.seq] = link
        if link.lane:
            return
        if link.sent:
            self.sent.append(link.seq)
        if "t" in link.facts:
            self._record(link)
        else:
            self._loose(link)

    def settle(self) -> None:
        """Apply the agent's own choice of a leaf, after the last record."""
        before = len(self.versions)
        self._settle()
        self.settled = len(self.versions) > before

    # -- record by record ---------------------------------------------------------------------------------------------

    def _record(self, link: Link) -> None:
        node = self.tree.add(link)
        if link.native_id or self.tail < 0 or not self.tree.links[self.tail].native_id:
            self.tail = node  # the agent does not go on from a record without an id
        if link.sent:
            self.view.append(link.seq)
        talks = self.tree.talks[node]
        if "boundary" in link.facts:
            self.boundary, self.waiting, self.bookmark = node, link, None
        elif self.waiting is not None and talks:
            waiting, self.waiting = self.waiting, None
            self._compacted(waiting, link, node)
        elif link.kind is Kind.SUMMARY and link.native_parent is None and len(self.view) > 1:
            self.boundary, self.relink = node, NO_RELINK  # an older file: the summary is the only mark
            self._compacted(link, link, node)
        elif talks:
            self._spoke(link, node)
        elif link.sent:
            self.hanging.append(node)
        if link.facts.get("micro"):
            self._shortened(link)
        if link.facts.get("retract"):
            self._retracted(link)

    def _spoke(self, link: Link, node: int) -> None:
        """A record of the person or the assistant: see whether what stood before it still stands."""
        self.talk = node
        wanted = link.native_parent
        if wanted and wanted not in self.tree.index:
            if self.ids is None:
                raise Unfollowed
            if wanted in self.ids:
                return  # its parent comes later in the file; the end of the history sees to that
        hanging, self.hanging = self.hanging, []
        lost = self.spine.advance(node, hanging, self.relink)
        self.work += len(lost)
        if self.spine.revived:
            self._turned_back(link, node)
        elif lost:
            gone = {self.tree.links[one].seq for one in lost if self.tree.links[one].sent}
            if gone:
                self._forked(link, gone)

    def _forked(self, link: Link, gone: set[int]) -> None:
        kept: list[int] = []
        first = min(gone)
        while self.view and (self.view[-1] >= first or self.view[-1] in gone):
            seq = self.view.pop()
            if seq not in gone:
                kept.append(seq)
        self.view.extend(reversed(kept))
        self._parted(link, self.spine.phantom, gone)

    def _turned_back(self, link: Link, node: int) -> None:
        """The record takes up something that had left the view already."""
        if self.work > _WORK:
            self.skipped += 1
            return
        before = self.view
        self.view = self._seen_from(node)
        floor = self.boundary if self.relink.kept else 0
        self.spine.start(self.walked.nodes, floor, self.view)
        self.work += len(self.tree.links) - floor
        if self.view != before:
            self._parted(link, self.walked.phantom, None)

    def _parted(self, link: Link, phantom: str | None, gone: set[int] | None) -> None:
        earlier = max((seq for seq in self.view[-400:] if seq < link.seq), default=None)
        kind, label = self._break(phantom, keeps_some=earlier is not None)
        if kind == "branch" and (link.opens_turn or link.kind is Kind.COMMAND):
            kind, label = "rewind", "Rewound: a new message took up an earlier point"
        self._emit(kind, link.seq, label, {} if earlier is None else {"to": earlier}, gone)

    @staticmethod
    def _break(phantom: str | None, *, keeps_some: bool) -> tuple[str, str]:
        """How a chain parts from what went before."""
        if phantom is not None:
            return "cut", "Earlier history is lost to the agent: a record's parent is not in the file"
        if not keeps_some:
            return "cut", "The conversation begins anew: nothing before is linked to it"
        return "branch", "Another branch was taken"

    def _compacted(self, mark: Link, summary: Link, node: int) -> None:
        self.relink = self.tree.relink_of(self.boundary)
        if self.relink.lost and self.ids is None:
            raise Unfollowed
        raw = mark.facts.get("boundary")
        said = dict(raw.get("facts") or {}) if isinstance(raw, Mapping) else {}
        if summary.kind is Kind.SUMMARY:
            said["summary_seq"] = summary.seq
        if self.relink.kept:
            said["preserved"] = len(self.relink.kept)
        if self.relink.lost:
            said["preserved_lost"] = True
        tokens = said.get("preTokens")
        detail = [str(said["trigger"])] if isinstance(said.get("trigger"), str) else []
        detail += [f"{tokens:,} tokens before"] if isinstance(tokens, int) else []
        label = "Compacted" + (f" ({', '.join(detail)})" if detail else "")
        self.talk, self.hanging = node, []
        self.view = self._seen_from(node)
        chain = self.walked.nodes
        if self.ids is None and self._passed(chain):
            chain = self._let_go(chain)
        self.spine.start(chain, self.boundary, self.view)
        self._emit("compaction", summary.seq, label, said)

    def _passed(self, chain: Sequence[int]) -> bool:
        """Whether nothing of what is sent now lies before the boundary."""
        if self.relink is not NO_RELINK or self.walked.phantom is not None or self.retracted:
            return False
        return not self.bodies.any and bool(chain) and min(chain) >= self.boundary

    def _let_go(self, chain: Sequence[int]) -> list[int]:
        """Forget what lies before the boundary; the chain as its nodes are numbered then."""
        first = self.boundary
        links = self.tree.links[first:]
        tree = Tree()
        for link in links:
            tree.add(link)
        start = links[0].seq
        for seq in [seq for seq in self.by_seq if seq < start]:
            del self.by_seq[seq]
        self.tree, self.spine = tree, Spine(tree)
        self.tail, self.talk, self.boundary = self.tail - first, self.talk - first, 0
        self.forgot = True
        return [node - first for node in chain]

    def _shortened(self, link: Link) -> None:
        micro = link.facts["micro"]
        said = dict(micro.get("facts") or {})
        said["results"] = self.bodies.clear(micro.get("ids") or (), self.view)
        saved = said.get("tokensSaved")
        label = "Old tool results cleared" + (f" ({saved:,} tokens saved)" if isinstance(saved, int) else "")
        self._emit("microcompaction", link.seq, label, said)

    def _retracted(self, link: Link) -> None:
        self.retracted.update(link.facts["retract"])
        gone = {self.tree.links[node].seq for one in self.retracted if (node := self.tree.index.get(one)) is not None}
        view = [seq for seq in self.view if seq not in gone]
        if view != self.view:
            self.view = view
            self._emit(
                "replacement",
                link.seq,
                "The provider refused: what it retracted is no longer sent",
                {"retracted": len(gone)},
            )

    def _loose(self, link: Link) -> None:
        facts = link.facts
        if "bookmark" in facts:
            self.bookmark = link
        elif facts.get("swap"):
            changed = self.bodies.swap(self.parts_of(link.seq), self.view)
            if changed:
                self._emit("replacement", link.seq, "Tool results replaced by shorter ones", {"results": changed})
        elif "collapse" in facts:
            self._collapsed(link)

    def _collapsed(self, link: Link) -> None:
        collapse = link.facts["collapse"]
        if self.forgot:
            raise Unfollowed
        ends = [self.tree.index.get(collapse.get(key) or "") for key in ("firstArchivedUuid", "lastArchivedUuid")]
        first, last = (-1 if node is None else self.tree.links[node].seq for node in ends)
        view = self.bodies.collapse(link.seq, self.view, first, last) if first >= 0 and last >= 0 else None
        if view is not None:
            self.view = view
            self._emit("replacement", link.seq, "A stretch of the conversation was collapsed into a summary", {})

    # -- what is in view ----------------------------------------------------------------------------------------------

    def _seen_from(self, node: int, first: int = 0) -> list[int]:
        """The entries sent when the conversation stands at `node`, in order. Walks the whole chain."""
        tree, relink = self.tree, self.relink
        leaf = tree.talk_at_or_above(node, relink)
        if leaf < 0:
            # A boundary whose summary never came hides nothing: the agent goes on from the last words there are.
            leaf = self.talk if node == self.boundary and self.talk >= first else node
        if relink.kept and leaf == relink.anchor:
            leaf = relink.kept[-1]  # nothing follows the compaction yet: the kept ones are the end
        self.walked = tree.walk(leaf, relink, first)
        nodes = woven(self.walked.nodes, tree.siblings(self.walked.nodes, relink, first))
        there = set(nodes)
        nodes += [below for below in tree.hangers_on(leaf, relink, first) if below not in there]
        self.work += len(nodes)
        gone = {tree.index[one] for one in self.retracted if one in tree.index}
        return self.bodies.collapsed([tree.links[at].seq for at in nodes if tree.links[at].sent and at not in gone])

    def _emit(
        self, kind: str, seq: int, label: str, said: Mapping[str, Any], gone: Iterable[int] | None = None
    ) -> None:
        """Record a version of the view as it stands. `gone`: all that has left it since the last one, where that is known."""
        if self.work > _WORK:
            self.skipped += 1
            return
        edits = edits_without(self.edits, gone, self.sent) if gone is not None and not self.skipped else None
        if edits is None:
            edits = edits_of(self.sent, self.view, self.bodies, self.by_seq, self.parts_of)
            self.work += len(self.view)
        self.work += 2 * sum(len(edit.ranges.spans) for edit in edits[:1] if hasattr(edit, "ranges"))
        self.edits = edits
        self.versions.append(NativeVersion(kind, seq, edits, label, dict(said)))

    # -- the end ------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Apply the agent's own choice of a leaf; a last version where that is not what the history so far comes to."""
        if self.tail < 0:
            return
        leaf, by_bookmark = self._leaf()
        first = self.boundary if self.boundary >= 0 and self._too_large() and not self._preserves() else 0
        view = self._seen_from(leaf, first) if leaf >= 0 else []
        phantom = self.walked.phantom if leaf >= 0 else None
        cleared = self.bodies.forget_cleared()
        self.work = 0
        if view == self.view and not self.skipped:
            back = cleared.intersection(view)
            if back:
                label = "On resuming, the agent sends cleared tool results whole again"
                self._emit("replacement", self.last, label, {"results": len(back)})
            return
        kept = set(self.view).intersection(view)
        gone = set(self.view) - kept
        last = max(gone) if gone else self.last
        kind, label = self._break(phantom, keeps_some=bool(kept))
        if first and phantom is not None and self._seen_from(leaf) != view:
            label = "The file is larger than 5 MiB: the agent reads it from its last compaction on"
            last = max(last, self.tree.links[self.boundary].seq)
        elif by_bookmark and self.bookmark is not None:
            kind, label, last = (
                "branch",
                "The session was left standing on another branch",
                max(last, self.bookmark.seq),
            )
            if leaf < 0:
                kind, label = "rewind", "The session was wound back to before its first message"
        said = {"versions_left_out": self.skipped} if self.skipped else {}
        self.view = view
        self._emit(kind, max([last, *(version.at_seq for version in self.versions)]), label, said)

    def _too_large(self) -> bool:
        return self.size > WHOLE_FILE

    def _preserves(self) -> bool:
        facts = self.tree.links[self.boundary].facts.get("boundary")
        return isinstance(facts, Mapping) and bool(facts.get("keep") or facts.get("segment"))

    def _leaf(self) -> tuple[int, bool]:
        """The record from which the agent goes on, and whether the bookmark chose it; -1 for a session wound back to its start."""
        tail = self.tail
        if self.bookmark is None:
            return tail, False
        mark = self.bookmark.facts["bookmark"]
        explicit = mark.get("explicit") is True
        last_word = self.bookmark.seq > self.tree.links[tail].seq
        if mark.get("start"):
            return (-1, True) if explicit and last_word else (tail, False)
        node = self.tree.index.get(mark.get("leaf") or "")
        if node is None and mark.get("leaf") and self.forgot:
            raise Unfollowed
        if node is None or node == tail or self.relink.gone(node):
            return tail, False
        above_tail = node in set(self.tree.walk(tail, self.relink).nodes)
        if above_tail and not (explicit and last_word):
            return tail, False
        return node, True
