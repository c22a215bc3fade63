"""Anthropic's messages: a list, a request with its system prompt, or a log of lines."""

from __future__ import annotations

from sessions.adapters.generic.adapter import Messages
from sessions.adapters.generic.forms import Form

ADAPTER = Messages(Form.ANTHROPIC, "Anthropic messages")
