"""A server on loopback that speaks as Anthropic, OpenAI and Gemini do, over real HTTP, and a place for hooks to be sent to.

What it answers is told beforehand, one behaviour for a request, the last one for all further ones. Nothing here waits for a time: a hanging
request ends when its client goes away, which the server notices.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"fresh": 90_000, "cache_read": 100, "cache_write": 50, "output": 77}


@dataclass(frozen=True)
class Asked:
    """A request as the server got it, its prompt in one form whatever the protocol."""

    protocol: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    system: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    model: str = ""
    max_tokens: int | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """`read`: the tokens of the prompt it says it read, where they are others than USAGE's."""

    text: str
    cut: bool = False
    read: int | None = None


@dataclass(frozen=True)
class Status:
    """An error, in the words of the protocol that asks."""

    code: int
    words: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)


class Hang:
    """No answer, ever."""


@dataclass(frozen=True)
class Raw:
    """A plain HTTP answer, for hooks."""

    body: bytes = b"{}"
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


type Behaviour = Answer | Status | Hang | Raw | Callable[[Asked], Any]


class Server:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.behaviours: list[Any] = [Answer("")]
        self.came, self.left = threading.Event(), threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer._serve(self, body)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def says(self, *behaviours: Behaviour | str) -> None:
        self.behaviours = [Answer(one) if isinstance(one, str) else one for one in behaviours]

    def _serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        asked = _understood(handler.path, dict(handler.headers), body)
        behaviour = self.behaviours[min(len(self.asked), len(self.behaviours) - 1)]
        self.asked.append(asked)
        self.came.set()
        if callable(behaviour):
            behaviour = behaviour(asked)
        if isinstance(behaviour, str):
            behaviour = Answer(behaviour)
        if isinstance(behaviour, Hang):
            handler.connection.recv(1)  # nothing more is sent: it returns when the client closes
            self.left.set()
            handler.close_connection = True
            return
        if isinstance(behaviour, Raw):
            _send(handler, behaviour.code, behaviour.body, behaviour.headers)
        elif isinstance(behaviour, Status):
            _send(handler, behaviour.code, json.dumps(_error(asked, behaviour)).encode(), behaviour.headers)
        else:
            _send(handler, 200, json.dumps(_answer(asked, behaviour)).encode(), {})


def _send(handler: BaseHTTPRequestHandler, code: int, body: bytes, headers: Mapping[str, str]) -> None:
    try:
        handler.send_response(code)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
    except (BrokenPipeError, ConnectionResetError):
        pass


def _understood(path: str, headers: Mapping[str, str], body: bytes) -> Asked:
    if path.endswith("/messages"):
        given = json.loads(body)
        system = given.get("system", "")
        system = system if isinstance(system, str) else "".join(part["text"] for part in system)
        turns = tuple((one["role"], _text(one["content"])) for one in given["messages"])
        return Asked("anthropic", path, headers, body, system, turns, given["model"], given["max_tokens"])
    if path.endswith("/chat/completions"):
        given = json.loads(body)
        said = [(one["role"], _text(one["content"])) for one in given["messages"]]
        system = "".join(text for role, text in said if role in ("system", "developer"))
        turns = tuple(one for one in said if one[0] not in ("system", "developer"))
        most = given.get("max_completion_tokens", given.get("max_tokens"))
        return Asked("openai", path, headers, body, system, turns, given["model"], most)
    if ":generateContent" in path:
        given = json.loads(body)
        system = _text(given.get("systemInstruction", {}).get("parts", []))
        turns = tuple(
            ("assistant" if one["role"] == "model" else one["role"], _text(one["parts"])) for one in given["contents"]
        )
        model = path.split("/models/")[1].split(":", maxsplit=1)[0]
        return Asked("gemini", path, headers, body, system, turns, model, given["generationConfig"]["maxOutputTokens"])
    return Asked("other", path, headers, body)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _answer(asked: Asked, said: Answer) -> Any:
    fresh, read, write, output = USAGE.values()
    if said.read is not None:
        fresh, read, write = said.read, 0, 0
    if asked.protocol == "anthropic":
        usage = {"input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": write}
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": asked.model, "stop_sequence": None,
            "content": [{"type": "text", "text": said.text}] if said.text else [],
            "stop_reason": "max_tokens" if said.cut else "end_turn", "usage": usage | {"output_tokens": output},
        }  # fmt: skip
    if asked.protocol == "openai":
        message = {"role": "assistant", "content": said.text}
        usage = {"prompt_tokens": fresh + read, "completion_tokens": output, "total_tokens": fresh + read + output}
        usage["prompt_tokens_details"] = {"cached_tokens": read}
        choice = {"index": 0, "message": message, "finish_reason": "length" if said.cut else "stop"}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": asked.model,
            "choices": [choice],
            "usage": usage,
        }
    content = {"role": "model", "parts": [{"text": said.text}] if said.text else []}
    usage = {"promptTokenCount": fresh + read, "cachedContentTokenCount": read, "candidatesTokenCount": output}
    usage["totalTokenCount"] = fresh + read + output
    end = "MAX_TOKENS" if said.cut else "STOP"
    return {
        "candidates": [{"content": content, "finishReason": end, "index": 0}],
        "usageMetadata": usage,
        "modelVersion": asked.model,
    }


def _error(asked: Asked, status: Status) -> Any:
    if asked.protocol == "anthropic":
        kind = {429: "rate_limit_error", 401: "authentication_error", 529: "overloaded_error"}.get(
            status.code, "invalid_request_error" if status.code < 500 else "api_error"
        )
        return {"type": "error", "error": {"type": kind, "message": status.words}}
    if asked.protocol == "openai":
        code = "context_length_exceeded" if "context length" in status.words else None
        return {"error": {"message": status.words, "type": "invalid_request_error", "param": None, "code": code}}
    return {
        "error": {
            "code": status.code,
            "message": status.words,
            "status": "RESOURCE_EXHAUSTED" if status.code == 429 else "INVALID_ARGUMENT",
        }
    }


@contextmanager
def serving() -> Iterator[Server]:
    """A server for the block."""
    server = Server()
    thread = threading.Thread(target=lambda: server.http.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()
