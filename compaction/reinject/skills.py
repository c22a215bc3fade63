"""Skills that a session invoked, as their texts reached the model.

Claude Code answers the call with a line and sends the text as a message of its own; OpenCode, Gemini CLI and j-cli answer with the text;
Codex puts it beside a person's message, in a tag.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from compaction.plan import Count, Given, GivenAnswer, SkillsAsk
from compaction.reinject.cutting import LEAST, head_of
from compaction.tools import ToolKind, kind_of, understand
from sessions.contexts import InsertKind, Item
from sessions.entries import PartKind

_OWN_MESSAGE = "Base directory for this skill:"
_FOLDER = re.compile(r"Base directory for this skill:\s*(\S+)")
_TAGGED = re.compile(r"\A\s*<skill>\s*<name>([^<\n]{1,200})</name>")
_NAMES = ("skill", "name", "skill_name", "command")
_AN_ANSWER = 200  # characters: a result of fewer only says that the skill was launched


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    text: str
    seqs: tuple[int, ...]


def invoked(log: Sequence[Item]) -> list[Skill]:
    """The skills whose texts are known, each once and as it was loaded last, the latest first."""
    found: dict[str, Skill] = {}
    called: dict[str, str] = {}
    last = ""

    def take(name: str, text: str, item: Item) -> None:
        found.pop(name, None)
        found[name] = Skill(name, text, () if item.seq is None else (item.seq,))

    for item in log:
        for part in item.parts:
            if part.kind is PartKind.TOOL_CALL and part.call_id and kind_of(part.tool or "") is ToolKind.SKILL:
                args = understand(part).args or {}
                last = next((args[name] for name in _NAMES if isinstance(args.get(name), str) and args[name]), "skill")
                called[part.call_id] = last
            elif part.kind is PartKind.TOOL_RESULT and part.call_id in called and not part.is_error:
                if len(part.text) > _AN_ANSWER:
                    take(called[part.call_id], part.text, item)
            elif part.kind is PartKind.TEXT and part.text.startswith(_OWN_MESSAGE):
                folder = _FOLDER.match(part.text)
                named = folder[1].rstrip("/").rpartition("/")[2] if folder is not None else ""
                take(last or named or "skill", part.text, item)
                last = ""
            elif part.kind is PartKind.TEXT and (tagged := _TAGGED.match(part.text)) is not None:
                take(tagged[1].strip(), part.text, item)
    return list(reversed(found.values()))


def answer_skills(ask: SkillsAsk, log: Sequence[Item], count: Count) -> GivenAnswer:
    """The skills of a transcript within the ask's budgets, each cut to its head where it is longer."""
    given: list[Given] = []
    left_out: list[tuple[str, str]] = []
    room = ask.total
    for skill in invoked(log):
        if skill.seqs and all(seq in ask.kept for seq in skill.seqs):
            continue  # the kept part shows it word for word
        at = f", at entry {skill.seqs[-1]}" if skill.seqs else ""
        header = f"Skill that this session invoked{at}: {skill.name}\n\n"
        budget = min(ask.each, room) - count([header])[0]
        text, cut = head_of(skill.text, budget, count) if budget >= LEAST else ("", 0)
        if not text:
            left_out.append((skill.name, f"no room: {room:,} of {ask.total:,} tokens left"))
            continue
        whole = header + text
        tokens = count([whole])[0]
        given.append(Given(InsertKind.SKILL, skill.name, whole, tokens, skill.seqs, cut))
        room -= tokens
    return GivenAnswer(ask.key, tuple(given), tuple(left_out))
