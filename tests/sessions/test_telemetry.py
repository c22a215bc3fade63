"""Telemetry from a real OpenTelemetry SDK, over HTTP into the receiver: what arrives is a session, and grows as more of it comes."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sessions import otlp_api
from sessions.adapters.generic import protobuf
from sessions.answers import context_of
from sessions.models import Intake, Session
from sessions.sourcebytes import content
from webapp.auth import issue_token
from webapp.models import Membership, Role, Scope, User, Workspace

CONVERSATION = "conversation-of-the-ledger"


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


class Sdk:
    """A program with an OpenTelemetry SDK in it, as its documentation sets one up."""

    def __init__(self, exporter: Any) -> None:
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(exporter))
        self.tracer = self.provider.get_tracer("ledger.agent", "1.0")

    def chat(
        self, given_: list[dict[str, Any]], answer: str, *, tokens: int, conversation: str | None = CONVERSATION
    ) -> None:
        """One request of a model, by the conventions for generative AI of today."""
        with self.tracer.start_as_current_span("chat gpt-5") as span:
            span.set_attribute("gen_ai.operation.name", "chat")
            span.set_attribute("gen_ai.provider.name", "openai")
            if conversation is not None:
                span.set_attribute("gen_ai.conversation.id", conversation)
            span.set_attribute("gen_ai.request.model", "gpt-5")
            span.set_attribute("gen_ai.response.model", "gpt-5-2026")
            span.set_attribute("gen_ai.usage.input_tokens", tokens)
            span.set_attribute("gen_ai.usage.output_tokens", 7)
            span.set_attribute("gen_ai.input.messages", json.dumps(given_))
            span.set_attribute("gen_ai.output.messages", json.dumps([said("assistant", answer)]))


@pytest.fixture
def workspace(transactional_db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def key(workspace: Workspace, scope: Scope) -> str:
    user = User.objects.create_user(f"ada-{scope}")
    Membership.objects.create(workspace=workspace, user=user, role=Role.ADMIN)
    return issue_token(workspace=workspace, user=user, name="telemetry", scope=scope)[1]


@pytest.fixture
def headers(workspace: Workspace) -> dict[str, str]:
    return {"Authorization": f"Bearer {key(workspace, Scope.WRITE)}"}


@pytest.fixture
def sdk(live_server: Any, headers: dict[str, str]) -> Iterator[Sdk]:
    exporter = OTLPSpanExporter(
        f"{live_server.url}/v1/traces", headers=headers, compression=Compression.Gzip, timeout=20
    )
    program = Sdk(exporter)
    yield program
    program.provider.shutdown()


def texts(session: Session) -> list[str]:
    return [item["parts"][0]["text"] for item in context_of(session)["items"]]


def test_a_conversation_arrives_request_by_request_and_grows_one_session(sdk: Sdk):
    sdk.chat([said("user", "Port the ledger importer.")], "I read it first.", tokens=40)
    session = Session.objects.get()
    assert (session.agent, session.native_id, session.turns, session.steps_count) == ("otel", CONVERSATION, 1, 1)
    assert texts(session) == ["Port the ledger importer.", "I read it first."]
    given_ = [said("user", "Port the ledger importer."), said("assistant", "I read it first."), said("user", "Go on.")]
    sdk.chat(given_, "Ported.", tokens=66)
    grown = Session.objects.get()
    assert grown.pk == session.pk
    assert texts(grown) == ["Port the ledger importer.", "I read it first.", "Go on.", "Ported."]
    assert (grown.turns, grown.steps_count) == (2, 2)
    assert (grown.totals["fresh"], grown.totals["output"]) == (106, 14)
    assert grown.models_used == ["gpt-5-2026"]
    assert set(Intake.objects.values_list("how", "outcome")) == {("export", "added"), ("export", "grown")}


def test_a_span_around_the_requests_that_comes_last_belongs_to_their_session(sdk: Sdk):
    with sdk.tracer.start_as_current_span("invoke_agent ledger"):
        sdk.chat([said("user", "Port it.")], "Done.", tokens=9)
        first = Session.objects.get()
        with sdk.tracer.start_as_current_span("POST https://example.org/ledger"):
            pass
    session = Session.objects.get()
    assert session.pk == first.pk
    assert texts(session) == ["Port it.", "Done."]
    assert session.steps_count == 1
    assert session.entries_count > first.entries_count


def test_requests_without_a_conversation_are_one_by_their_trace(sdk: Sdk):
    with sdk.tracer.start_as_current_span("work") as outer:
        sdk.chat([said("user", "One")], "Two", tokens=1, conversation=None)
        trace = format(outer.get_span_context().trace_id, "032x")
    assert Session.objects.get().native_id == trace


def test_spans_in_which_no_model_is_asked_make_no_session(sdk: Sdk):
    with sdk.tracer.start_as_current_span("GET /ledger"):
        pass
    assert not Session.objects.exists()


def test_a_batch_that_comes_twice_counts_once(live_server: Any, headers: dict[str, str]):
    memory = InMemorySpanExporter()
    program = Sdk(memory)
    program.chat([said("user", "One")], "Two", tokens=5)
    body = encode_spans(memory.get_finished_spans()).SerializeToString()
    for _ in range(2):
        assert post(live_server, body, headers, "application/x-protobuf") == (200, b"")
    session = Session.objects.get()
    assert (session.steps_count, session.totals["fresh"]) == (1, 5)


def test_messages_as_log_records_of_their_own_join_the_request(live_server: Any, headers: dict[str, str]):
    """The conventions of before: the span counts, events say what was said, and each comes by an address of its own."""
    spans = Sdk(OTLPSpanExporter(f"{live_server.url}/v1/traces", headers=headers))
    provider = LoggerProvider()
    provider.add_log_record_processor(
        SimpleLogRecordProcessor(OTLPLogExporter(f"{live_server.url}/v1/logs", headers=headers))
    )
    logger = provider.get_logger("ledger.agent")
    with spans.tracer.start_as_current_span("chat gpt-5") as span:
        span.set_attribute("gen_ai.operation.name", "chat")
        span.set_attribute("gen_ai.request.model", "gpt-5")
        span.set_attribute("gen_ai.usage.input_tokens", 12)
        logger.emit(event_name="gen_ai.user.message", body={"content": "Port it."})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Ported."}}
        logger.emit(event_name="gen_ai.choice", body=choice)
    session = Session.objects.get()
    assert texts(session) == ["Port it.", "Ported."]
    assert (session.steps_count, session.totals["fresh"]) == (1, 12)
    spans.provider.shutdown()
    provider.shutdown()


def post(live_server: Any, body: bytes, headers: dict[str, str], form: str, **more: str) -> tuple[int, bytes]:
    request = urllib.request.Request(
        f"{live_server.url}/v1/traces", data=body, headers={**headers, "Content-Type": form, **more}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def json_export(text: str = "One") -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": {"stringValue": "chat"},
        "gen_ai.request.model": {"stringValue": "gpt-5"},
        "gen_ai.usage.input_tokens": {"intValue": "12"},
        "gen_ai.input.messages": {"stringValue": json.dumps([said("user", text)])},
    }
    span = {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": "b7ad6b7169203331",
        "name": "chat gpt-5",
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": "1790000001000000000",
        "attributes": [{"key": name, "value": value} for name, value in attributes.items()],
    }
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]}]}


def test_json_is_taken_too_packed_or_not(live_server: Any, headers: dict[str, str]):
    body = json.dumps(json_export()).encode()
    assert post(live_server, gzip.compress(body), headers, "application/json", **{"Content-Encoding": "gzip"}) == (
        200,
        b"{}",
    )
    session = Session.objects.get()
    assert (texts(session), session.totals["fresh"]) == (["One"], 12)
    (line,) = b"".join(content(session.source)).splitlines()
    assert json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"] == "b7ad6b7169203331"


@pytest.mark.parametrize(
    ("body", "form", "encoding", "status"),
    [
        (b"\x0a\xff", "application/x-protobuf", "", 400),
        (b"not json", "application/json", "", 400),
        (b"[]", "application/json", "", 400),
        (b"\x1f\x8b broken", "application/json", "gzip", 400),
        (gzip.compress(b"{}")[:-4], "application/json", "gzip", 400),
        (b"{}", "application/json", "br", 400),
        (b"{}", "text/plain", "", 415),
    ],
)
def test_what_is_no_export_is_refused_and_stores_nothing(live_server, headers, body, form, encoding, status):
    assert post(live_server, body, headers, form, **({"Content-Encoding": encoding} if encoding else {}))[0] == status
    assert not Session.objects.exists()


def test_a_bomb_is_refused_before_it_is_unpacked(live_server, headers, monkeypatch):
    monkeypatch.setattr(otlp_api, "LARGEST", 1 << 20)
    bomb = gzip.compress(b" " * (64 << 20))
    assert post(live_server, bomb, headers, "application/json", **{"Content-Encoding": "gzip"})[0] == 413


def test_a_token_that_may_write_is_needed(live_server: Any, workspace: Workspace):
    body = json.dumps(json_export()).encode()
    assert post(live_server, body, {}, "application/json")[0] == 401
    reader = {"Authorization": f"Bearer {key(workspace, Scope.READ)}"}
    assert post(live_server, body, reader, "application/json")[0] == 403
    assert not Session.objects.exists()


_VALUES = st.one_of(
    st.text(max_size=20), st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False),
    st.lists(st.text(max_size=5), max_size=3),
)  # fmt: skip


@given(st.dictionaries(st.text(min_size=1, max_size=10), _VALUES, max_size=6), st.text(max_size=30))
def test_protobuf_is_read_as_its_own_library_reads_it(attributes: dict[str, Any], name: str):
    memory = InMemorySpanExporter()
    program = Sdk(memory)
    with program.tracer.start_as_current_span("outer"), program.tracer.start_as_current_span(name) as span:
        span.add_event("noted", attributes)
        span.set_attributes(attributes)
    message = encode_spans(memory.get_finished_spans())
    theirs = MessageToDict(message)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ours = protobuf.traces(message.SerializeToString())["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert len(ours) == len(theirs) == 2
    for mine, other in zip(ours, theirs, strict=True):
        for field in ("traceId", "spanId", "parentSpanId"):
            assert mine.get(field) == (base64.b64decode(other[field]).hex() if field in other else None)
        for field in ("startTimeUnixNano", "endTimeUnixNano", "attributes"):
            assert mine.get(field) == other.get(field)
        assert mine.get("name", "") == other.get("name", "")
        assert mine.get("events") == other.get("events")


@given(st.binary(max_size=200))
def test_no_bytes_break_the_decoder(data: bytes):
    for decode in (protobuf.traces, protobuf.logs):
        with contextlib.suppress(protobuf.Malformed):
            decode(data)
