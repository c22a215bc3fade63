"""OpenAI's messages: of chat completions, and items of the Responses interface. A list, a request or response, or a log of lines."""

from __future__ import annotations

from sessions.adapters.generic.adapter import Messages
from sessions.adapters.generic.forms import Form

ADAPTER = Messages(Form.OPENAI, "OpenAI messages")
