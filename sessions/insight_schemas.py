"""The JSON of what fills a context, of the difference of two, and of the layers of memory, as `findings` makes it."""

from __future__ import annotations

from ninja import Field, Schema

from sessions.schemas import Id, Time


class RecordedOut(Schema):
    tokens: int
    whose: str


class AmountOut(Schema):
    kind: str
    label: str
    tokens: int
    entries: int
    share: float = Field(description="of the whole, 0 to 1")


class BigOut(Schema):
    key: str = Field(description='"e1083" is entry 1083, "i2" the third insertion of the version')
    seq: int | None
    after: int = Field(description="the entry itself, or the one behind which the text is put in")
    position: int | None
    kind: str
    tool: str | None
    tokens: int
    share: float
    masked: bool
    words: str


class FillsOut(Schema):
    """What fills a context, before the agent's own wiring."""

    session: Id
    agent: str
    version: int | None
    step: int | None
    until_seq: int | None
    meter: str
    counts: str
    tokens: int
    items: int
    recorded: RecordedOut | None = Field(
        description="the agent's own count of the same context, where it wrote one down"
    )
    by_kind: list[AmountOut]
    tool_results: list[AmountOut]
    biggest: list[BigOut]
    next: str | None = Field(description="`after` of the next page of the biggest entries")


class SideOut(Schema):
    name: str
    version: int | None
    step: int | None
    until_seq: int | None
    tokens: int
    items: int


class ChangeOut(Schema):
    items: int
    tokens: int = Field(description="what the change adds to the context; negative where it takes away")


class BodyOut(Schema):
    position: int
    kind: str
    label: str
    tokens: int
    stands_for: list[list[int]]
    words: str


class BlockOut(Schema):
    n: int
    change: str = Field(description="same, added, gone, masked, unmasked, rewritten, inserted, dropped")
    sign: str
    first: int
    last: int
    items: int
    kinds: dict[str, int] = Field(description="entries by kind; empty where it is text that a version puts in")
    left: int
    right: int
    name: str = Field(description="of a block of one entry: its tool, else its kind")
    words: str
    was: BodyOut | None
    is_: BodyOut | None = Field(alias="is")


class DiffOut(Schema):
    """How one context differs from another, in order. Stretches of one change are one block."""

    session: Id
    agent: str
    meter: str
    left: SideOut
    right: SideOut
    differences: int
    changes: dict[str, ChangeOut]
    blocks: list[BlockOut]
    next: int | None = Field(description="`after` of the next page")


class LoadOut(Schema):
    seq: int | None
    after: int
    position: int | None
    turn: int | None
    step: int | None
    at: Time | None
    how: str
    tokens: int
    in_context: bool
    why_not: str
    changed: bool
    words: str


class LayerOut(Schema):
    scope: str = Field(description="base, global, project, local, folder, unknown")
    scope_words: str
    path: str | None
    in_context: bool
    tokens: int
    loads: list[LoadOut]


class MemoryOut(Schema):
    """The memory files a session carried up to a moment."""

    session: Id
    agent: str
    version: int | None
    step: int | None
    until_seq: int | None
    meter: str
    tokens: int = Field(description="of the files in the context; the agent's own instructions are not among them")
    note: str
    layers: list[LayerOut]
