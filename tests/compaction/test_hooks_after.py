"""Hooks that are told of a run that has landed: whatever becomes of them, the run has landed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.db import connection

from compaction.hooks import http
from compaction.hooks.contract import MOST_APPENDED
from sessions import versions
from sessions.models import Session
from sessions.store import edits_of
from tests.compaction.stage import context_hash, head_of
from tests.compaction.test_hooks import carried_out, hook, result_of, says
from tests.loopback import Asked, Hang, Raw, Server, serving

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


def notices(session: Session) -> list[str]:
    head = head_of(session)
    assert head is not None
    return [edit.text for edit in edits_of(head) if getattr(edit, "kind", None) == "notice"]


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (Raw(b"", 500), "status 500"),
        (Raw(b"not json"), "no JSON"),
        (Raw(b'{"append": 7}'), "append"),
        (Raw(b"", 302, {"Location": "http://127.0.0.1:1/"}), "status 302"),
    ],
)
def test_one_that_fails_takes_nothing_back(
    session: Session,
    server: Server,
    behaviour: Raw,
    words: str,
) -> None:
    plain = carried_out(session)
    wanted = context_hash(session)
    versions.undo(session.pk)
    hook(session, server.url, event="post_compact")
    server.says(behaviour)
    run = carried_out(session)
    assert (run.state, run.status, run.tokens_after) == ("completed", "completed", plain.tokens_after), run.reason
    assert head_of(session) == run.version
    assert context_hash(session) == wanted
    result = result_of(run)
    assert (result.event, result.outcome) == ("post_compact", "failed")
    assert words in result.words


def test_a_block_comes_too_late(session: Session, server: Server) -> None:
    hook(session, server.url, event="post_compact")
    says(server, decision="block", reason="too late")
    run = carried_out(session)
    assert (run.state, run.status) == ("completed", "completed"), run.reason
    assert head_of(session) == run.version
    assert result_of(run).outcome == "continued"


def test_one_that_never_answers_is_given_up_and_the_next_is_asked(
    session: Session,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from compaction.hooks import consulting

    real = http.ask
    monkeypatch.setattr(consulting.http, "ask", lambda *a, **k: real(*a, **{**k, "timeout": 0.5}))
    hook(session, server.url, event="post_compact", name="slow")
    hook(session, server.url, event="post_compact", name="quick")
    server.says(Hang(), Raw(b'{"append": ["The staging host is down."]}'))
    run = carried_out(session)
    assert run.state == "completed", run.reason
    found = {result.name: (result.outcome, result.words) for result in run.hook_results.all()}
    assert found["slow"][0] == "failed"
    assert "did not answer within" in found["slow"][1]
    assert found["quick"][0] == "continued"
    assert notices(session) == ["The staging host is down."]
    assert server.left.wait(60)


def test_what_several_append_is_bounded_together_counted_and_taken_back_with_the_run(
    session: Session,
    server: Server,
) -> None:
    before = context_hash(session)
    hook(session, server.url, event="post_compact", name="long")
    hook(session, server.url, event="post_compact", name="too long")
    hook(session, server.url, event="post_compact", name="short")
    long = "one fact more. " * (MOST_APPENDED // 6)
    answers = iter([long, long, "The branch is frozen."])

    def answer(_: Asked) -> Raw:
        return Raw(json.dumps({"append": [next(answers)]}).encode())

    server.says(answer)
    run = carried_out(session)
    assert run.state == "completed", run.reason
    assert run.tokens_after is not None
    assert [one.json["event"] for one in server.asked] == ["post_compact"] * 3
    assert server.asked[1].json["tokens_after"] > server.asked[0].json["tokens_after"]
    assert run.tokens_after > server.asked[1].json["tokens_after"]  # each is told of what those before it appended
    assert sorted(map(len, notices(session))) == sorted([len("The branch is frozen."), len(long.strip())])
    refused = run.hook_results.get(name="too long")
    assert (refused.outcome, refused.effects) == ("failed", {})
    assert "were left for hooks: not appended" in refused.words
    versions.undo(session.pk)
    assert context_hash(session) == before


def test_nothing_is_appended_to_a_head_that_has_moved_on(session: Session, server: Server) -> None:
    before = context_hash(session)
    hook(session, server.url, event="post_compact")

    def undone_meanwhile(_: Asked) -> Raw:
        try:
            versions.undo(session.pk)
        finally:
            connection.close()  # of the server's thread
        return Raw(b'{"append": ["Too late."]}')

    server.says(undone_meanwhile)
    run = carried_out(session)
    assert run.state == "completed", run.reason
    assert context_hash(session) == before
    assert head_of(session) != run.version
    result = result_of(run)
    assert (result.outcome, result.effects) == ("failed", {})
    assert "moved on" in result.words
