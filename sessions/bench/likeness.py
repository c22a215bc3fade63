"""Invented sessions whose records are as long as recorded ones, and repeat themselves as those do (see `texts` for where the figures are from).

A quarter of the records say how a tool gets on; a result stands twice in its record, for the model and for the agent itself, and that of an
edit with the whole file it changed; an answer is several records of one request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions.bench.corpus import Writer
from sessions.bench.texts import ANSWER, CHANGE, FILE, PROMPT, RESULT, THOUGHT, Texts

_TOOLS = ("Bash", "Bash", "Bash", "Read", "Read", "Edit", "Edit", "Grep")
_ROUNDS = 8  # calls between two messages of a person


def lines(entries: int, *, seed: int = 1) -> Iterator[bytes]:
    """The lines of a Claude Code session of `entries` records, with a compaction wherever its window is full."""
    return _Likeness(seed, compacting=True).lines(entries)


class _Likeness(Writer):
    def __init__(self, seed: int, *, compacting: bool) -> None:
        super().__init__(seed, compacting=compacting)
        self.texts = Texts(self.random)

    def records(self) -> Iterator[bytes]:
        texts = self.texts
        while True:
            yield self.user(texts.prose(texts.length(PROMPT)))
            for n in range(_ROUNDS):
                if n % 2:
                    signature = texts.hex(texts.random.choice((200, 400, 800)))
                    thought = texts.prose(texts.length(THOUGHT))
                    yield self.assistant({"type": "thinking", "thinking": thought, "signature": signature})
                if n % 3 == 0:
                    yield self.assistant({"type": "text", "text": texts.prose(texts.length(ANSWER))})
                yield from self._call(f"toolu_{self.n:08d}")
            yield self.assistant({"type": "text", "text": texts.prose(texts.length(ANSWER))})
            if self.full:
                yield from self.compaction(texts.prose(9_000))

    def _call(self, call: str) -> Iterator[bytes]:
        tool = self.random.choice(_TOOLS)
        arguments, shown, kept = getattr(self, f"_{tool.lower()}")()
        yield self.assistant({"type": "tool_use", "id": call, "name": tool, "input": arguments})
        for n in range(self.random.choice((0, 1, 1, 2, 4)) if tool == "Bash" else self.random.randint(0, 1)):
            yield self._progress(call, tool, n)
        result = {"tool_use_id": call, "type": "tool_result", "content": shown, "is_error": False}
        yield self.user([result], toolUseResult=kept, sourceToolAssistantUUID=self.leaf)

    def _bash(self) -> tuple[dict[str, Any], str, dict[str, Any]]:
        texts = self.texts
        output = texts.code(texts.length(RESULT))
        command = f"python -m pytest -q {texts.path()} -k {texts.name()}"
        kept = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        return {"command": command, "description": texts.prose(40)}, output, kept

    def _read(self) -> tuple[dict[str, Any], str, dict[str, Any]]:
        texts, path = self.texts, self.texts.path()
        content = texts.code(texts.length(RESULT))
        count = content.count("\n") + 1
        file = {"filePath": path, "content": content, "numLines": count, "startLine": 1, "totalLines": count}
        return {"file_path": path}, texts.numbered(content), {"type": "text", "file": file}

    def _edit(self) -> tuple[dict[str, Any], str, dict[str, Any]]:
        texts, path = self.texts, self.texts.path()
        old, new = (texts.code(texts.length(CHANGE) // 2) for _ in range(2))
        given = {"file_path": path, "old_string": old, "new_string": new}
        whole = texts.code(texts.length(FILE))
        hunk = [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n")]
        patch = {"oldStart": 10, "oldLines": old.count("\n") + 1, "newStart": 10, "newLines": new.count("\n") + 1}
        kept = {
            "filePath": path,
            "oldString": old,
            "newString": new,
            "originalFile": whole,
            "structuredPatch": [{**patch, "lines": hunk}],
            "userModified": False,
            "replaceAll": False,
        }
        shown = f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of it:\n"
        return given, shown + texts.numbered(new), kept

    def _grep(self) -> tuple[dict[str, Any], str, dict[str, Any]]:
        texts = self.texts
        found = texts.code(texts.length(RESULT))
        kept = {"mode": "content", "numFiles": 0, "filenames": [], "content": found, "numLines": found.count("\n") + 1}
        return {"pattern": texts.name(), "path": texts.path()}, found, kept

    def _progress(self, call: str, tool: str, n: int) -> bytes:
        texts = self.texts
        said: dict[str, Any] = {
            "type": "hook_progress",
            "hookEvent": "PostToolUse",
            "hookName": f"PostToolUse:{tool}",
            "command": "ledger hook",
        }
        if tool == "Bash":
            output = texts.code(texts.random.choice((0, 80, 400)))
            said = {
                "type": "bash_progress",
                "output": output,
                "fullOutput": output,
                "elapsedTimeSeconds": 2 + n,
                "totalLines": output.count("\n"),
            }
        return self.line(
            {"type": "progress", "data": said, "toolUseID": f"{tool}-progress-{n}", "parentToolUseID": call}
        )
