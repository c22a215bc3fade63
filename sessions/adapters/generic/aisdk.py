"""Vercel AI SDK: Core messages (3, 4), Model messages (5 and later) and UI messages of each."""

from __future__ import annotations

from sessions.adapters.generic.adapter import Messages
from sessions.adapters.generic.forms import Form

ADAPTER = Messages(Form.AISDK, "AI SDK messages")
