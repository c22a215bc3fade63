"""The meters we know, one row each. All count an entry's text (of a call: name and arguments), never base64."""

from __future__ import annotations

from fractions import Fraction

from sessions.meters.base import Meter

_TEXT = "the text of each entry; of a tool call its name and arguments; no wrapping, system prompt or tool schemas"
_MEDIA = "an image 3,000, a document 25,800"
_CLIFF = "a text over 100,000 units: units / 4"


def _gemini(name: str, label: str, source: str, unit: str, ascii_unit: Fraction, other: Fraction) -> Meter:
    """One era of Gemini CLI's heuristic: `ascii_unit` for each ASCII unit of a text, `other` for the rest; of tools 1/4 a unit."""
    return Meter(
        name,
        label,
        f"{_TEXT}: ASCII {unit} {float(ascii_unit):g}, others {float(other):g}; calls and results units / 4; {_CLIFF}; {_MEDIA}",
        source,
        utf16=_ZERO if unit == "characters" else other,
        chars=other if unit == "characters" else _ZERO,
        ascii=ascii_unit - other,
        wide_tool=Fraction(1, 4) - other,
        image=Fraction(3_000),
        document=Fraction(25_800),
        rounding="floor",
        whole=True,
        cliff=100_000,
    )


_ZERO = Fraction(0)
_QUARTER = Fraction(1, 4)
_OLDER = Fraction(13, 10)
_NEWER = Fraction(3, 2)

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
        "cl100k",
        "cl100k tokens",
        f"{_TEXT}; exact for OpenAI's older vocabulary, an estimate for other models; an image 1,600, a document 2,000",
        "tiktoken cl100k_base; the media figures are this product's own",
        cl100k=Fraction(1),
        image=Fraction(1_600),
        document=Fraction(2_000),
        exact=True,
    ),
    Meter(
        "codex-bytes4",
        "bytes / 4 (Codex)",
        f"{_TEXT}: UTF-8 bytes / 4, rounded up per entry; an image 7,373 bytes. The agent counts its JSON wrapping too: a little more",
        "Codex CLI 0.148, August 2026",
        utf8=_QUARTER,
        image=Fraction(7_373, 4),
    ),
    Meter(
        "codex-bytes4-2025",
        "bytes / 4 (Codex, before February 2026)",
        f"{_TEXT}: UTF-8 bytes / 4, rounded up per entry; an image 340 bytes. The agent counts its JSON wrapping too: a little more",
        "Codex CLI, 2025 to January 2026",
        utf8=_QUARTER,
        image=Fraction(340, 4),
    ),
    Meter(
        "opencode-chars4",
        "characters / 4 (OpenCode 2)",
        f"{_TEXT}: UTF-16 units / 4, rounded half up per entry; an image 1,500, a document 2,000",
        "OpenCode 2.0, September 2026",
        utf16=_QUARTER,
        image=Fraction(1_500),
        document=Fraction(2_000),
        rounding="half_up",
    ),
    Meter(
        "opencode-chars4-1",
        "characters / 4 (OpenCode 1)",
        f"{_TEXT}: UTF-16 units / 4, rounded half up per entry; media are not counted",
        "OpenCode 1.x, mid-2026",
        utf16=_QUARTER,
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
    _gemini("gemini", "Gemini CLI's heuristic", "Gemini CLI since 12 May 2026", "units", _QUARTER, _NEWER),
    _gemini(
        "gemini-2026-05",
        "Gemini CLI's heuristic, early May 2026",
        "Gemini CLI, 1 to 12 May 2026",
        "units",
        Fraction(33, 100),
        _OLDER,
    ),
    _gemini(
        "gemini-legacy",
        "Gemini CLI's heuristic, early 2026",
        "Gemini CLI, 30 January to 1 May 2026",
        "units",
        _QUARTER,
        _OLDER,
    ),
    _gemini(
        "gemini-2026-01",
        "Gemini CLI's heuristic, January 2026",
        "Gemini CLI, January 2026",
        "characters",
        _QUARTER,
        _OLDER,
    ),
    Meter(
        "gemini-truncation",
        "Gemini CLI's rule for cutting",
        f"{_TEXT}: ASCII units 0.33, others 1.5, and 5 for each entry. The agent sizes its cuts by it, and nothing else",
        "Gemini CLI's new pipeline, August 2026",
        utf16=_NEWER,
        ascii=Fraction(33, 100) - _NEWER,
        each=Fraction(5),
        rounding="floor",
        whole=True,
    ),
    Meter(
        "universal-chars4",
        "characters / 4 (UniversalAIClient)",
        f"{_TEXT}: the texts joined by one space, UTF-16 units / 4, rounded up once; media are not counted",
        "a description of UniversalAIClient, 2025; it does not say how it rounds",
        utf16=_QUARTER,
        each=_QUARTER,
        once=-_QUARTER,
        whole=True,
    ),
    Meter(
        "jcli-json4",
        "JSON bytes / 4 (j-cli)",
        "the messages as JSON, UTF-8 bytes / 4, rounded down once: of each entry its text with its escapes and 32 bytes for what "
        "stands around it. Media are not counted, though the agent counts their base64",
        "j-cli 12.9, 2026",
        json=_QUARTER,
        each=Fraction(32, 4),
        once=_QUARTER,  # two brackets, and one comma less than there are messages
        rounding="floor",
        whole=True,
    ),
    Meter(
        "jcli-window3",
        "characters / 3 (j-cli's window selector)",
        f"{_TEXT}: characters / 3, rounded down per entry; media are not counted",
        "j-cli 12.9, 2026",
        chars=Fraction(1, 3),
        rounding="floor",
    ),
)


def codex_reasoning_bytes(encoded_length: int) -> int:
    """Bytes that Codex takes for encrypted reasoning (or a compaction item) of this many base64 characters: its estimate is / 4, up."""
    return max(0, encoded_length * 3 // 4 - 650)


def codex_output_bytes(encoded_length: int) -> int:
    """Bytes that Codex takes for an encrypted output of a function of this many base64 characters."""
    return -(-encoded_length * 9 // 16)


def codex_image_tokens(width: int, height: int) -> int:
    """Tokens that Codex takes for an image in its original detail: one for each patch of 32 × 32 pixels, at most 10,000."""
    return min(10_000, -(-width // 32) * -(-height // 32))
