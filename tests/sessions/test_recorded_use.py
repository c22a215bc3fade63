"""What recorded sessions say they used, read from the raw records by another way than the adapters', against our figures."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions.adapters import claims
from sessions.adapters.base import HEAD
from sessions.answers import context_of
from sessions.assembly import Reading, read_whole
from sessions.gauge import gauge
from sessions.ingest import take_file
from sessions.models import Session
from webapp.models import Workspace

SMALL = 10_000_000  # bytes up to which a session is taken into the database, step by step


def files(folder: Path) -> list[Path]:
    """Recorded files of one agent that are transcripts."""
    if not folder.is_dir():
        pytest.skip(f"the recorded sessions of {folder.name} are not there")
    return sorted(path for path in folder.rglob("*") if path.is_file())


def readings(folder: Path) -> Iterator[tuple[Path, bytes, Reading]]:
    for path in files(folder):
        data = path.read_bytes()
        found = claims(path, data[:HEAD])
        if found is None or found[1].role != "session" or found[1].reason is not None or path.suffix == ".zst":
            continue
        yield path, data, read_whole(found[0], path, [(data, False)])


def records(data: bytes) -> list[Any]:
    out = []
    for line in data.split(b"\n"):
        try:
            out.append(json.loads(line))
        except ValueError:
            out.append(None)
    return out


def used_by_step(reading: Reading) -> dict[int, int]:
    return {step.n: step.usage.context for step in reading.steps if step.usage is not None and step.usage.context}


def test_claude_code(shared_data: Path) -> None:
    """Of each answer: input, read from the cache, written to the cache, and the largest output its records give."""
    checked = 0
    for path, data, reading in readings(shared_data / "claude-code"):
        raw = records(data)
        said: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for placed, record in zip(reading.placed, raw, strict=False):
            message = record.get("message") if isinstance(record, dict) else None
            if placed.step is not None and isinstance(message, dict) and isinstance(message.get("usage"), dict):
                said[placed.step].append(message["usage"])
        ours = used_by_step(reading)
        for step, usages in said.items():
            prompts = {
                sum(u.get(k) or 0 for k in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
                for u in usages
            }
            total = max(prompts) + max(u.get("output_tokens") or 0 for u in usages)
            if total:
                assert ours[step] == total, (path, step)
                checked += 1
        with_usage = {
            record["message"]["id"]
            for record in raw
            if isinstance(record, dict)
            and record.get("type") == "assistant"
            and isinstance(record.get("message"), dict)
            and any((record["message"].get("usage") or {}).get(k) for k in ("input_tokens", "output_tokens"))
            and record["message"].get("id")
        }
        counted = {step.response_id for step in reading.steps if step.usage is not None}
        assert with_usage <= counted, path
    assert checked > 1_000


def test_codex(shared_data: Path) -> None:
    """Of each request the total of the last `token_count` that belongs to it; every total that was written belongs to one."""
    checked = 0
    for path, data, reading in readings(shared_data / "codex"):
        last: dict[int, int] = {}
        every: set[int] = set()
        for placed, record in zip(reading.placed, records(data), strict=False):
            payload = record.get("payload") if isinstance(record, dict) else None
            info = payload.get("info") if isinstance(payload, dict) and payload.get("type") == "token_count" else None
            total = ((info or {}).get("last_token_usage") or {}).get("total_tokens")
            if not total:
                continue
            every.add(total)
            if placed.step is not None:
                last[placed.step] = total
        ours = used_by_step(reading)
        for step, total in last.items():
            assert ours[step] == total, (path, step)
            checked += 1
        if reading.facts.parent_native_id is None:  # a fork begins with the records of another session
            assert every <= set(ours.values()), path
    assert checked > 20


def tokens_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every object under a key `tokens`, however deep."""
    if isinstance(value, dict):
        if isinstance(value.get("tokens"), dict):
            yield value["tokens"]
        for inner in value.values():
            yield from tokens_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from tokens_in(inner)


def written(data: bytes) -> list[dict[str, Any]]:
    try:
        return list(tokens_in(json.loads(data)))
    except ValueError:
        return [found for record in records(data) for found in tokens_in(record)]


def test_gemini(shared_data: Path) -> None:
    """Its totals are the agent's own, and none is missing."""
    checked = 0
    for path, data, reading in readings(shared_data / "gemini"):
        totals = {tokens["total"] for tokens in written(data) if tokens.get("total")}
        assert set(used_by_step(reading).values()) == totals, path
        checked += len(totals)
    assert checked > 20


def test_opencode(shared_data: Path) -> None:
    """Each request's total, or input, cached input, output and reasoning together where it has none."""
    checked = 0
    for path, data, reading in readings(shared_data / "opencode"):
        if path.suffix != ".json":
            continue
        totals = set()
        for tokens in written(data):
            cache = tokens.get("cache") or {}
            parts = [tokens.get(key) or 0 for key in ("input", "output", "reasoning")]
            totals.add(tokens.get("total") or sum([*parts, cache.get("read") or 0, cache.get("write") or 0]))
        ours = set(used_by_step(reading).values())
        assert ours <= totals, path
        checked += len(ours)
    assert checked > 20


@pytest.mark.django_db
@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "opencode"])
def test_the_gauge_at_every_step_is_the_recorded_figure(shared_data: Path, agent: str) -> None:
    """From the database: the gauge, and for the first steps the whole `context --step N --json`."""
    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    checked = 0
    for path in files(shared_data / agent):
        if path.stat().st_size > SMALL:
            continue
        taken = take_file(workspace, path)
        if taken.session is None:
            continue
        session = Session.objects.get(pk=taken.session)
        for step in session.steps.all():
            if step.context is None:
                continue
            found = gauge(session, step=step)
            assert found.used.refused is None, (path, step.n, found.used.whose)
            assert found.used.tokens == step.context, (path, step.n)
            assert found.used.recorded == step.context
            checked += 1
        first = session.steps.filter(fresh__isnull=False).first()
        if first is not None:
            whole = context_of(session, step=first.n)["gauge"]
            assert whole["used"]["tokens"] == first.context
            assert [one["key"] for one in whole["numbers"]] == [
                "total",
                "prompt",
                "until_compaction",
                "output",
                "output_budget",
            ]
            assert whole["forecast"]["sentence"]
            assert whole["rule"]
    assert checked > 5
