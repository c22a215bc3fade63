"""The versions the agent itself made: compactions, shortened results, rewinds, other branches, and history lost silently.

The transcript is followed in file order, as the agent lived it. Only where a record does not simply continue what went before is the
tree walked. At the end the agent's own choice of a leaf on loading is applied, so that the last version is what it would send next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sessions.adapters.base import Link, NativeVersion, PartsOf
from sessions.adapters.claude_code.edits import Bodies, edits_of
from sessions.adapters.claude_code.tree import NO_RELINK, Relink, Tree, Walk
from sessions.entries import Facts, Kind

_WALKED = 3_000_000  # nodes walked beyond which versions in the middle are left out; the last one is always made
_WHOLE_FILE = 5 * 1024 * 1024  # bytes above which the agent reads a file from its last boundary on


def native_versions(links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> list[NativeVersion]:
    """See `Adapter.history`."""
    del facts
    return _Follower(links, parts_of).follow()


class _Follower:
    def __init__(self, links: Sequence[Link], parts_of: PartsOf) -> None:
        self.all = links
        self.tree = Tree()
        self.bodies = Bodies(parts_of)
        self.parts_of = parts_of
        self.sent: list[int] = []  # seq of every sent entry of the main conversation so far
        self.view: list[int] = []  # seq of what is sent now, in order
        self.versions: list[NativeVersion] = []
        self.tail = -1  # the last record of the tree
        self.talk = -1  # the last user or assistant record
        self.loose = 0  # sent records since that are neither
        self.boundary = -1
        self.relink: Relink = NO_RELINK
        self.waiting: Link | None = None  # a boundary whose summary has not come yet
        self.retracted: set[str] = set()
        self.bookmark: Link | None = None
        self.walked = Walk([])
        self.skipped = 0
        self.known = {link.native_id for link in links if link.native_id}
        self.big = sum(link.length for link in links) > _WHOLE_FILE

    def follow(self) -> list[NativeVersion]:
        for link in self.all:
            if link.lane:
                continue
            if "t" in link.facts:
                self._record(link)
            else:
                self._loose(link)
            if link.sent:
                self.sent.append(link.seq)
        self._settle()
        return self.versions

    # -- record by record ---------------------------------------------------------------------------------------------

    def _record(self, link: Link) -> None:
        before_talk, began, loose = self.talk, self.tail >= 0, self.loose
        node = self.tree.add(link)
        if link.native_id or self.tail < 0 or not self.tree.links[self.tail].native_id:
            self.tail = node  # the agent does not go on from a record without an id
        if self.tree.talks[node]:
            self.talk, self.loose = node, 0
        elif link.sent:
            self.loose += 1
        if link.sent:
            self.view.append(link.seq)
        if "boundary" in link.facts:
            self.boundary, self.waiting = node, link
            self.bookmark = None
            return
        if self.waiting is not None and (link.kind is Kind.SUMMARY or self.tree.talks[node]):
            waiting, self.waiting = self.waiting, None
            self._compacted(waiting, link)
            return
        if link.facts.get("micro"):
            self._shortened(link)
        if link.facts.get("retract"):
            self._retracted(link)
        if link.kind is Kind.SUMMARY and link.native_parent is None and len(self.view) > 1:
            self.boundary = node  # an older file: the summary is the only mark
            self.relink = NO_RELINK
            self._compacted(link, link)
            return
        if self.tree.talks[node] and began and not self._continues(node, before_talk, loose):
            self._forked(link, node)

    def _continues(self, node: int, talk: int, loose: int) -> bool:
        """Whether the record surely leaves everything before it in view. False: the tree must be asked."""
        tree = self.tree
        wanted = tree.links[node].native_parent
        parent = tree.index.get(wanted, -1) if wanted else -1
        if parent < 0:
            # Its parent may come later in the file; the end of the history sees to that.
            return wanted is not None and wanted in self.known
        above = tree.talk_above[parent]
        if above == talk:
            return tree.loose_above[parent] == loose
        return loose == 0 and 0 <= above < node and talk >= 0 and tree.group[above] is not None and tree.group[above] == tree.group[talk]

    def _forked(self, link: Link, node: int) -> None:
        view = self._seen_from(node)
        earlier = [seq for seq in view if seq < link.seq]
        kind, label = self._break(bool(earlier))
        if kind == "branch" and (link.opens_turn or link.kind is Kind.COMMAND):
            kind, label = "rewind", "Rewound: a new message took up an earlier point"
        self._version(kind, link.seq, label, {"to": max(earlier)} if earlier else {}, view)

    def _break(self, keeps_some: bool) -> tuple[str, str]:
        """How the chain walked last parts from what went before."""
        if self.walked.phantom is not None:
            return "cut", "Earlier history is lost to the agent: a record's parent is not in the file"
        if not keeps_some:
            return "cut", "The conversation begins anew: nothing before is linked to it"
        return "branch", "Another branch was taken"

    def _compacted(self, mark: Link, summary: Link) -> None:
        self.relink = self.tree.relink_of(self.boundary) if self.boundary >= 0 else NO_RELINK
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
        self._version("compaction", summary.seq, label, said, self._seen_from(self.tail), always=True)

    def _shortened(self, link: Link) -> None:
        micro = link.facts["micro"]
        said = dict(micro.get("facts") or {})
        changed = self.bodies.clear(micro.get("ids") or (), self.all, self.view)
        said["results"] = changed
        saved = said.get("tokensSaved")
        label = "Old tool results cleared" + (f" ({saved:,} tokens saved)" if isinstance(saved, int) else "")
        self._emit("microcompaction", link.seq, label, said)

    def _retracted(self, link: Link) -> None:
        self.retracted.update(link.facts["retract"])
        gone = {self.tree.links[node].seq for one in self.retracted if (node := self.tree.index.get(one)) is not None}
        view = [seq for seq in self.view if seq not in gone]
        if view != self.view:
            self.view = view
            self._emit("replacement", link.seq, "The provider refused: what it retracted is no longer sent", {"retracted": len(gone)})

    def _loose(self, link: Link) -> None:
        facts = link.facts
        if "bookmark" in facts:
            self.bookmark = link
        elif facts.get("swap"):
            changed = self.bodies.swap(self.parts_of(link.seq), self.all, self.view)
            if changed:
                self._emit("replacement", link.seq, "Tool results replaced by shorter ones", {"results": changed})
        elif "collapse" in facts:
            self._collapsed(link)

    def _collapsed(self, link: Link) -> None:
        collapse = link.facts["collapse"]
        ends = [self.tree.index.get(collapse.get(key) or "") for key in ("firstArchivedUuid", "lastArchivedUuid")]
        if ends[0] is None or ends[1] is None:
            return
        first, last = (self.tree.links[node].seq for node in ends if node is not None)
        view = self.bodies.collapse(link.seq, self.view, first, last)
        if view is not None:
            self.view = view
            self._emit("replacement", link.seq, "A stretch of the conversation was collapsed into a summary", {})

    # -- what is in view ----------------------------------------------------------------------------------------------

    def _seen_from(self, node: int, first: int = 0) -> list[int]:
        """The entries sent when the conversation stands at `node`, in order."""
        tree, relink = self.tree, self.relink
        leaf = tree.talk_at_or_above(node, relink)
        if leaf < 0:
            # A boundary whose summary never came hides nothing: the agent goes on from the last words there are.
            leaf = self.talk if node == self.boundary and self.talk >= first else node
        if relink.kept and leaf == relink.anchor:
            leaf = relink.kept[-1]  # nothing follows the compaction yet: the kept ones are the end
        self.walked = tree.walk(leaf, relink, first)
        chain = self.walked.nodes
        beside = tree.siblings(chain, relink, first)
        hanging = tree.hangers_on(leaf, relink, first)
        nodes = _woven(chain, beside)
        there = set(nodes)
        nodes += [below for below in hanging if below not in there]
        tree.visited += len(nodes)
        gone = {tree.index[one] for one in self.retracted if one in tree.index}
        out = [tree.links[at].seq for at in nodes if tree.links[at].sent and at not in gone]
        return self.bodies.collapsed(out)

    def _version(self, kind: str, seq: int, label: str, said: Mapping[str, Any], view: list[int], *, always: bool = False) -> None:
        if view == self.view and not always:
            return
        self.view = view
        self._emit(kind, seq, label, said)

    def _emit(self, kind: str, seq: int, label: str, said: Mapping[str, Any]) -> None:
        """Record a version of the view as it stands. The entry being read counts as sent."""
        if self.tree.visited > _WALKED:
            self.skipped += 1
            return
        self.tree.visited += len(self.view)
        sent = self.sent if not self.view or (self.sent and self.sent[-1] >= max(self.view)) else [*self.sent, max(self.view)]
        edits = edits_of(sent, self.view, self.bodies, self.all, self.parts_of)
        self.versions.append(NativeVersion(kind, seq, edits, label, dict(said)))

    # -- the end ------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Apply the agent's own choice of a leaf; a last version where that is not what the history so far comes to."""
        if self.tail < 0:
            return
        leaf, by_bookmark = self._leaf()
        first = self.boundary if self.big and self.boundary >= 0 and not self._preserves() else 0
        view = self._seen_from(leaf, first) if leaf >= 0 else []
        cleared = self.bodies.forget_cleared()
        if view == self.view and not self.skipped:
            if cleared and not cleared.isdisjoint(view):
                label = "On resuming, the agent sends cleared tool results whole again"
                self._emit("replacement", self.all[-1].seq, label, {"results": len(cleared.intersection(view))})
            return
        kept = set(self.view).intersection(view)
        gone = set(self.view) - kept
        last = max(gone) if gone else self.all[-1].seq
        kind, label = self._break(bool(kept))
        if first and self.walked.phantom is not None and self._seen_from(leaf) != view:
            label = "The file is larger than 5 MiB: the agent reads it from its last compaction on"
            last = max(last, self.tree.links[self.boundary].seq)
        elif by_bookmark and self.bookmark is not None:
            kind, label, last = "branch", "The session was left standing on another branch", max(last, self.bookmark.seq)
            if leaf < 0:
                kind, label = "rewind", "The session was wound back to before its first message"
        said = {"versions_left_out": self.skipped} if self.skipped else {}
        self.view = view
        self.tree.visited = 0
        self._emit(kind, max([last, *(version.at_seq for version in self.versions)]), label, said)

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
        if node is None or node == tail or self.relink.gone(node):
            return tail, False
        above_tail = node in set(self.tree.walk(tail, self.relink).nodes)
        if above_tail and not (explicit and last_word):
            return tail, False
        return node, True


def _woven(chain: list[int], beside: Mapping[int, list[int]]) -> list[int]:
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
