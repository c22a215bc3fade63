"""Asks a real agent what its model is sent when it resumes a session file, and compares that with our context, block for block.

The agents are the ones that `tools/resume` of the shared material installs; the environment variable RESUME_AGENTS names their folder.
Without it, or without the material, a test that asks skips and says why.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

from sessions.contexts import Item
from sessions.entries import Part, PartKind, Role


@dataclass(frozen=True)
class Sent:
    """One block of what a model is sent. `kind`: text, context, reasoning, tool_call, tool_result, image, other."""

    role: str
    kind: str
    text: str
    tool: str | None = None
    call_id: str | None = None


@dataclass(frozen=True)
class Answer:
    """What the agent did. `history`: the blocks before the prompt it was resumed with; `messages`: all of them."""

    verdict: str
    reason: str | None
    history: list[Sent]
    messages: list[Sent]


@dataclass(frozen=True)
class Rule:
    """A difference that is tolerated, by name and with its reason. `apply` gives the block as compared, or None to leave it out."""

    name: str
    reason: str
    apply: Callable[[Sent], Sent | None]


@dataclass
class Comparison:
    """What was tolerated, by rule and side, and what differs in spite of it."""

    tolerated: Counter[tuple[str, str]] = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)


def harness(shared: Path) -> tuple[Path, Path]:
    """The resume script and the folder of installed agents; skips the test where either is missing."""
    script = shared / "tools" / "resume" / "resume.py"
    agents = os.environ.get("RESUME_AGENTS")
    if not agents:
        pytest.skip("RESUME_AGENTS names no folder of installed agents")
    if not Path(agents).is_dir():
        pytest.skip("the folder that RESUME_AGENTS names does not exist")
    if not script.is_file():
        pytest.skip("the shared resume harness is not here")
    return script, Path(agents)


def ask(
    agent: str, session: Path, shared: Path, *, prompt: str = "continue", companions: Sequence[Path] = ()
) -> Answer:
    """Resume `session` in the real agent, offline, with `prompt`."""
    script, agents = harness(shared)
    command = [sys.executable, str(script), agent, str(session), "--prompt", prompt, "--json", "--agents", str(agents)]
    for companion in companions:
        command += ["--with", str(companion)]
    ran = subprocess.run(command, capture_output=True, check=False)
    if ran.returncode == 2:
        words = ran.stderr.decode(errors="replace").strip()
        if "installed" in words or "agents" in words:
            pytest.skip(words)
        raise RuntimeError(words)
    return answer_of(json.loads(ran.stdout), prompt)


def answer_of(report: dict[str, Any], prompt: str) -> Answer:
    """The harness's report in our shape."""
    messages = [sent for raw in report["messages"] for sent in _blocks(raw)]
    at = next(
        (
            n
            for n in range(len(messages) - 1, -1, -1)
            if messages[n].role == "user" and messages[n].text.strip() == prompt
        ),
        len(messages),
    )
    return Answer(report["verdict"], report["reason"], messages[:at], messages)


def flatten(items: Iterable[Item]) -> list[Sent]:
    """A context as blocks, the way the harness prints a request."""
    tools: dict[str, str | None] = {}
    out: list[Sent] = []
    for item in items:
        for part in item.parts:
            sent = _sent(item, part)
            if sent is None:
                continue
            if sent.kind == "tool_call" and sent.call_id:
                tools[sent.call_id] = sent.tool
            if sent.kind == "tool_result" and sent.call_id:
                sent = replace(sent, tool=tools.get(sent.call_id))
            out.append(sent)
    return out


def joined(blocks: Iterable[Sent]) -> list[Sent]:
    """Neighbouring blocks of the system as one, an empty line between: some agents send them so."""
    out: list[Sent] = []
    for block in blocks:
        if out and block.role == "system" and out[-1].role == "system":
            out[-1] = replace(out[-1], text=f"{out[-1].text}\n\n{block.text}")
        else:
            out.append(block)
    return out


def differences(ours: Sequence[Sent], agents: Sequence[Sent], rules: Sequence[Rule]) -> Comparison:
    """Compare block for block. Every block that a rule changes or leaves out is counted under the rule's name."""
    outcome = Comparison()
    mine = _ruled(ours, rules, "ours", outcome)
    theirs = _ruled(agents, rules, "agent", outcome)
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            outcome.left.append(
                f"{tag} ours[{a}:{b}] agent[{c}:{d}]:\n  - {_show(mine[a:b])}\n  + {_show(theirs[c:d])}"
            )
    return outcome


def _ruled(blocks: Sequence[Sent], rules: Sequence[Rule], side: str, outcome: Comparison) -> list[Sent]:
    out: list[Sent] = []
    for block in blocks:
        current: Sent | None = block
        for rule in rules:
            before = current
            current = rule.apply(before) if before is not None else None
            if current != before:
                outcome.tolerated[rule.name, side] += 1
            if current is None:
                break
        if current is not None:
            out.append(current)
    return out


def _sent(item: Item, part: Part) -> Sent | None:
    role = str(part.role or item.role or "")
    match part.kind:
        case PartKind.TEXT:
            role = "user" if role == Role.TOOL else role
            return Sent(role, "context" if _around(role, part.text) else "text", part.text)
        case PartKind.REASONING:
            return Sent(role, "reasoning", part.text)
        case PartKind.TOOL_CALL:
            return Sent(role, "tool_call", _canonical(part.text), part.tool, part.call_id)
        case PartKind.TOOL_RESULT:
            return Sent("tool", "tool_result", part.text, None, part.call_id)
        case PartKind.MEDIA:
            return Sent("tool" if part.call_id else role, "image", part.media_type or "")
        case PartKind.OTHER:
            return Sent(role, "other", _canonical(part.text))
        case _:
            return None


# What the harness calls context: text that agents wrap around a conversation.
_CONTEXT_OPENINGS = (
    "<system-reminder>",
    "<environment_context>",
    "<permissions instructions>",
    "<user_instructions>",
    "<session_context>",
    "<hook_context>",
    "# AGENTS.md instructions",
)


def _around(role: str, text: str) -> bool:
    return role in ("system", "developer") or text.lstrip().startswith(_CONTEXT_OPENINGS)


def _blocks(raw: dict[str, Any]) -> Iterable[Sent]:
    """The harness's block; media inside a tool result, which it prints as JSON, become blocks of their own."""
    sent = Sent(raw["role"], raw["kind"], raw["text"], raw.get("tool"), raw.get("call_id"))
    if sent.kind == "tool_call":
        yield replace(sent, text=_canonical(sent.text))
        return
    if sent.kind != "tool_result":
        yield sent
        return
    kept: list[str] = []
    media: list[Sent] = []
    for line in sent.text.split("\n"):
        found = _media(line)
        if found is None:
            kept.append(line)
        else:
            media.append(Sent("tool", "image", found))
    yield replace(sent, role="tool", text="\n".join(kept))
    yield from media


def _media(line: str) -> str | None:
    if not re.match(r'\{"type": "(image|document|input_image)"', line) and '"type": "base64"' not in line[:400]:
        return None
    try:
        block = json.loads(line)
    except ValueError:
        return None
    source = block.get("source")
    if not isinstance(source, dict):
        return None
    return str(source.get("media_type", ""))


def _canonical(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return text


def _show(blocks: Sequence[Sent], most: int = 4, width: int = 160) -> str:
    shown = [
        f"{b.role} {b.kind} {b.tool or ''} {b.call_id or ''} {b.text[:width]!r} ({len(b.text)})" for b in blocks[:most]
    ]
    more = f" … and {len(blocks) - most} more" if len(blocks) > most else ""
    return "\n    ".join(shown) + more if shown else "(nothing)"
