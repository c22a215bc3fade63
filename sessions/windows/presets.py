"""Windows by name: a rule with a model's limits as they were given at some time by some source. For comparing, and for `as if`."""

from __future__ import annotations

from dataclasses import dataclass, field

from sessions.windows.base import Limits, Rule, Settings, Window, window
from sessions.windows.claude_code import CURRENT as CLAUDE
from sessions.windows.claude_code import PREDICTIVE, SEED, TIERED
from sessions.windows.codex import CURRENT as CODEX
from sessions.windows.gemini import CURRENT as GEMINI
from sessions.windows.gemini import HALF, PIPELINE, SEVENTH
from sessions.windows.opencode import ONE, TWO
from sessions.windows.others import JCLI, UNIVERSAL


@dataclass(frozen=True, slots=True)
class Preset:
    """A rule and limits; whose limits these are, and since when, `limits` says itself."""

    id: str
    label: str
    rule: Rule
    limits: Limits
    settings: Settings = field(default_factory=Settings)

    def window(self) -> Window:
        return window(self.rule, self.limits, self.settings)


_FIELD = "a field note on what agents' screens show, 2026"
_WRITE_UPS = "write-ups of Claude Code 2.1"


def _limits(source: str, date: str, context: int | None, given: int | None = None, output: int | None = None) -> Limits:
    return Limits(None, context, given, output, source, date)


_GEMINI = _limits("Gemini CLI's own source: the limit of its models", "2026-08", 1_048_576, None, 65_536)

PRESETS: tuple[Preset, ...] = (
    Preset(
        "codex-272k",
        "Codex, 272K",
        CODEX,
        _limits("Codex's own model catalogue since 18 July 2026", "2026-07", 272_000),
    ),
    Preset(
        "codex-372k",
        "Codex, 372K",
        CODEX,
        _limits("Codex's own model catalogue, 9 to 18 July 2026", "2026-07", 372_000),
    ),
    Preset("opencode-500k", "OpenCode 1, 500K", ONE, _limits(_FIELD, "2026-07", 500_000, 372_000, 128_000)),
    Preset("opencode-2-500k", "OpenCode 2, 500K", TWO, _limits(_FIELD, "2026-07", 500_000, 372_000, 128_000)),
    Preset("claude-code-200k", "Claude Code, 200K", CLAUDE, _limits(_WRITE_UPS, "2026-10", 200_000, None, 64_000)),
    Preset(
        "claude-code-200k-187k", "Claude Code, 187K of 200K", SEED, _limits(SEED.source, "2026", 200_000, None, 64_000)
    ),
    Preset("claude-code-272k", "Claude Code, 272K", CLAUDE, _limits(_FIELD, "2026-07", 272_000, None, 128_000)),
    Preset(
        "claude-code-272k-predictive",
        "Claude Code, 272K, predictive",
        PREDICTIVE,
        _limits(_FIELD, "2026-07", 272_000, None, 128_000),
    ),
    Preset(
        "claude-code-1m-tiered",
        "Claude Code, 1M, tiered buffer",
        TIERED,
        _limits(TIERED.source, "2026-10", 1_000_000, None, 64_000),
    ),
    Preset("gemini-0.56-1m", "Gemini CLI 0.56, 1M", GEMINI, _GEMINI),
    Preset("gemini-0.5-1m", "Gemini CLI, 0.5 of 1M", HALF, _GEMINI),
    Preset("gemini-0.7-1m", "Gemini CLI, 0.7 of 1M", SEVENTH, _GEMINI),
    Preset("gemini-pipeline-1m", "Gemini CLI, new pipeline", PIPELINE, _GEMINI),
    Preset("j-cli", "j-cli", JCLI, _limits("j-cli asks no model for its window", "2026", None)),
    Preset(
        "universal-ai-client",
        "UniversalAIClient",
        UNIVERSAL,
        _limits("the client asks no model for its window", "2025", None),
    ),
)


def presets() -> dict[str, Preset]:
    """Every preset by id, in order of the table."""
    return {preset.id: preset for preset in PRESETS}
