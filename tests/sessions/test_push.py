"""`push` to a real server over a real socket; a relay between the two counts what goes over and breaks what a test wants broken."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import CommandError, call_command

from sessions.models import Intake, Session, Upload
from sessions.packing import compress
from sessions.pushing import Sender
from sessions.remote import Remote, Unreachable
from sessions.sourcebytes import stored
from tests.adapters.gemini_cli import build
from tests.claude_lines import ClaudeLines, turns
from tests.processes import MANAGE, plain_environment, read_until
from webapp.auth import issue_token
from webapp.models import Membership, Role, Scope, User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "11111111-2222-4333-8444-555555555555.jsonl"
DATA = bytes(turns(6))


@dataclass
class Relay:
    """A server between `push` and the real one. `breaks`: for each request in order, what to do instead of passing it on."""

    url: str
    breaks: list[str] = field(default_factory=list)
    seen: list[tuple[str, dict[str, str], int]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def sent(self) -> int:
        return sum(size for _, _, size in self.seen)


@pytest.fixture
def relay(live_server: Any) -> Iterator[Relay]:
    class Passing(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
            known.seen.append((self.command, query, len(body)))
            known.headers.append(dict(self.headers))
            todo = known.breaks.pop(0) if known.breaks else ""
            if todo == "gone":
                self.close_connection = True
                return
            if todo.isdigit():
                self.send_response(int(todo))
                self.send_header("Retry-After", "17")
                self.send_header("Location", "http://elsewhere.example/")
                self.end_headers()
                return
            request = urllib.request.Request(
                live_server.url + self.path, data=body if self.command != "GET" else None, method=self.command
            )
            request.add_header("Authorization", self.headers.get("Authorization", ""))
            request.add_header("Content-Type", self.headers.get("Content-Type", ""))
            try:
                with urllib.request.urlopen(request) as response:
                    status, said = response.status, response.read()
            except urllib.error.HTTPError as error:
                with error:
                    status, said = error.code, error.read()
            if todo == "lost":  # taken, and the answer never arrives
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_PATCH = answer  # noqa: N815 -- the names that http.server asks for

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    known = Relay(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield known
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def workspace(transactional_db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def token_of(workspace: Workspace, scope: Scope = Scope.WRITE) -> str:
    user = User.objects.create_user(f"ada-{scope}")
    Membership.objects.create(workspace=workspace, user=user, role=Role.OPERATOR)
    return issue_token(workspace=workspace, user=user, name="laptop", scope=scope)[1]


@pytest.fixture
def token(workspace: Workspace, tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(token_of(workspace) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "projects" / "-home-ada-ledger"
    made.mkdir(parents=True)
    return made


def push(relay: Relay, token: Path, *paths: Path, **more: Any) -> dict[str, Any]:
    out = io.StringIO()
    try:
        call_command(
            "push", *map(str, paths), to=relay.url, token_file=token, machine="laptop", as_json=True, stdout=out, **more
        )
    except CommandError as error:
        return {**json.loads(out.getvalue()), "error": str(error), "code": error.returncode}
    return json.loads(out.getvalue())


def outcomes(said: dict[str, Any]) -> list[tuple[str, int]]:
    return [(one["outcome"], one["sent"]) for one in said["files"]]


def bytes_there(**wanted: Any) -> bytes:
    return b"".join(stored(Session.objects.get(superseded_by=None, **wanted).source))


def test_only_what_was_appended_goes_over(relay, workspace, token, folder):
    path = folder / NAME
    half = DATA.index(b"\n", len(DATA) // 2) - 20  # in the middle of a record
    path.write_bytes(DATA[:half])
    (folder / "notes.md").write_text("no session")
    first = push(relay, token, folder)
    assert sorted(outcomes(first)) == [("added", half), ("skipped", 0)]
    relay.seen.clear()
    assert sorted(outcomes(push(relay, token, folder))) == [("skipped", 0), ("unchanged", 0)]
    assert [method for method, _, _ in relay.seen] == ["GET"]
    relay.seen.clear()
    path.write_bytes(DATA)
    assert ("grown", len(DATA) - half) in outcomes(push(relay, token, folder))
    assert relay.sent == len(DATA) - half
    assert bytes_there() == DATA
    session = Session.objects.get()
    assert session.source.path == f"upload:/laptop{path}"
    assert session.owner.username == "ada-write"
    assert set(Intake.objects.values_list("how", "outcome")) == {("push", "added"), ("push", "grown")}
    assert all(len(token.read_text().strip()) > 0 and token.read_text().strip() not in str(one) for one in relay.seen)


def test_an_interrupted_push_goes_on_where_it_was(relay, workspace, token, folder):
    path = folder / NAME
    path.write_bytes(DATA)
    remote = Remote(relay.url, token.read_text().strip(), wait=lambda _: True)
    sender = Sender(remote, "laptop", piece=1000)
    # Asked, asked by digest, three pieces; then the connection is gone for good.
    relay.breaks = ["", "", "", "", "", "gone"]
    (one,) = sender.push([path])
    assert (one.outcome, one.sent) == ("failed", 3000)
    assert "What it has it keeps" in one.reason
    assert not Session.objects.exists()
    assert Upload.objects.get().size == 3000
    relay.seen.clear()
    (again,) = sender.push([path])
    assert (again.outcome, again.sent) == ("added", len(DATA) - 3000)
    assert relay.sent == len(DATA) - 3000
    assert bytes_there() == DATA


def test_what_passes_is_tried_again_after_longer_and_longer_waits(relay, workspace, token, folder):
    path = folder / NAME
    path.write_bytes(DATA)
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return False

    relay.breaks = ["gone", "503", "", "", "429", "gone"]
    (one,) = Sender(Remote(relay.url, token.read_text().strip(), wait=wait), "laptop").push([path])
    assert (one.outcome, one.sent) == ("added", len(DATA))
    assert len(waits) == 4
    assert 0.3 < waits[0] < 1.5
    assert waits[1] > 17 * 0.75  # as long as the server asks for
    assert waits[2] > 17 * 0.75
    assert bytes_there() == DATA


def test_a_server_that_stays_away_is_given_up(relay, workspace, token, folder):
    (folder / NAME).write_bytes(DATA)
    relay.breaks = ["503"] * 3
    remote = Remote(relay.url, token.read_text().strip(), wait=lambda _: False, tries=3)
    (one,) = Sender(remote, "laptop").push([folder])
    assert (one.outcome, one.reason.startswith("The server could not be reached: it answers 503.")) == ("failed", True)
    assert (len(relay.seen), one.passing) == (3, True)


def test_whoever_stops_it_stops_it_between_two_pieces(relay, workspace, token, folder):
    path = folder / NAME
    path.write_bytes(DATA)
    remote = Remote(relay.url, token.read_text().strip(), wait=lambda _: True)
    sender = Sender(remote, "laptop", piece=1000, stopped=lambda: relay.sent >= 2000)
    (one,) = sender.push([path, path])
    assert (one.outcome, one.sent, one.passing) == ("failed", 2000, True)
    assert Upload.objects.get().size == 2000
    (again,) = Sender(remote, "laptop").push([path])
    assert (again.outcome, again.sent) == ("added", len(DATA) - 2000)


@pytest.mark.parametrize("lost", [2, 3, 4])
def test_an_answer_that_is_lost_loses_and_doubles_nothing(relay, workspace, token, folder, lost):
    """The bytes arrived, the answer did not: the piece must not be put in a second time."""
    path = folder / NAME
    path.write_bytes(DATA)
    relay.breaks = ["" for _ in range(lost)] + ["lost"]
    piece = len(DATA) // 2
    sender = Sender(Remote(relay.url, token.read_text().strip(), wait=lambda _: False), "laptop", piece=piece)
    (one,) = sender.push([path])
    assert one.outcome in ("added", "unchanged")
    assert one.session == str(Session.objects.get().pk)
    assert bytes_there() == DATA


def test_a_shorter_file_is_refused_unless_it_is_meant(relay, workspace, token, folder):
    path = folder / NAME
    path.write_bytes(DATA)
    push(relay, token, path)
    short = bytes(turns(2))
    path.write_bytes(short)
    said = push(relay, token, path)
    assert (outcomes(said), said["code"]) == ([("refused", 0)], 1)
    assert f"the server has {len(DATA):,} bytes of it" in said["error"]
    assert bytes_there() == DATA
    assert outcomes(push(relay, token, path, rewrite=True)) == [("rewritten", len(short))]
    assert bytes_there() == short


def test_a_document_and_a_packed_log_come_over_whole_when_they_changed(relay, workspace, token, folder):
    def document(many: int) -> bytes:
        return build.document(*[build.user(f"u{n}", f"question {n}", n) for n in range(many)])

    path = folder / "session-2026-11-30T02-00-5f0c7c1e.json"
    path.write_bytes(document(10))
    packed = folder / f"{NAME}.zst"
    packed.write_bytes(compress(bytes(turns(2))))
    assert {one for one, _ in outcomes(push(relay, token, folder))} == {"added"}
    path.write_bytes(document(14))
    packed.write_bytes(compress(bytes(turns(30))))
    said = {Path(one["path"]).suffix: one["outcome"] for one in push(relay, token, folder)["files"]}
    assert said == {".json": "grown", ".zst": "rewritten"}
    assert bytes_there(agent="gemini-cli") == document(14)


def test_the_same_bytes_under_another_name_do_not_go_over_twice(relay, workspace, token, folder):
    (folder / NAME).write_bytes(DATA)
    push(relay, token, folder / NAME)
    copy = folder / f"copy-{NAME}"
    copy.write_bytes(DATA)
    relay.seen.clear()
    assert outcomes(push(relay, token, copy)) == [("same", 0)]
    assert relay.sent == 0


def test_a_token_that_does_not_open_ends_it_at_once(relay, workspace, token, folder):
    for n in range(3):
        (folder / f"{n}1111111-2222-4333-8444-555555555555.jsonl").write_bytes(
            bytes(turns(1, ClaudeLines(f"{n}1111111-2222-4333-8444-555555555555")))
        )
    token.write_text(token_of(workspace, Scope.READ))
    with pytest.raises(CommandError, match="scope does not allow this") as failed:
        call_command("push", str(folder), to=relay.url, token_file=token)
    assert failed.value.returncode == 1
    assert len(relay.seen) == 3  # of the first file alone
    token.write_text("plm_nonsense")
    with pytest.raises(CommandError, match="Sign in"):
        call_command("push", str(folder), to=relay.url, token_file=token)
    assert not Session.objects.exists()


def test_no_redirect_takes_the_token_along(relay, workspace, token, folder):
    (folder / NAME).write_bytes(DATA)
    relay.breaks = ["302"]
    said = push(relay, token, folder)
    assert "elsewhere.example" in said["error"]
    assert len(relay.seen) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda relay, token: {"to": "ftp://x", "token_file": token}, "no address of a server"),
        (lambda relay, token: {"to": "palimpsest.example", "token_file": token}, "no address of a server"),
        (lambda relay, token: {"to": relay.url, "token_file": token.parent / "none"}, "cannot be read"),
        (lambda relay, token: {"to": relay.url, "token_file": _write(token, "two words")}, "does not hold one token"),
    ],
    ids=["scheme", "no scheme", "no file", "no token"],
)
def test_usage(relay, token, folder, make: Callable[..., Any], words: str):
    with pytest.raises(CommandError, match=words) as failed:
        call_command("push", str(folder), **make(relay, token))
    assert failed.value.returncode == 2
    assert relay.seen == []


def _write(path: Path, words: str) -> Path:
    path.write_text(words)
    return path


def test_nothing_named_and_nothing_found(relay, token, folder):
    with pytest.raises(CommandError, match="Name a PATH") as failed:
        call_command("push", to=relay.url, token_file=token)
    assert failed.value.returncode == 2
    (folder / "notes.md").write_text("no session")
    with pytest.raises(CommandError, match="No session found") as failed:
        call_command("push", str(folder), to=relay.url, token_file=token, stdout=io.StringIO())
    assert failed.value.returncode == 1


def test_what_answers_and_is_none_of_ours(tmp_path):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        with pytest.raises(Unreachable, match="no Palimpsest server"):
            Remote(f"http://127.0.0.1:{server.server_port}", "plm_x", wait=lambda _: True).standing("x")
        server.shutdown()
        thread.join()


def test_watch_pushes_what_grows(live_server, workspace, token, folder, tmp_path):
    """A process with a database of nobody's: it needs none."""
    path = folder / NAME
    half = DATA.index(b"\n", len(DATA) // 2) + 1
    path.write_bytes(DATA[:half])
    command = [*MANAGE, "push", str(folder), "--to", live_server.url, "--token-file", str(token), "--watch", "--json"]
    environment = plain_environment(PALIMPSEST_DATA_DIR=str(tmp_path / "none"), PYTHONUNBUFFERED="1")
    pushing = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        read_until(pushing, '"added"')
        with path.open("ab") as file:
            file.write(DATA[half:])
        (said,) = read_until(pushing, '"grown"')
        assert json.loads(said)["sent"] == len(DATA) - half
        assert bytes_there() == DATA
        assert not (tmp_path / "none" / "pg").exists()
    finally:
        pushing.send_signal(signal.SIGINT)
        assert pushing.wait(timeout=20) == 0
        pushing.stdout.close()
