"""The message whose parts are being read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sessions.adapters.opencode.values import inside, number, usage, words

_ABORTED = "MessageAbortedError"


@dataclass(slots=True)
class Said:
    """What parts need of their message.

    `summary`: a compaction's. `error`: the name of what went wrong. `done`: names the request across copies, since a fork gets new ids
    and keeps times and figures. `block`: which step of the message; `opened`: a part of a person opened the turn. `call`: id, call id
    and tool of the part whose state comes next. `second`: a row of the second store.
    """

    id: str | None = None
    role: str = ""
    created: float | None = None
    model: str | None = None
    summary: bool = False
    error: str | None = None
    done: str | None = None
    block: int = 0
    opened: bool = False
    call: tuple[str | None, str | None, str | None] | None = None
    second: bool = False

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Said:
        role = str(info.get("role"))
        failed = info.get("error")
        created = inside(info, "time", "created")
        figures = usage(info.get("tokens"))
        done = number(inside(info, "time", "completed")) if figures else None
        return cls(
            id=words(info.get("id")),
            role=role,
            created=created if isinstance(created, int | float) and not isinstance(created, bool) else None,
            model=words(info.get("modelID")) or words(inside(info, "model", "modelID")),
            summary=role == "assistant" and info.get("summary") is True,
            error=(words(failed.get("name")) or "error") if isinstance(failed, dict) else None,
            done=f"{number(created)}-{done}-{figures.prompt}-{figures.output}" if figures and done else None,
        )

    @property
    def assistant(self) -> bool:
        return self.role == "assistant"

    @property
    def aborted(self) -> bool:
        return self.error == _ABORTED

    @property
    def sent(self) -> bool:
        """Whether its parts reach the model: those of a failed answer do not, unless a person stopped it."""
        return self.error is None or self.aborted

    def step(self) -> dict[str, Any]:
        """Which request an entry belongs to, as fields of an entry."""
        if not self.assistant or self.id is None:
            return {}
        n = max(self.block, 1)
        return {"step_key": f"{self.id}#{n}", "response_id": f"{self.done}#{n}" if self.done else None}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Said:
        call = raw["call"]
        return cls(**{**raw, "call": tuple(call) if call is not None else None})
