"""Which models may be asked, by the operator's settings. Keys are read here and handed to the client; nothing else ever holds one."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.conf import settings

from compaction.summarisers.writing import Capacity
from sessions.limits import limits_for
from sessions.versions import Refused
from sessions.windows.overrides import Override

PROVIDERS = ("anthropic", "openai", "gemini", "compatible")
"""`compatible`: any server that speaks OpenAI's chat completions (Ollama, vLLM, llama.cpp, …)."""


@dataclass(frozen=True, slots=True)
class Target:
    """A model that may be asked. `key` and `url` are in no `repr`, so in no log and no traceback's first line."""

    provider: str
    model: str
    key: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """provider:model, as it is chosen and stored."""
        return f"{self.provider}:{self.model}"

    @property
    def ready(self) -> str:
        """Why it cannot be asked; "" where it can."""
        if self.provider == "compatible":
            return "" if self.url else "PALIMPSEST_COMPATIBLE_URL names no server"
        return "" if self.key else f"PALIMPSEST_{self.provider.upper()}_KEY is not set"


def models() -> list[Target]:
    """The models that may be chosen, the default first; those without a key or address are left out."""
    return [target for name in settings.LLM_MODELS if (target := _target(name)) is not None and not target.ready]


def named(name: str | None) -> Target:
    """The model of this name, or the default one. Refused (no_model) where it is none of those configured, with what would do."""
    why = lacking()
    if why:
        raise Refused("no_model", why)
    known = models()
    if name is None or not name.strip():
        return known[0]
    found = next((one for one in known if name.strip() in (one.name, one.model)), None)
    if found is None:
        listed = ", ".join(one.name for one in known)
        raise Refused("no_model", f"The model {name!r} is not configured; there are: {listed}.")
    return found


def lacking() -> str:
    """Why no model can be asked; "" where one can."""
    if not settings.LLM_MODELS:
        return "No model is configured for summaries (PALIMPSEST_LLM_MODELS). The extractive summariser needs none: use that one."
    if importlib.util.find_spec("pydantic_ai") is None:
        return "The client for models is not installed here (the extra “llm”). The extractive summariser needs none: use that one."
    if not models():
        found = [target for name in settings.LLM_MODELS if (target := _target(name)) is not None]
        why = found[0].ready if found else f"{settings.LLM_MODELS[0]!r} is no provider:model of {', '.join(PROVIDERS)}"
        return f"No model that is configured can be asked: {why}."
    return ""


def fallback(first: Target) -> Target | None:
    """The model to ask where `first` gives no answer, if the operator named another."""
    target = _target(settings.LLM_FALLBACK) if settings.LLM_FALLBACK else None
    return target if target is not None and not target.ready and target.name != first.name else None


def capacity(target: Target, overrides: Iterable[Override] = ()) -> Capacity:
    """The model's limits: what the workspace says of it, else the catalogue's."""
    limits = limits_for(target.model, "", tuple(overrides))
    return Capacity(limits.context, limits.input, limits.output)


def secrets() -> list[str]:
    """All keys, so that they can be taken out of what a provider says."""
    return [key for key in settings.LLM_KEYS.values() if key]


def _target(name: str) -> Target | None:
    provider, _, model = name.strip().partition(":")
    if provider not in PROVIDERS or not model:
        return None
    return Target(provider, model, settings.LLM_KEYS.get(provider), settings.LLM_URLS.get(provider))
