"""The forms of the API of goals, in and out."""

from __future__ import annotations

from ninja import Field, Schema


class EvidenceOut(Schema):
    seq: int
    what: str


class AbandonmentOut(Schema):
    id: int
    session: str
    path: str
    text: str
    status: str = Field(description="abandoned (somebody said so), dropped (nobody did)")
    how: str = Field(description="stated, person, vanished, cut_off, compacted, left_open")
    confidence: float
    why_found: str
    evidence: list[EvidenceOut]
    reason: str
    reason_stated: bool
    cause: str
    cause_found: str
    cause_corrected: bool
    review: str = Field(description="unreviewed, accepted, follow_up, not_abandoned")
    assignee: str | None = Field(None, description="who sees to it")
    stands: bool
    agent: str
    project: str | None
    model: str | None
    at: str | None
    week: str | None
    entries: int
    steps: int
    tokens: int
    spent: int | None
    cost: float | None
    seconds: int | None
    attempts: int
    errors: int
    tests: int
    tests_failed: int
    files: list[str]
    first_seq: int
    last_seq: int


class AbandonedItem(AbandonmentOut):
    title: str
    agent_version: str | None
    owner: str | None
    also_in: int = Field(description="other sessions in which a goal of the same or like words was given up")
    together_by: str | None = Field(None, description="why it counts as the same goal as those")


class SumsOut(Schema):
    goals: int
    sessions: int
    unreviewed: int
    tokens: int
    cost: float | None
    seconds: int | None


class ChoiceOut(Schema):
    value: str
    label: str
    goals: int
    tokens: int
    chosen: bool


class WeekOut(Schema):
    week: str
    goals: int
    tokens: int
    to_review: int
    tokens_to_review: int
    cost: float | None


class AbandonedOut(Schema):
    items: list[AbandonedItem]
    next: str | None
    sums: SumsOut | None = None
    facets: dict[str, list[ChoiceOut]] | None = None
    weeks: list[WeekOut] | None = None


class AttemptOut(Schema):
    first_seq: int
    last_seq: int
    entries: int
    steps: int
    tokens: int
    said: str
    ended: str
    failed: bool


class FailureOut(Schema):
    seq: int
    tool: str | None
    line: str


class TriedOut(AbandonmentOut):
    attempt: list[AttemptOut]
    failures: list[FailureOut]
    folded_entries: int = Field(description="sent no longer")
    folded_tokens: int
    elsewhere: list[int] = Field(description="ids of the same goal given up in other sessions")
    together_by: str
    take_up: str = Field(
        description="the goal of a new session that takes it up again: `compact --strategy handoff --set goal=…`"
    )


class CarriedGoal(Schema):
    path: str
    text: str
    fate: str = Field(description="carried, reworded, lost")
    seq: int | None = Field(description="the entry that has it behind the compaction")
    inserted: bool = Field(description="it stands in what the compaction put in")
    stated_again: int | None


class CarriedOut(Schema):
    version: int
    kind: str
    at_seq: int
    carried: int
    reworded: int
    lost: int
    goals: list[CarriedGoal]


class BranchOut(Schema):
    text: str
    status: str
    conclusion: str | None
    session: str | None
    goal: str | None
    entries: int
    steps: int
    tokens: int | None


class ExplorationOut(Schema):
    question: str
    goal: str | None
    seq: int | None
    branches: list[BranchOut]


class GoalWhole(Schema):
    path: str
    parent: str | None
    text: str
    was: str | None
    status: str = Field(description="in force: pending, in_progress, completed, abandoned, dropped")
    stated: str | None = Field(description="the agent's own")
    note: str | None
    kind: str = Field(description="goal, exploration, branch")
    first_seq: int
    last_seq: int
    closed_seq: int | None
    inferred: bool
    added: bool
    entries: int
    tokens: int
    steps: int
    seconds: int | None
    first_at: str | None
    last_at: str | None
    attempts: int
    errors: int
    tests: int
    tests_failed: int
    files: list[str]
    more_files: int
    spans: list[list[int]]
    abandonment: AbandonmentOut | None = None
    spent: int | None = None
    cost: float | None = None
    model: str | None = None
    current: bool = False
    explorations: list[ExplorationOut] = []


class TreeOut(Schema):
    session: str
    inferred: bool
    current: str | None
    entries: int
    entries_of_none: int
    goals: list[GoalWhole]
    explorations: list[ExplorationOut]


class MarkedOut(Schema):
    session: str
    verb: str
    path: str
    goals: list[GoalWhole]


class GoalIn(Schema):
    text: str
    under: str | None = None
    focus: bool = False


class ExploreIn(Schema):
    question: str
    branches: list[str]
    under: str | None = None


class SummaryIn(Schema):
    summary: str


class ReasonIn(Schema):
    reason: str


class CauseIn(Schema):
    cause: str


class ReviewIn(Schema):
    goals: list[int] = Field(description="ids of goals that were given up, 500 at most")
    state: str = Field(description="unreviewed, accepted, follow_up, not_abandoned")
    comment: str = ""
    assignee: str = Field("", description="name of a member; - takes it away")


class ReviewOut(Schema):
    before: str
    after: str
    comment: str
    assignee: str | None
    by: str | None
    at: str


class ReviewedOut(Schema):
    items: list[AbandonmentOut]
