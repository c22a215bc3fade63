"""The meters we know, one row each. All count an entry's text (of a call: name and arguments), never base64."""

from __future__ import annotations

from fractions import Fraction

from sessions.meters.base import Meter

_TEXT = "the text of each entry; of a tool call its name and arguments; no wrapping, system prompt or tool schemas"

BUILT_IN: tuple[Meter, ...] = (
    Meter(
        "o200k",
        "o200k tokens",
        f"{_TEXT}; exact for OpenAI's vocabulary, an estimate for other models; an image 1,600, a document 2,000",
        "tiktoken o200k_base; the media figures are this product's own",
        tokens=Fraction(1),
        image=Fraction(1_600),
        document=Fraction(2_000),
        exact=True,
    ),
    Meter(
        "codex-bytes4",
        "bytes / 4 (Codex)",
        f"{_TEXT}: UTF-8 bytes / 4, rounded up per entry; an image 7,373 bytes. The agent counts its JSON wrapping too: a little more",
        "Codex CLI 0.148, August 2026",
        utf8=Fraction(1, 4),
        image=Fraction(7_373, 4),
    ),
    Meter(
        "opencode-chars4",
        "characters / 4 (OpenCode)",
        f"{_TEXT}: UTF-16 units / 4, rounded half up per entry; an image 1,500, a document 2,000",
        "OpenCode 2.0, September 2026 (1.x counts no media)",
        utf16=Fraction(1, 4),
        image=Fraction(1_500),
        document=Fraction(2_000),
        rounding="half_up",
    ),
    Meter(
        "claude-rough",
        "characters / 4 × 4/3 (Claude Code, rough)",
        f"{_TEXT}: UTF-16 units / 4, an image or document 2,000, the sum times 4/3. The agent takes / 2 for text that looks like JSON",
        "write-ups of Claude Code 2.1; not documented by its maker",
        utf16=Fraction(1, 3),
        image=Fraction(8_000, 3),
        document=Fraction(8_000, 3),
        whole=True,
    ),
    Meter(
        "gemini",
        "Gemini CLI's heuristic",
        f"{_TEXT}: ASCII units 0.25, others 1.5; a text over 100,000 units: units / 4; an image 3,000, a document 25,800",
        "Gemini CLI since 12 May 2026",
        utf16=Fraction(3, 2),
        ascii=Fraction(-5, 4),
        image=Fraction(3_000),
        document=Fraction(25_800),
        rounding="floor",
        whole=True,
        cliff=100_000,
    ),
    Meter(
        "gemini-legacy",
        "Gemini CLI's heuristic, early 2026",
        f"{_TEXT}: ASCII units 0.25, others 1.3; a text over 100,000 units: units / 4; an image 3,000, a document 25,800",
        "Gemini CLI, 30 January to 1 May 2026",
        utf16=Fraction(13, 10),
        ascii=Fraction(-21, 20),
        image=Fraction(3_000),
        document=Fraction(25_800),
        rounding="floor",
        whole=True,
        cliff=100_000,
    ),
)


def codex_reasoning_bytes(encoded_length: int) -> int:
    """Bytes that Codex takes for encrypted reasoning (or a compaction item) of this many base64 characters: its estimate is / 4, up."""
    return max(0, encoded_length * 3 // 4 - 650)
