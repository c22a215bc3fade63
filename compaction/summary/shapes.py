"""The shapes a summary may have, and what is wrong with a text that should have one. Each is named by `SummaryAsk.template`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compaction.summary import template

CONCLUSION = "conclusion"
NINE, SNAPSHOT, WORK_STATE, HANDOFF, PLAIN = "nine-sections", "state-snapshot", "work-state", "handoff", "plain"
EARLY_SNAPSHOT, DISCOVERIES, REQUIREMENTS, WORKFLOWS = "state-snapshot-2025", "discoveries", "requirements", "workflows"


@dataclass(frozen=True, slots=True)
class Shape:
    """`parts`: headings of Markdown in order, or the children of the XML element `root`. Neither: running text."""

    id: str
    label: str
    parts: tuple[str, ...] = ()
    root: str = ""


SHAPES: Mapping[str, Shape] = {
    shape.id: shape
    for shape in (
        Shape(NINE, "nine sections", template.TITLES),
        Shape(
            SNAPSHOT,
            "state snapshot",
            (
                "overall_goal",
                "active_constraints",
                "key_knowledge",
                "artifact_trail",
                "file_system_state",
                "recent_actions",
                "task_state",
            ),
            "state_snapshot",
        ),
        Shape(
            WORK_STATE,
            "objective and work state",
            ("Objective", "Important Details", "Work State", "Next Move", "Relevant Files"),
        ),
        Shape(
            EARLY_SNAPSHOT,  # Gemini CLI, 2025
            "state snapshot, 2025",
            ("overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan"),
            "state_snapshot",
        ),
        Shape(
            DISCOVERIES,  # OpenCode 1.2
            "goal and discoveries",
            ("Goal", "Instructions", "Discoveries", "Accomplished", "Relevant files"),
        ),
        Shape(
            REQUIREMENTS,  # OpenCode 2.0
            "requirements and decisions",
            (
                "Objective",
                "Requirements",
                "Decisions",
                "Work State",
                "Next Move",
                "Relevant Files",
                "Additional Context",
            ),
        ),
        Shape(
            WORKFLOWS,  # j-cli 12.9
            "nine sections with workflows",
            (
                "Primary Request",
                "Key Concepts",
                "Files and Code",
                "Errors and Fixes",
                "Problem Solving",
                "Active Skills/Workflows",
                "Pending Tasks",
                "Current Work",
                "Next Step",
            ),
        ),
        Shape(
            HANDOFF,
            "handoff",
            ("Goal", "Decisions", "State", "Files", "Constraints", "First Step"),
        ),
        Shape(CONCLUSION, "conclusion"),  # of a goal, of a stretch: a few lines, without headings
        Shape(PLAIN, "plain text"),
    )
}


def runs_on(shape: str) -> bool:
    """Whether a summary of this shape is running text. A shape nobody knows is."""
    known = SHAPES.get(shape)
    return known is None or not known.parts


def faults(shape: str, text: str) -> list[str]:
    """What is wrong with `text` as a summary of this shape, in words; [] where nothing is. A shape nobody knows asks only for words.

    The nine sections do in the place of any other shape: the extractive summariser writes them whatever was asked for.
    """
    if not text.strip():
        return ["the summary is empty"]
    known = SHAPES.get(shape)
    if known is None or runs_on(shape):
        return []
    nine = template.faults(text)
    if known.id == NINE or not nine:
        return nine
    return _faults_of_xml(known, text) if known.root else _faults_of_headings(known, text)


def _faults_of_xml(shape: Shape, text: str) -> list[str]:
    body = re.search(rf"<{shape.root}>(.*)</{shape.root}>", text, re.DOTALL)
    if body is None:
        return [f"there is no whole <{shape.root}> element"]
    found = {tag: re.search(rf"<{tag}>(.*?)</{tag}>", body[1], re.DOTALL) for tag in shape.parts}
    missing = [f"<{tag}>" for tag, match in found.items() if match is None]
    if missing:
        return [f"the snapshot lacks {', '.join(missing)}"]
    if not any(match is not None and match[1].strip() for match in found.values()):
        return ["the snapshot has elements and nothing in them"]
    return []


def _faults_of_headings(shape: Shape, text: str) -> list[str]:
    places = {title: _place(title, text) for title in shape.parts}
    missing = [title for title, place in places.items() if place is None]
    if missing:
        return [f"the summary lacks {template.joined(missing)}"]
    if not _body(shape.parts, text):
        return ["the summary has headings and nothing under them"]
    return []


def _place(title: str, text: str) -> int | None:
    match = re.search(
        rf"^ {{0,3}}#{{1,4}}\s*(?:\d+[.)]\s*)?{re.escape(title)}\b.*$", text, re.MULTILINE | re.IGNORECASE
    )
    return None if match is None else match.start()


def _body(titles: Sequence[str], text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.split("\n"))
