"""A list of messages inside one record: what `$set.messages`, an imported header or a compaction writes, as parts and short facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sessions.adapters.gemini_cli.content import atoms, model_parts, parts_of, results, user_text, words
from sessions.adapters.gemini_cli.people import ENVIRONMENT, is_snapshot, left_out
from sessions.entries import Part, Role

LETTERS = {"user": "u", "gemini": "g", "info": "x", "error": "x", "warning": "x"}
THANKS = "Got it. Thanks for the additional context!"


@dataclass(frozen=True, slots=True)
class Listed:
    """One message of a list. `letter`: u user, g model, x never sent; `count`: of its parts in the record's entry."""

    id: str
    letter: str
    count: int
    atoms: tuple[str, ...]
    results: Mapping[str, str]
    form: str = ""  # env, snapshot, thanks

    def to_json(self) -> list[Any]:
        return [self.id, self.letter, self.count, list(self.atoms), dict(self.results), self.form]

    @classmethod
    def from_json(cls, raw: Sequence[Any]) -> Listed:
        name, letter, count, said, answered, form = raw
        return cls(name, letter, count, tuple(said), dict(answered), form)


def listed_messages(raw: Sequence[Any]) -> tuple[list[Part], list[Listed]]:
    """The parts of all messages one after another, and what each is. What has no id is no message to the agent."""
    parts: list[Part] = []
    out: list[Listed] = []
    for record in raw:
        if not isinstance(record, dict) or not isinstance(record.get("id"), str):
            continue
        letter = LETTERS.get(str(record.get("type")), "x")
        found, form = message_parts(record, letter)
        parts += found
        out.append(Listed(record["id"], letter, len(found), tuple(atoms(found)), results(found), form))
    return parts, out


def message_parts(record: Mapping[str, Any], letter: str) -> tuple[list[Part], str]:
    """The parts of a message that may be sent, and its form."""
    if letter == "g":
        found = model_parts(record)
        return found, "thanks" if words(found).strip() == THANKS else ""
    if letter != "u":
        return [], ""
    text = user_text(record.get("content")).strip()
    if text.startswith(ENVIRONMENT):
        return parts_of(record.get("content"), Role.USER), "env"
    if left_out(text):
        return [], ""
    return parts_of(record.get("content"), Role.USER), "snapshot" if is_snapshot(text) else ""


def new_snapshot(messages: Sequence[Listed], known: Sequence[str]) -> str | None:
    """The id of the summary with which a list begins, where it is a compaction's: not listed before, and acknowledged by the model."""
    rest = [message for message in messages if message.form != "env" and message.letter != "x"]
    if rest and rest[0].form == "snapshot" and rest[0].id not in known:
        return rest[0].id
    return None
