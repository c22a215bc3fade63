"""Writes a Claude Code session file of any size that hangs together: files are read, edited and read again, commands fail and
are mended, todos are ticked off, and one compaction lies in the middle.

Deterministic: the same arguments give the same bytes. `python -m tests.make_session FILE` writes one to look at.
"""

from __future__ import annotations

import json
import random
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

CWD = "/home/quill/ledgerd"
MODEL = "claude-sonnet-4-5-20250929"
TITLE = "Port the ledger importer to streaming"

PROMPTS = (
    "Import a 4 GB ledger within 256 MB of memory. Never use eval, and never load a whole file: read it in chunks.",
    "Errors must name the line in the original file and quote at most 120 characters of the row.",
    "A retry of the same file must not post twice. Use the import's own id, not a hash of each row.",
    "Two identical postings on one day are both real. Keep both, please, and add a test that says so.",
    "Now the quoted line breaks: a row may span chunks. Always keep the original wording of every error message.",
    "The network mount fails with ENODEV when it is memory-mapped. Use a read-ahead buffer instead.",
    "Add back-pressure: the writer's queue must hold at most 512 rows. Don't add a dependency for it.",
    "Measure it on the big sample and tell me the peak. I want numbers, not adjectives.",
    "Write the limits into docs/limits.md, in our usual plain words.",
    "Run the whole suite, then commit. Do not push.",
)

GOALS = (
    "Find where the memory goes",
    "Stream the rows in chunks",
    "Name the original line in every error",
    "Make a retry harmless",
    "Rows that span chunks",
    "Back-pressure for the writer",
    "Measure the peak",
    "Write the limits down",
)

FILES = (
    "importer/csv_rows.py",
    "importer/cursor.py",
    "importer/errors.py",
    "importer/main.py",
    "tests/test_csv_rows.py",
    "importer/writer.py",
)

ERRORS = (
    "importer/csv_rows.py:118: ValueError: quoted field is not closed before the chunk ends",
    "importer/cursor.py:61: OSError: [Errno 19] No such device: 'sample-4g.csv'",
    "tests/test_csv_rows.py:74: AssertionError: assert 65537 == 65538",
    "importer/writer.py:33: queue.Full: 512 rows are waiting",
)


@dataclass(slots=True)
class _Writer:
    """The records so far, and what the next one hangs on."""

    session: str
    clock: datetime
    chance: random.Random
    lines: list[dict[str, Any]] = field(default_factory=list)
    parent: str | None = None
    context: int = 12_000
    answers: int = 0
    calls: int = 0

    def tree(self, kind: str, message: dict[str, Any] | None, **more: Any) -> str:
        name = str(uuid.UUID(int=self.chance.getrandbits(128), version=4))
        self.clock += timedelta(seconds=self.chance.randint(2, 40))
        record: dict[str, Any] = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": CWD,
            "sessionId": self.session,
            "version": "2.0.55",
            "gitBranch": "streaming-import",
            "type": kind,
        }
        if message is not None:
            record["message"] = message
        record |= {
            "uuid": name,
            "timestamp": f"{self.clock:%Y-%m-%dT%H:%M:%S}.{self.clock.microsecond // 1000:03d}Z",
            **more,
        }
        self.lines.append(record)
        self.parent = name
        return name

    def says(self, text: str) -> None:
        self.context += len(text) // 4
        self.tree("user", {"role": "user", "content": text})

    def answers_with(self, *blocks: dict[str, Any]) -> None:
        """One answer of the model: a line for each block, all with the same id and usage."""
        self.answers += 1
        output = sum(len(json.dumps(block)) // 4 for block in blocks)
        fresh = self.chance.randint(400, 2400)
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": fresh,
            "cache_read_input_tokens": max(0, self.context - fresh),
            "output_tokens": output,
            "service_tier": "standard",
        }
        self.context += output
        for block in blocks:
            message = {
                "model": MODEL,
                "id": f"msg_{self.answers:024d}",
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn",
                "stop_sequence": None,
                "usage": usage,
            }
            self.tree("assistant", message, requestId=f"req_{self.answers:024d}")

    def result(self, call: str, text: str, *, failed: bool = False) -> None:
        self.context += len(text) // 4
        block: dict[str, Any] = {"tool_use_id": call, "type": "tool_result", "content": text}
        if failed:
            block["is_error"] = True
        self.tree(
            "user",
            {"role": "user", "content": [block]},
            toolUseResult=f"Error: {text}" if failed else {"stdout": text[:200]},
        )

    def uses(self, name: str, given: dict[str, Any], output: str, *, failed: bool = False, thinks: str = "") -> None:
        self.calls += 1
        call = f"toolu_{self.calls:024d}"
        blocks: list[dict[str, Any]] = []
        if thinks:
            blocks.append({"type": "thinking", "thinking": thinks, "signature": f"c2lnbmVk{self.calls:08d}"})
        blocks.append({"type": "tool_use", "id": call, "name": name, "input": given})
        self.answers_with(*blocks)
        self.result(call, output, failed=failed)


def session_lines(*, entries: int = 300, bulk: int = 220, seed: int = 7) -> Iterator[str]:
    """The lines of a session of about `entries` records with one compaction at two fifths. `bulk`: lines of each file."""
    chance = random.Random(seed)
    writer = _Writer(
        str(uuid.UUID(int=chance.getrandbits(128), version=4)), datetime(2026, 9, 14, 9, 12, tzinfo=UTC), chance
    )
    files = {path: _source(path, bulk, chance) for path in FILES}
    per_turn = max(6, entries // len(PROMPTS))
    compacted = False
    for turn, prompt in enumerate(PROMPTS):
        if not compacted and turn >= len(PROMPTS) * 2 // 5:
            _compact(writer)
            compacted = True
        before = len(writer.lines)
        writer.says(prompt)
        _todos(writer, turn)
        n = 0
        while len(writer.lines) - before < per_turn - 1:
            _work(writer, files, turn, n)
            n += 1
        writer.answers_with({"type": "text", "text": _closing(turn)})
    yield json.dumps({"type": "ai-title", "aiTitle": TITLE, "sessionId": writer.session}, separators=(",", ":")) + "\n"
    for line in writer.lines:
        yield json.dumps(line, separators=(",", ":")) + "\n"


def write_session(path: Path, *, entries: int = 300, bulk: int = 220, seed: int = 7) -> str:
    """Write a session file into folder or file `path`; the session's native id. A folder gets the file under its native name."""
    lines = list(session_lines(entries=entries, bulk=bulk, seed=seed))
    native = str(json.loads(lines[0])["sessionId"])
    target = path / f"{native}.jsonl" if path.is_dir() else path
    target.write_text("".join(lines), encoding="utf-8")
    return native


def _source(path: str, count: int, chance: random.Random) -> list[str]:
    words = (
        "row",
        "chunk",
        "cursor",
        "posting",
        "account",
        "amount",
        "offset",
        "ledger",
        "batch",
        "header",
        "quote",
        "limit",
    )
    name = Path(path).stem
    out = [f'"""{name}: one part of the importer."""', "", "from __future__ import annotations", ""]
    while len(out) < count:
        a, b, c = chance.sample(words, 3)
        out += [
            f"def {a}_{b}_{len(out)}({c}: bytes, *, most: int = {chance.randint(16, 4096)}) -> tuple[{a.title()}, int]:",
            f'    """The {a} of a {b}, and where its {c} ends in the original file."""',
            f"    {a} = parse_{a}({c}[:most], base=line_base({b!r}))",
            f"    return {a}, {a}.end + len({c})",
            "",
        ]
    return out


def _numbered(lines: list[str]) -> str:
    return "\n".join(f"{n:6d}→{line}" for n, line in enumerate(lines, 1))


def _work(writer: _Writer, files: dict[str, list[str]], turn: int, n: int) -> None:
    chance = writer.chance
    path = FILES[(turn + n // 3) % len(FILES)]
    full = f"{CWD}/{path}"
    match n % 6:
        case 0:
            thought = (
                f"The reader in {path} holds every row of a chunk; I look at where the cursor moves before I change it."
            )
            writer.uses("Read", {"file_path": full}, _numbered(files[path]), thinks=thought)
        case 1:
            found = "\n".join(
                f"{name}:{chance.randint(5, 200)}:    base=line_base('{GOALS[turn % len(GOALS)]}')"
                for name in FILES
                for _ in range(6)
            )
            writer.uses("Grep", {"pattern": "line_base", "path": CWD, "output_mode": "content"}, found)
        case 2:
            at = next(
                i for i, line in enumerate(files[path]) if line.startswith("    return ") and "checked" not in line
            )
            old = files[path][at]
            new = old.replace("return ", "return checked_", 1) + f"  # turn {turn + 1}"
            at_name = files[path][at - 3]
            given = {
                "file_path": full,
                "old_string": f"{files[path][at - 1]}\n{old}",
                "new_string": f"{files[path][at - 1]}\n{new}",
            }
            files[path][at] = new
            snippet = _numbered(files[path][at - 3 : at + 2])
            writer.uses(
                "Edit",
                given,
                f"The file {full} has been updated. Here's the result of running `cat -n` on a snippet of {at_name}:\n{snippet}",
            )
        case 3:
            error = ERRORS[(turn + n) % len(ERRORS)]
            trace = "\n".join(f"    frame {i}: importer.rows.step({chance.randint(1, 1 << 30)})" for i in range(60))
            writer.uses(
                "Bash",
                {
                    "command": f"uv run pytest {FILES[4]} -x -q -k turn_{turn + 1}",
                    "description": "Run the tests of this turn",
                },
                f"Exit code 1\nF\n{trace}\n{error}\n1 failed, {chance.randint(10, 40)} passed in 2.31s",
                failed=True,
            )
        case 4:
            writer.answers_with(
                {
                    "type": "text",
                    "text": f"The base now comes from the cursor, so {path} counts a quoted break once. I decided against mmap.",
                }
            )
            writer.uses(
                "Bash",
                {"command": f"git diff --stat -- {path}", "description": "See what changed"},
                f" {path} | {chance.randint(2, 30)} ++--\n 1 file changed",
            )
        case _:
            log = "\n".join(
                f"{chance.randint(0, 9_999_999):>10} rows  peak {chance.randint(90, 250)} MB  cursor {chance.getrandbits(32):#010x}"
                for _ in range(180)
            )
            writer.uses(
                "Bash",
                {
                    "command": f"uv run python -m importer --turn {turn + 1} sample-4g.csv",
                    "description": "Import the big sample",
                },
                f"{log}\n{chance.randint(30, 44)} passed in 3.02s",
            )


def _todos(writer: _Writer, turn: int) -> None:
    done = turn * len(GOALS) // len(PROMPTS)
    todos = [
        {
            "content": goal,
            "status": "completed" if n < done else "in_progress" if n == done else "pending",
            "activeForm": goal,
        }
        for n, goal in enumerate(GOALS)
    ]
    writer.uses(
        "TodoWrite",
        {"todos": todos},
        "Todos have been modified successfully. Ensure that you continue to use the todo list.",
    )


def _closing(turn: int) -> str:
    return f"Done with this part: {PROMPTS[turn].split('.')[0].lower()}. All tests of turn {turn + 1} pass; the peak stays under 250 MB."


def _compact(writer: _Writer) -> None:
    before = writer.context
    last, writer.parent = writer.parent, None
    writer.context = 14_000
    writer.tree(
        "system",
        None,
        subtype="compact_boundary",
        content="Conversation compacted",
        isMeta=False,
        level="info",
        logicalParentUuid=last,
        compactMetadata={"trigger": "auto", "preTokens": before},
    )
    sections = (
        ("Primary Request and Intent", PROMPTS[0]),
        ("Key Technical Concepts", "chunk cursor, line base, import id, back-pressure"),
        ("Files and Code Sections", ", ".join(FILES)),
        ("Errors and fixes", ERRORS[0]),
        ("Problem Solving", "Hashing rows was tried and taken back."),
        ("All user messages", " / ".join(PROMPTS[:4])),
        ("Pending Tasks", ", ".join(GOALS[3:])),
        ("Current Work", "Rows that span chunks."),
        ("Optional Next Step", "Bound the writer's queue, then measure."),
    )
    body = "\n\n".join(f"{n}. {title}:\n   {words}" for n, (title, words) in enumerate(sections, 1))
    text = (
        "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\n"
        f"Analysis:\nThe work so far, in order.\n\nSummary:\n{body}\n\nPlease continue the conversation from where we left it off."
    )
    writer.tree("user", {"role": "user", "content": text}, isCompactSummary=True, isVisibleInTranscriptOnly=True)


if __name__ == "__main__":
    print(write_session(Path(sys.argv[1])))
