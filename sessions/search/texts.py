"""What of an entry is looked through, and what it is filed under besides: who speaks, tool, files, day. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson

from sessions.ansi import plain
from sessions.calls import call_of, files_of, nature_of
from sessions.entries import Part, PartKind
from sessions.outputs import printed

HEAD, TAIL = 16_000, 4_000  # characters of a part that are looked through: an error stands at the end of an output

# Who speaks, as facets and `role:` name them; the order is that of the bitmaps of a volume and never changes.
CLASSES = ("person", "assistant", "reasoning", "calls", "outputs", "harness", "summaries", "unsent", "errors")
_CLASS_OF = {
    "prompt": 0, "command": 0, "message": 1, "reasoning": 2, "tool_call": 3, "tool_result": 4, "context": 5, "media": 0, "summary": 6,
    "compaction": 6,
}  # fmt: skip
ERRORS = CLASSES.index("errors")
# How outputs begin whose frame says how the command ended.
_FRAMES = (
    '{"output"', "Chunk ID", "Wall time", "Process ", "Original token", "Exit code", "Total output", "Output: ", "Command: ", "Stdout: ",
)  # fmt: skip
_FILES = ("file_path", "filePath", "absolute_path", "notebook_path", "target_file", "path", "paths", "dir_path")


def class_of(kind: str) -> int:
    """The place in CLASSES of an entry's kind."""
    return _CLASS_OF.get(kind, CLASSES.index("unsent"))


def text_of(parts: Iterable[Part]) -> str:
    """The text of an entry that is looked through: calls without their JSON, outputs without their escapes, long parts without their middle."""
    return "\n".join(found for part in parts if (found := _text(part)))


def _text(part: Part) -> str:
    text = part.text
    if part.kind is PartKind.TOOL_CALL:
        with suppress(orjson.JSONDecodeError):  # a patch, or cut off: looked through as it stands
            text = "\n".join(_strings(orjson.loads(text))) if text else ""
    elif "\x1b" in text or "\r" in text:
        text = plain(text)
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n…\n{text[-TAIL:]}"


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def files_named(tool: str | None, parts: Sequence[Part]) -> list[str]:
    """The files that a call names, to read or to write, as it names them."""
    found: dict[str, None] = {}
    for part in parts:
        if part.kind is not PartKind.TOOL_CALL or not part.text:
            continue
        call = call_of(part.tool or tool, part.text)
        for path in files_of(call, part.text):
            found[path] = None
        for name in _FILES:
            value = call.given.get(name)
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str) and one.strip():
                    found[one.strip()] = None
    return list(found)


def file_words(path: str) -> list[str]:
    """Under what a file is filed: each name of its path."""
    return [f"@f:{name.lower()[:60]}" for name in path.replace("\\", "/").split("/") if name]


def tool_word(tool: str) -> str:
    return f"@t:{tool.lower()[:120]}"


def exit_codes(parts: Iterable[Part]) -> set[int]:
    """How commands ended whose output this is, where their record says it."""
    found: set[int] = set()
    for part in parts:
        if part.kind is PartKind.TOOL_RESULT and (part.tool is None or nature_of(part.tool) == "shell"):
            if part.meta.keys().isdisjoint(("exit_code", "exit")) and not part.text.startswith(_FRAMES):
                continue  # nothing says it: a long output need not be taken apart for that
            code = printed(part).exit_code
            if code is not None:
                found.add(code)
    return found


def exit_word(code: int) -> str:
    return f"@x:{code}"


def day_word(at: datetime) -> str:
    return f"@d:{at.astimezone(UTC):%Y%m%d}"
