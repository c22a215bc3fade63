"""One call to one provider, in one form for all of them. The only module that knows the client library; it is read in at the first call.

The library's own retries are off: `asking` decides, so that each attempt is seen and can be cancelled.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compaction.summarisers.configured import Target
from compaction.summarisers.writing import Request
from sessions.prices import Spent

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

SEED = 1
_KEYLESS = "none"  # some servers want a key and look at none


@dataclass(frozen=True, slots=True)
class Said:
    """An answer. `spent`: by the provider's own figures; None where it gave none. `cut`: it ended at the limit of tokens."""

    text: str
    cut: bool
    spent: Spent | None


class Trouble(Exception):
    """No answer. `kind` in two words; `again`: whether the same request may be answered later. `after`: seconds, as the provider asks.
    `limit`: tokens a prompt may have, where it was too long and the provider says so.
    """

    def __init__(
        self,
        kind: str,
        words: str,
        *,
        again: bool = False,
        after: float | None = None,
        status: int | None = None,
        overflow: bool = False,
    ) -> None:
        super().__init__(words)
        self.kind = kind
        self.again = again
        self.after = after
        self.status = status
        self.overflow = overflow
        self.limit = _limit(words) if overflow else None


def prepare(target: Target) -> None:
    """Read the client in, which takes seconds the first time: no call's clock is to run meanwhile."""
    import pydantic_ai.direct

    # It leaves them out where it knows that a model takes none; nobody has to be told.
    warnings.filterwarnings("ignore", message="Sampling parameters", category=UserWarning)
    match target.provider:
        case "anthropic":
            import pydantic_ai.models.anthropic
        case "gemini":
            import pydantic_ai.models.google
        case _:
            import pydantic_ai.models.openai  # noqa: F401 -- as above


async def converse(target: Target, request: Request, *, timeout: float) -> Said:  # noqa: ASYNC109 -- of the client, for one attempt
    """Ask once. Raises Trouble. Cancelling the task closes the connection."""
    import httpx2
    from pydantic_ai import exceptions
    from pydantic_ai.direct import model_request

    # A redirect would carry the key elsewhere.
    async with httpx2.AsyncClient(timeout=timeout, follow_redirects=False) as client:
        model, messages = _model(target, client), _messages(request)
        common: ModelSettings = {
            "max_tokens": request.max_tokens,
            "timeout": timeout,
            "request_timeout": timeout,  # of the whole: a server that sends a byte now and then is no answer either
            "max_retries": 0,
            "thinking": False,
        }
        try:
            try:
                answer = await model_request(model, messages, model_settings={**common, **_steady(target)})
            except exceptions.ModelHTTPError as error:
                if error.status_code not in (400, 422) or not _UNSTEADY.search(_words(error)):
                    raise
                answer = await model_request(model, messages, model_settings=common)
        except exceptions.AgentRunError as error:
            raise _trouble(error) from None  # the cause holds the request, and with it the key
        except httpx2.HTTPError as error:
            raise Trouble("no connection", type(error).__name__, again=True) from None
    return Said(answer.text or "", answer.finish_reason == "length", _spent(answer.usage))


_UNSTEADY = re.compile(r"temperature|\bseed\b|sampling", re.IGNORECASE)
"""In the words of a provider that takes no such setting of this model."""


def _steady(target: Target) -> ModelSettings:
    """What makes a model answer the same to the same, as far as its protocol has it: two drafts of one part should not differ by luck."""
    match target.provider:
        case "anthropic":
            return {"temperature": 0.0}
        case "gemini":
            return {"seed": SEED}  # its newer models are said to go round in circles at temperature 0
        case _:
            return {"temperature": 0.0, "seed": SEED}


def _model(target: Target, client: Any) -> Model:
    match target.provider:
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            maker = AnthropicProvider(api_key=target.key, base_url=target.url, http_client=client)
            return AnthropicModel(target.model, provider=maker)
        case "gemini":
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            return GoogleModel(
                target.model, provider=GoogleProvider(api_key=target.key, base_url=target.url, http_client=client)
            )
        case _:
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            url = target.url or "https://api.openai.com/v1"
            return OpenAIChatModel(
                target.model,
                provider=OpenAIProvider(base_url=url, api_key=target.key or _KEYLESS, http_client=client),
            )


def _messages(request: Request) -> list[Any]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

    out: list[Any] = []
    for n, (role, text) in enumerate(request.turns):
        if role == "assistant":
            out.append(ModelResponse(parts=[TextPart(text)]))
            continue
        parts: list[Any] = [SystemPromptPart(request.system)] if n == 0 else []
        out.append(ModelRequest(parts=[*parts, UserPromptPart(text)]))
    return out


def _spent(usage: Any) -> Spent | None:
    if not usage.input_tokens and not usage.output_tokens:
        return None
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    return Spent(max(0, usage.input_tokens - read - written), read, written, usage.output_tokens)


_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens|input token count|exceeds? the (?:maximum|available)",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"(?:>|limit(?: of| is)?|maximum(?: context length| allowed| number of tokens)?(?: is| of|:)?|\()\s*([\d,]{4,9})(?:\s*tokens|\s*maximum|\)|\b)",
    re.IGNORECASE,
)


def _limit(words: str) -> int | None:
    """The tokens a prompt may have, by an error's words ("210,000 tokens > 200,000 maximum"); None where they do not say. Where they name
    the prompt's own size in the same way ("(9000) exceeds … (6000)"), the smaller one is the limit.
    """
    found = [int(digits) for match in _LIMITS.finditer(words) if (digits := match[1].replace(",", ""))]
    return min(found, default=None)


def _words(error: Any) -> str:
    """What the provider itself says of an error, without the shape it says it in."""
    body = getattr(error, "body", None)
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        said = body.get("error", body)
        said = said.get("message", said) if isinstance(said, dict) else said
        if isinstance(said, str) and said.strip():
            return said
    return str(getattr(error, "message", "") or error)


def _trouble(error: Any) -> Trouble:
    """The library's many errors as ours."""
    from pydantic_ai import exceptions as known

    words = _words(error)
    status = getattr(error, "status_code", None)
    after = getattr(error, "retry_after", None)
    if isinstance(error, known.ModelContextWindowExceededError) or (
        status in (400, 413, 422, 500) and _TOO_LONG.search(words)
    ):
        return Trouble("prompt too long", words, status=status, overflow=True)
    kinds: tuple[tuple[Any, str, bool], ...] = (
        (known.ModelQuotaExceededError, "quota used up", False),
        (known.ModelRateLimitError, "rate limit", True),
        (known.ModelUnavailableError, "overloaded", True),
        (known.ModelServerError, "server error", True),
        (known.ModelRequestTimeout, "timeout", True),
        (known.ModelTimeoutError, "timeout", True),
        (known.ModelConnectionError, "no connection", True),
        (known.ModelAuthenticationError, "key refused", False),
        (known.ModelNotFoundError, "no such model", False),
        (known.ModelRequestRejectedError, "request refused", False),
    )
    # Servers that are only like the makers' own say less in their errors than their status does.
    later = status is not None and (status in (408, 409, 425, 429) or status >= 500)
    for kind, name, again in kinds:
        if isinstance(error, kind) and not (kind is known.ModelRequestRejectedError and later):
            return Trouble(name, words, again=again, after=after, status=status)
    return Trouble(
        "unreadable answer" if status is None else f"status {status}", words, again=later, after=after, status=status
    )
