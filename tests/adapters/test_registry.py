"""Each recorded file is one adapter's or none's, and the right one's."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from sessions.adapters import adapters
from sessions.expansion import expanded

ATIF, OTEL = "atif", "otel"
OTHERS = {
    "aisdk4-coremessages.json": "ai-sdk",
    "aisdk6-modelmessages.json": "ai-sdk",
    "aisdk6-uimessages.json": "ai-sdk",
    "anthropic-request-by-opencode11833.json": "anthropic",
    "openai-chat-request-by-opencode11833.json": "openai",
    "atif-harbor026-from-mgemini-36e8d28f.json": ATIF,
    "atif-harbor026-from-mgemini-fb690db5.json": ATIF,
    "gemini061-telemetry-outfile.log": OTEL,
    "otlp-gemini061-logs.json": OTEL,
    "otlp-gemini061-traces.json": OTEL,
    "otlp-opencode11833-ai-sdk-spans.json": OTEL,
}
NOBODYS = {"LOG.tsv", "README.md", "migration"}
AGENTS = {"claude-code": "claude-code", "codex": "codex", "gemini": "gemini-cli", "opencode": "opencode"}


def claimed(path: Path) -> list[str]:
    with path.open("rb") as file:
        head = file.read(64 * 1024)
    return [adapter.agent for adapter in adapters().values() if adapter.claim(path, head) is not None]


def recordings(folder: Path) -> list[Path]:
    return sorted(Path(root) / name for root, _, names in os.walk(folder) for name in names)


def test_no_two_adapters_claim_one_file_and_the_right_one_does(shared_data: Path) -> None:
    found: Counter[str] = Counter()
    for path in recordings(shared_data):
        by = claimed(path)
        assert len(by) <= 1, f"{path}: {by}"
        kind = path.relative_to(shared_data).parts[0]
        if by and kind in AGENTS:
            assert by == [AGENTS[kind]], path
        if path.name in OTHERS:
            assert by == [OTHERS[path.name]], path
        if not by and expanded(path) is None:
            found[f"nobody's {path.name}"] += 1
        found.update(by)
    assert {name for name in found if name.startswith("nobody's")} == {f"nobody's {name}" for name in NOBODYS}
    assert found.keys() >= {*AGENTS.values(), *OTHERS.values()}


def test_what_holds_sessions_is_expanded_by_its_own_adapter(shared_data: Path) -> None:
    for path in recordings(shared_data):
        inside = expanded(path)
        if inside is not None:
            assert inside.adapter.agent == "opencode", path


def test_names_are_unique_and_their_own() -> None:
    for agent, adapter in adapters().items():
        assert adapter.agent == agent
    labels = [adapter.label for adapter in adapters().values()]
    assert len(set(labels)) == len(labels)
