"""Hooks, asked over real HTTP, as commands, functions and questions to a model: what they may do, and what no failure of theirs does."""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from compaction import runs
from compaction.hooks import http
from compaction.hooks.consulting import secret_of
from compaction.hooks.contract import LARGEST_ANSWER
from compaction.models import Hook, HookResult, Run
from sessions import versions
from sessions.models import Session
from sessions.store import edits_of
from tests.compaction.stage import context_hash, head_of
from tests.loopback import Asked, Hang, Raw, Server, serving

pytestmark = pytest.mark.django_db(transaction=True)

FOLDS: dict[str, Any] = {"strategy": "hybrid", "params": {"free": 1_000_000}}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


def hook(session: Session, target: str, *, event: str = "pre_compact", kind: str = "http", **more: Any) -> Hook:
    facts = {"name": f"{kind}-{Hook.objects.count()}", "private": True, "salt": "s", **more}
    return Hook.objects.create(workspace=session.workspace, event=event, kind=kind, target=target, **facts)


def carried_out(session: Session, **choice: Any) -> Run:
    run = runs.request(session.pk, **{**FOLDS, **choice})
    runs.execute(run.pk)
    run.refresh_from_db()
    return run


def says(server: Server, **answer: Any) -> None:
    server.says(Raw(json.dumps(answer).encode()))


def result_of(run: Run) -> HookResult:
    (only,) = run.hook_results.all()
    return only


def test_a_hook_is_told_what_will_be_done_and_can_prove_who_asks(session: Session, server: Server) -> None:
    one = hook(session, f"{server.url}/hook?x=1")
    run = carried_out(session)
    assert run.state == "completed", run.reason
    (asked,) = server.asked
    told = asked.json
    assert (told["event"], told["trigger"], told["run"]) == ("pre_compact", "manual", run.pk)
    assert told["session"]["id"] == str(session.pk)
    assert told["folded"] == run.report["fold"]
    assert asked.path == "/hook?x=1"
    at, _, signed = asked.headers[http.SIGNATURE].partition(",v1=")
    known = hmac.new(secret_of(one), f"{at[2:]}.".encode() + asked.body, hashlib.sha256).hexdigest()
    assert signed == known
    assert secret_of(one).decode() not in json.dumps(list(Hook.objects.values("target", "salt", "name")))
    assert result_of(run).outcome == "continued"


def test_a_hook_blocks_once_with_its_reason_and_not_again(session: Session, server: Server) -> None:
    hook(session, server.url)
    says(server, decision="block", reason="a release is being cut")
    before = context_hash(session)
    run = carried_out(session)
    assert (run.state, run.status, run.version) == ("refused", "blocked_by_hook", None)
    assert "a release is being cut" in run.reason
    assert context_hash(session) == before
    again = carried_out(session)
    assert again.state == "completed", again.reason
    assert result_of(again).outcome == "not again"


def test_a_block_is_spent_by_the_run_after_it(session: Session, server: Server) -> None:
    hook(session, server.url)
    says(server, **{"continue": False, "stopReason": "not now"})
    states = []
    for _ in range(3):
        run = carried_out(session)
        states.append(run.status)
        if run.version is not None:
            versions.undo(session.pk)
    assert states == ["blocked_by_hook", "completed", "blocked_by_hook"]


def test_a_hook_pins_entries_and_adds_instructions(session: Session, server: Server) -> None:
    plain = runs.preview_run(session, **FOLDS).preview
    folded = next(iter(plain.plan.fold))
    hook(session, server.url)
    says(server, pins=[folded], instructions="Dwell on the limits.", notify="rule 7 applies")
    run = carried_out(session, plan_digest=plain.digest)
    assert run.state == "completed", run.reason
    assert run.version is not None
    assert folded not in run.version.hidden
    result = result_of(run)
    assert result.effects == {"pins": [folded], "instructions": "Dwell on the limits."}
    assert result.words == "rule 7 applies"


def test_a_hook_after_it_appends_bounded_text(session: Session, server: Server) -> None:
    hook(session, server.url, event="post_compact")
    says(server, append=["The staging host is down until Monday."])
    run = carried_out(session)
    assert run.state == "completed", run.reason
    assert server.asked[0].json["summary"]
    assert server.asked[0].json["tokens_after"] < server.asked[0].json["tokens_before"]
    assert run.version is not None
    notices = [edit for edit in edits_of(run.version) if getattr(edit, "kind", None) == "notice"]
    assert [notice.text for notice in notices] == ["The staging host is down until Monday."]
    assert any(check["id"] == "pairing" and check["ok"] for check in run.report["checks"])

    versions.undo(session.pk)
    says(server, append="far too much " * 3_000)
    run = carried_out(session)
    assert run.state == "completed", run.reason
    assert run.version is not None
    assert not [edit for edit in edits_of(run.version) if getattr(edit, "kind", None) == "notice"]
    assert "not appended" in result_of(run).words


FAILURES: list[tuple[Any, str]] = [
    (Raw(b"", 500), "status 500"),
    (Raw(b"", 302, {"Location": "http://127.0.0.1:1/"}), "status 302"),
    (Raw(b"not json"), "no JSON"),
    (Raw(b"[1]"), "no JSON object"),
    (Raw(b'{"decision": "maybe"}'), "neither continue nor block"),
    (Raw(b'{"pins": [100000]}'), "there are entries 0 to"),
    (Raw(b'{"pins": "all"}'), "no list of entry numbers"),
    (Raw(b" " * (LARGEST_ANSWER + 10)), "larger than"),
]


def test_a_failing_hook_never_blocks_and_says_why(session: Session, server: Server) -> None:
    one = hook(session, server.url)
    server.says(*(behaviour for behaviour, _ in FAILURES))
    for _, words in FAILURES:
        run = carried_out(session)
        assert run.state == "completed", run.reason
        result = result_of(run)
        assert (result.outcome, result.hook_id) == ("failed", one.pk)
        assert words in result.words
        versions.undo(session.pk)


def test_a_hook_that_never_answers_is_given_up(
    session: Session, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from compaction.hooks import consulting

    real = http.ask
    monkeypatch.setattr(consulting.http, "ask", lambda *a, **k: real(*a, **{**k, "timeout": 0.1}))
    hook(session, server.url)
    server.says(Hang())
    run = carried_out(session)
    assert run.state == "completed", run.reason
    assert "did not answer within" in result_of(run).words
    assert server.left.wait(60)


def test_a_private_hook_is_refused_in_a_run_and_the_server_hears_nothing(session: Session, server: Server) -> None:
    hook(session, server.url, private=False)
    run = carried_out(session)
    assert run.state == "completed", run.reason
    assert "not public" in result_of(run).words
    assert server.asked == []


def test_a_command_runs_only_where_the_operator_said_so(session: Session, settings: Any, tmp_path: Any) -> None:
    script = "import json,os,sys; told=json.load(sys.stdin); print(json.dumps({'decision':'block','reason':told['event']+str(sorted(os.environ))}))"
    hook(session, json.dumps([sys.executable, "-c", script]), kind="command")
    run = carried_out(session)
    assert run.state == "completed", run.reason
    assert "commands are off" in result_of(run).words

    versions.undo(session.pk)
    settings.HOOK_COMMANDS = True
    run = carried_out(session)
    assert run.status == "blocked_by_hook", run.reason
    assert "pre_compact" in run.reason
    assert "DATABASE_URL" not in run.reason
    assert "PALIMPSEST" not in run.reason


def test_a_function_of_an_installed_package_is_asked(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    from compaction.hooks import others

    points = [
        EntryPoint("polite", "tests.compaction.test_hooks:polite", others.GROUP),
        EntryPoint("broken", "tests.compaction.test_hooks:broken", others.GROUP),
    ]
    monkeypatch.setattr(others, "entry_points", lambda group: points)
    hook(session, "polite", kind="python", name="polite")
    hook(session, "broken", kind="python", name="broken")
    hook(session, "absent", kind="python", name="absent")
    run = carried_out(session)
    assert run.state == "completed", run.reason
    said = {one.name: (one.outcome, one.words) for one in run.hook_results.all()}
    assert said["polite"] == ("continued", "hello")
    assert said["broken"] == ("failed", "it raised ZeroDivisionError")
    assert said["absent"][0] == "failed"


def polite(payload: dict[str, Any]) -> dict[str, Any]:
    assert payload["event"] == "pre_compact"
    return {"notify": "hello"}


def broken(payload: dict[str, Any]) -> None:
    raise ZeroDivisionError


def test_a_model_is_asked_a_question_and_its_call_is_on_the_run(
    session: Session, server: Server, settings: Any
) -> None:
    settings.LLM_MODELS, settings.LLM_KEYS = ["compatible:small"], {"compatible": None}
    settings.LLM_URLS = {"compatible": f"{server.url}/v1"}
    hook(session, "Block where a deployment is going on.", kind="prompt")

    def judge(asked: Asked) -> str:
        assert "<facts-" in asked.turns[0][1]
        assert asked.turns[0][1].endswith("Block where a deployment is going on.")
        return 'Sure: {"decision": "block", "reason": "deploying"} as you asked.'

    server.says(judge)
    run = carried_out(session)
    assert (run.status, "deploying" in run.reason) == ("blocked_by_hook", True), run.reason
    assert [call.purpose for call in run.calls.all()] == ["hook"]


def test_hooks_of_another_workspace_or_switched_off_are_not_asked(session: Session, server: Server) -> None:
    from tests.compaction.stage import a_workspace

    other = a_workspace("two")
    Hook.objects.create(workspace=other, name="x", event="pre_compact", kind="http", target=server.url, private=True)
    hook(session, server.url, on=False)
    hook(session, server.url, only="automatic")
    run = carried_out(session)
    assert run.state == "completed", run.reason
    assert server.asked == []
    assert head_of(session) == run.version
