"""The names that people gave to threads: Codex appends each to one file for all of them, and the rollouts do not have them."""

from __future__ import annotations

from sessions.adapters.records import NotARecord, load

FILE = "session_index.jsonl"


def named(data: bytes) -> dict[str, str]:
    """The name of each thread by its id, the last one given (seen in 0.171). Lines that say something else are passed."""
    out: dict[str, str] = {}
    for line in data.split(b"\n"):
        try:
            record = load(line)
        except NotARecord:
            continue
        thread, name = record.get("id"), record.get("thread_name")
        if isinstance(thread, str) and isinstance(name, str) and name.strip():
            out[thread] = " ".join(name.split())
    return out
