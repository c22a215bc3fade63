"""Counts model requests in a log that does not number them, and says what each cost.

A request's entries lie between what goes in (a person's message, results, a compaction) and its usage. Three habits of the agent:
usage before the items (to about 0.5x; then calls and their results come in pairs), usage after the items and before the results
(since), and none at all (flat files). Usage rules: input includes cached; output includes reasoning; the same `token_count` is
written again and again; a `token_usage_record` is the better source where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sessions.entries import Usage

_REMEMBERED = 64  # response ids: a record is repeated soon or not at all


@dataclass(slots=True)
class Requests:
    """The newest request, and the agent's counters as last seen.

    `open`: whether entries may still join it; `items`, `used`: whether it has some, and its usage; `paired`: results do not close it.
    `usage_first`: the habit of the version that writes. `records`: `token_usage_record` lines were seen. `total`, `last`: of the
    newest `token_count`. `seen`: response ids counted.
    """

    number: int = 0
    open: bool = False
    items: bool = False
    used: bool = False
    paired: bool = False
    usage_first: bool = False
    records: bool = False
    total: dict[str, Any] | None = None
    last: dict[str, Any] | None = None
    window: int | None = None
    seen: list[str] = field(default_factory=list)

    def output(self) -> str:
        """Key of the request that an item made by the model belongs to."""
        if not self.open or (self.items and self.used and not self.paired):
            self._begin(paired=self.usage_first)
        self.items = True
        return f"r{self.number}"

    def result(self) -> None:
        """The result of a call was logged: what the model says next is another request's, unless calls and results come in pairs."""
        if not self.paired:
            self.open = False

    def close(self) -> None:
        """Something else went in: the next output belongs to another request."""
        self.open = False
        self.paired = False

    def record(self, raw: Mapping[str, Any]) -> tuple[str | None, Usage | None]:
        """Key and usage of a `token_usage_record`; no usage where its response was counted before."""
        self.records = True
        response = raw.get("response_id")
        if isinstance(response, str):
            if response in self.seen:
                return None, None
            self.seen = [*self.seen[-_REMEMBERED + 1 :], response]
        usage = _usage(raw.get("usage"), self.window)
        return (None, None) if usage is None else (self._spend(), usage)

    def token_count(self, info: Any, *, copied: bool) -> tuple[str | None, Usage | None]:
        """Key and usage of a `token_count`; none where it says nothing new, or is a copy of another session's."""
        if not isinstance(info, dict):
            return None, None
        if isinstance(window := info.get("model_context_window"), int) and window > 0:
            self.window = window
        total, last = _counts(info.get("total_token_usage")), _counts(info.get("last_token_usage"))
        moved, changed = total != self.total, last != self.last
        self.total, self.last = total, last
        if copied or last is None:
            return None, None
        gauge = self._gauge(total, last)
        if gauge is not None:
            if not (changed or moved):
                return None, None
            self._begin(paired=False)
            self.close()
            return f"r{self.number}", Usage(total=gauge, window=self.window, estimated=True)
        if self.records or not moved:
            return None, None
        usage = _usage(last, self.window)
        return (None, None) if usage is None else (self._spend(), usage)

    def state(self) -> list[Any]:
        return [
            self.number,
            self.open,
            self.items,
            self.used,
            self.paired,
            self.usage_first,
            self.records,
            self.total,
            self.last,
            self.window,
            self.seen,
        ]

    @classmethod
    def from_state(cls, raw: list[Any]) -> Requests:
        return cls(*raw)

    def _begin(self, *, paired: bool) -> None:
        self.number += 1
        self.open = True
        self.items = False
        self.used = False
        self.paired = paired

    def _spend(self) -> str:
        if not self.open or self.used:
            self._begin(paired=self.usage_first)
            if not self.usage_first:
                self.open = False  # a request without items: of a compaction
        self.used = True
        return f"r{self.number}"

    @staticmethod
    def _gauge(total: dict[str, Any] | None, last: dict[str, Any]) -> int | None:
        """Tokens of the window taken, where the agent wrote an estimate: after a compaction, a rollback, an overflow."""
        if any(last.get(key) for key in ("input_tokens", "cached_input_tokens", "output_tokens")):
            return None
        estimate = last.get("total_tokens")
        if not isinstance(estimate, int) or estimate <= 0:
            return None
        whole = (total or {}).get("total_tokens")
        overflow = not (total or {}).get("input_tokens") and isinstance(
            whole, int
        )  # then the total is the window's size
        return whole if overflow else estimate


def _counts(raw: Any) -> dict[str, Any] | None:
    if not isinstance(raw, dict):
        return None
    return {key: value for key, value in raw.items() if isinstance(value, int) and not isinstance(value, bool)}


def _usage(raw: Any, window: int | None) -> Usage | None:
    """A usage of the API in disjoint parts."""
    counts = _counts(raw)
    if counts is None or not ({"input_tokens", "output_tokens"} & counts.keys()):
        return None
    whole, cached, written = (
        counts.get("input_tokens"),
        counts.get("cached_input_tokens"),
        counts.get("cache_write_input_tokens"),
    )
    output, total = counts.get("output_tokens"), counts.get("total_tokens")
    if not whole and not output and not total:
        return None
    fresh = None if whole is None else max(whole - (cached or 0) - (written or 0), 0)
    said = (whole or 0) + (output or 0)
    return Usage(
        fresh=fresh,
        cache_read=cached,
        cache_write=written,
        output=output,
        reasoning=counts.get("reasoning_output_tokens"),
        total=total if total is not None and total != said else None,
        window=window,
    )
