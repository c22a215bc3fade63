"""A session taken in for real, and the models of a server on loopback."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Server, serving

KEY = "sk-very-secret-0123456789"
MODELS = {
    "anthropic": "anthropic:claude-haiku-4-5",
    "openai": "openai:gpt-4.1-mini",
    "gemini": "gemini:gemini-2.5-flash",
    "compatible": "compatible:qwen3:8b",
}


@pytest.fixture
def session(db: None, tmp_path: Path) -> Any:
    from tests.compaction.stage import a_workspace, taken_in

    return taken_in(a_workspace(), tmp_path, entries=300)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture
def models(server: Server, settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every provider is the server; what is slept is not, but noted."""
    from compaction.summarisers import asking

    slept: list[float] = []
    settings.LLM_MODELS = list(MODELS.values())
    settings.LLM_FALLBACK = None
    settings.LLM_KEYS = dict.fromkeys(MODELS, KEY)
    settings.LLM_URLS = {
        "anthropic": server.url,
        "openai": f"{server.url}/v1",
        "gemini": server.url,
        "compatible": f"{server.url}/v1",
    }
    settings.LLM_TIMEOUT = 30
    settings.LLM_RETRIES = 2
    monkeypatch.setattr(asking, "SLEEP", slept.append)
    return slept
