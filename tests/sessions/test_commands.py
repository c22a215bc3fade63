"""The commands: what they print, what they return, and what they make of bad input."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from sessions.ingest import take_file
from sessions.models import Entry, Session
from sessions.packing import compress
from sessions.sample import SAMPLE, SESSION_ID
from sessions.sample.make import build
from tests.claude_lines import turns
from tests.processes import MANAGE, manage, plain_environment, read_until
from webapp.models import Workspace

pytestmark = pytest.mark.django_db

NAME = "11111111-2222-4333-8444-555555555555.jsonl"


class Bytes(io.StringIO):
    """Standard output with its binary side, as a terminal has it."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = io.BytesIO()


def run(*args: Any, **options: Any) -> str:
    out = io.StringIO()
    call_command(*map(str, args), stdout=out, **options)
    return out.getvalue()


def run_json(*args: Any) -> Any:
    return json.loads(run(*args, "--json"))


def fails(*args: Any) -> tuple[str, int, str]:
    """The message, the exit code and what was printed nevertheless."""
    out = io.StringIO()
    with pytest.raises(CommandError) as error:
        call_command(*map(str, args), stdout=out)
    return str(error.value), error.value.returncode, out.getvalue()


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def sample(workspace: Workspace) -> Session:
    return Session.objects.get(pk=take_file(workspace, SAMPLE).session)


# -- the sample -----------------------------------------------------------------------------------------------------


def test_the_bundled_sample_is_what_its_generator_writes():
    assert SAMPLE.read_bytes() == build()


def test_the_sample_has_in_it_what_there_is_to_see(workspace):
    found = run_json("ingest", "--sample")
    (taken,) = found["files"]
    assert (taken["outcome"], taken["native_id"], taken["entries"], taken["malformed"]) == ("added", SESSION_ID, 113, 0)
    session = Session.objects.get()
    assert list(session.versions.order_by("n").values_list("origin", "kind")) == [
        ("recorded", "recorded"),
        ("native", "rewind"),
        ("native", "compaction"),
    ]
    assert list(session.goals.filter(status="dropped").values_list("text", flat=True)) == [
        "Fill missing heights with a spline"
    ]
    assert list(session.abandonments.filter(stands=True).values_list("how", flat=True)) == ["vanished"]
    assert session.entries.filter(is_error=True).count() == 4
    assert session.entries.filter(tool="Edit", kind="tool_call").count() >= 6
    assert session.title == "Next high water for six harbours"


# -- ingest ---------------------------------------------------------------------------------------------------------


def test_ingest_tells_each_file_and_the_sums(workspace, tmp_path):
    (tmp_path / NAME).write_bytes(bytes(turns(2)))
    (tmp_path / "notes.md").write_text("nothing of an agent")
    out = run("ingest", tmp_path)
    session = Session.objects.get()
    assert f"added     {tmp_path / NAME}  {str(session.pk)[:8]}  claude-code, 8 entries, 2 turns\n" in out
    assert f"skipped   {tmp_path / 'notes.md'}  (no records of an agent known here)\n" in out
    assert out.endswith("2 files: 1 added, 1 skipped. 1 session, 8 entries, 8 of them new.\n")


def test_a_second_ingest_adds_nothing(workspace, tmp_path):
    (tmp_path / NAME).write_bytes(bytes(turns(2)))
    first = run_json("ingest", tmp_path)
    second = run_json("ingest", tmp_path)
    assert (first["totals"]["added"], second["totals"]["added"]) == (8, 0)
    assert second["totals"]["outcomes"] == {"unchanged": 1}
    assert second["files"][0]["session"] == first["files"][0]["session"]


def test_ingest_makes_the_workspace_it_needs(db, tmp_path):
    (tmp_path / NAME).write_bytes(bytes(turns(1)))
    run("ingest", tmp_path)
    assert Session.objects.get().workspace.slug == "local"


def test_discovery_takes_in_what_the_agents_of_this_machine_keep(workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    assert "No folder of an agent known here was found on this machine." in run("ingest", "--discover")
    folder = tmp_path / ".claude" / "projects" / "-home-ada-ledger"
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(bytes(turns(1)))
    (folder / "notes.txt").write_text("mine")
    out = run("ingest", "--discover")
    assert "added" in out
    assert "notes.txt" not in out  # what is no session is only counted where nobody named it
    assert Session.objects.count() == 1


def test_ingest_without_a_path_is_a_question_of_usage(workspace):
    message, code, _ = fails("ingest")
    assert code == 2
    assert "PATH" in message


def lines(*records: Any) -> bytes:
    return b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in records)


def with_text(text: str, *, ascii_only: bool = True) -> bytes:
    made = turns(1)
    made.prompt("here it is")
    record = json.loads(made.lines[-1])
    record["message"]["content"] = text
    made.lines[-1] = json.dumps(record, ensure_ascii=ascii_only).encode()
    return bytes(made)


NO_SESSION = {
    "empty": (b"", "an empty file"),
    "words": (b"Dear diary\n", "no records of an agent known here"),
    "json of nobody": (lines({"a": 1}, {"b": 2}), "no records of an agent known here"),
    "json arrays": (lines([1, 2], [3]), "no records of an agent known here"),
    "NUL alone": (b"\x00" * 100_000, "no records of an agent known here"),
    "not UTF-8": (b"\xff\xfe\x00d\x00\x80" * 1000, "no records of an agent known here"),
    "broken zstd": (b"\x28\xb5\x2f\xfd" + b"rubbish" * 20, "zstd"),
}


@pytest.mark.parametrize("case", NO_SESSION)
def test_a_file_that_is_no_session_is_said_to_be_none(workspace, tmp_path, case):
    data, reason = NO_SESSION[case]
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    message, code, out = fails("ingest", path)
    assert code == 1
    assert message.startswith(f"No session found: {path} is ")
    assert reason in message
    assert reason in out
    assert not Session.objects.exists()


def test_a_folder_without_sessions_and_a_path_that_is_not_there(workspace, tmp_path):
    (tmp_path / "empty").mkdir()
    message, code, _ = fails("ingest", tmp_path / "empty")
    assert (code, message) == (1, f"No session found: {tmp_path / 'empty'} holds no file that may be one.")
    message, code, _ = fails("ingest", tmp_path / "nowhere")
    assert (code, message) == (1, f"{tmp_path / 'nowhere'}: there is no such file")


def test_a_bad_path_does_not_keep_the_good_ones_out(workspace, tmp_path):
    (tmp_path / NAME).write_bytes(bytes(turns(1)))
    _, code, out = fails("ingest", tmp_path / "nowhere", tmp_path / NAME)
    assert code == 1
    assert "failed" in out
    assert Session.objects.count() == 1


def test_a_folder_of_loops_ends(workspace, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "a" / NAME).write_bytes(bytes(turns(1)))
    assert run_json("ingest", tmp_path)["totals"]["files"] == 1


def test_a_pipe_is_refused_and_not_waited_for(workspace, tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    message, code, _ = fails("ingest", tmp_path / "pipe.jsonl")
    assert code == 1
    assert "not a regular file" in message


def test_a_sparse_file_of_8_gb_is_refused_without_being_read(workspace, tmp_path):
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.truncate(8 << 30)
    message, code, _ = fails("ingest", path)
    assert code == 1
    assert "no records of an agent known here" in message
    # Read whole, it would have cost minutes; the first 64 KiB decide.
    assert run_refused_bytes(path) <= 64 << 10


def run_refused_bytes(path: Path) -> int:
    """Bytes of the file that recognising it reads."""
    from sessions.ingest import take

    class Counting(io.FileIO):
        count = 0

        def read(self, size: int = -1) -> bytes:
            data = super().read(size)
            Counting.count += len(data)
            return data

    with Counting(path) as file:
        assert take(Workspace.objects.first(), str(path), file).outcome == "skipped"
    return Counting.count


def with_usage(**figures: Any) -> bytes:
    made = turns(1)
    made.prompt("how many?")
    made.says("That many.", usage=figures)
    return bytes(made)


TAKEN = {
    "figures beyond belief": lambda: with_usage(input_tokens=10**12, output_tokens=10**30, cache_read_input_tokens=-7),
    "figures that are none": lambda: with_usage(input_tokens="many", output_tokens=1.5, cache_read_input_tokens=None),
    "times at both ends": lambda: (
        bytes(turns(1))
        .replace(b"09:00:01.000Z", b"x")
        .replace(b"2026-03-02T09:00:02.000Z", b"9999-12-31T23:59:59.999-23:59")
    ),
    "half-written last line": lambda: bytes(turns(2))[:-40],
    "NUL bytes between lines": lambda: (
        bytes(turns(1)) + b"\x00" * 4096 + b"\n" + bytes(turns(2))[len(bytes(turns(1))) :]
    ),
    "NUL in a text": lambda: with_text("a\x00b"),
    "a lone surrogate": lambda: with_text("a\ud800b"),
    "U+2028 and U+0085 in a text": lambda: with_text("a\u2028b\u0085c", ascii_only=False),
    "array lines between": lambda: bytes(turns(1)) + b"[1, 2]\n" + b'"words"\n' + b"17\n",
    "an unknown type": lambda: bytes(turns(1)) + lines({"type": "of-tomorrow", "sessionId": "x", "value": 1}),
    "invalid UTF-8": lambda: bytes(turns(1)) + b'{"type":"user","x":"\xff\xfe"}\n',
    "deep nesting": lambda: bytes(turns(1)) + b'{"type":"user","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "a line of 20 MB": lambda: with_text("word " * 4_000_000),
    "windows line ends": lambda: bytes(turns(1)).replace(b"\n", b"\r\n"),
    "empty lines": lambda: bytes(turns(1)).replace(b"\n", b"\n\n"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_bad_lines_are_kept_and_never_fatal(workspace, tmp_path, case):
    data = TAKEN[case]()
    path = tmp_path / NAME
    path.write_bytes(data)
    (taken,) = run_json("ingest", path)["files"]
    assert taken["outcome"] == "added"
    assert taken["entries"] == data.count(b"\n") + (not data.endswith(b"\n"))
    assert taken["turns"] >= 1
    out = Bytes()
    call_command("source", taken["session"], stdout=out)
    assert out.buffer.getvalue() == data
    assert run_json("context", taken["session"])["items"]
    malformed = Entry.objects.filter(session_id=taken["session"], kind="malformed")
    assert malformed.count() == taken["malformed"]
    assert all(malformed.values_list("problem", flat=True))


def test_what_was_half_written_is_read_again_when_it_is_whole(workspace, tmp_path):
    data = bytes(turns(2))
    path = tmp_path / NAME
    path.write_bytes(data[:-40])
    assert run_json("ingest", path)["files"][0]["malformed"] == 1
    path.write_bytes(data)
    (taken,) = run_json("ingest", path)["files"]
    assert (taken["outcome"], taken["malformed"], taken["entries"]) == ("grown", 0, 8)


def rollout() -> bytes:
    at = "2026-05-01T10:00:0{}.000Z"
    return lines(
        {
            "timestamp": at.format(0),
            "type": "session_meta",
            "payload": {
                "id": "019e0000-0000-7000-8000-000000000001",
                "timestamp": at.format(0),
                "cwd": "/home/ada",
                "originator": "codex_cli_rs",
                "cli_version": "0.148.0",
                "source": "cli",
            },
        },
        {
            "timestamp": at.format(1),
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        },
        {
            "timestamp": at.format(2),
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hello to you."}],
            },
        },
    )


def test_a_compressed_rollout_comes_in_and_its_compressed_bytes_come_back(workspace, tmp_path):
    path = tmp_path / "rollout-2026-05-01T10-00-00-019e0000-0000-7000-8000-000000000001.jsonl.zst"
    path.write_bytes(compress(rollout()))
    (taken,) = run_json("ingest", path)["files"]
    assert (taken["outcome"], taken["agent"], taken["entries"]) == ("added", "codex", 3)
    out = Bytes()
    call_command("source", taken["session"], stdout=out)
    assert out.buffer.getvalue() == path.read_bytes()
    assert run_json("source", taken["session"], "--list")["files"][0]["encoding"] == "zstd"


def test_a_compressed_rollout_that_is_cut_off_gives_what_can_be_had(workspace, tmp_path):
    path = tmp_path / "rollout-2026-05-01T10-00-00-019e0000-0000-7000-8000-000000000001.jsonl.zst"
    noise = lines(
        *(
            {
                "timestamp": "2026-05-01T10:00:03.000Z",
                "type": "event_msg",
                "payload": {"type": "x", "n": os.urandom(40).hex()},
            }
            for _ in range(20_000)
        )
    )
    path.write_bytes(compress(rollout() + noise)[:-1000])
    (taken,) = run_json("ingest", path)["files"]
    assert taken["outcome"] == "added"
    assert taken["entries"] > 1000


# -- looking --------------------------------------------------------------------------------------------------------


def test_sessions_lists_and_filters(workspace, sample, tmp_path):
    (tmp_path / NAME).write_bytes(bytes(turns(1)))
    run("ingest", tmp_path)
    found = run_json("sessions")
    assert [row["title"] for row in found["items"]] == [
        "Next high water for six harbours",
        "Please look at part 1 of the ledger",
    ]
    assert [row["project"] for row in run_json("sessions", "--project", "ledger")["items"]] == ["ledger"]
    first = run_json("sessions", "--limit", 1)
    rest = run_json("sessions", "--limit", 1, "--after", first["next"])
    assert [first["items"][0]["id"], rest["items"][0]["id"]] == [row["id"] for row in found["items"]]
    assert rest["next"] is None
    assert str(sample.pk)[:8] in run("sessions")
    assert fails("sessions", "--after", "nonsense")[1] == 2
    assert fails("sessions", "--limit", 0)[1] == 2
    assert fails("sessions", "--workspace", "nowhere")[1] == 1


def test_an_empty_list_says_what_to_do(workspace):
    assert "ingest" in run("sessions")


def test_context_shows_what_the_model_would_see(workspace, sample):
    found = run_json("context", SESSION_ID)
    assert (found["version"], found["head"], found["step"], found["meter"]) == (2, 2, None, "o200k")
    assert found["items"][0]["kind"] == "summary"
    assert found["items"][0]["parts"][0]["text"].startswith("This session is being continued")
    assert found["tokens"] == sum(item["tokens"] for item in found["items"])
    assert all(isinstance(item["tokens"], int) for item in found["items"])
    assert [number["key"] for number in found["gauge"]["numbers"]] == [
        "total",
        "prompt",
        "until_compaction",
        "output",
        "output_budget",
    ]
    assert found["gauge"]["rule"] == "claude-code-2.1"
    assert found["gauge"]["forecast"]["state"] == "sent"
    assert run_json("context", SESSION_ID) == found
    words = run("context", SESSION_ID)
    assert "Sent as is" in words
    assert found["content_hash"] in words


def test_context_at_a_version_shows_what_the_compaction_hid(workspace, sample):
    found = run_json("context", SESSION_ID, "--version", 1)
    assert found["version"] == 1
    assert found["items"][0]["seq"] == 0, "what the compaction hid is there again"
    assert not any("ModuleNotFoundError" in str(item["parts"]) for item in found["items"]), (
        "the branch not taken is not sent"
    )
    assert any(
        "ModuleNotFoundError" in str(item["parts"]) for item in run_json("context", SESSION_ID, "--version", 0)["items"]
    )


def test_context_at_a_step_is_what_was_sent_then(workspace, sample):
    step = sample.steps.get(n=9)
    found = run_json("context", SESSION_ID, "--step", 9)
    assert (found["version"], found["step"], found["until_seq"]) == (0, 9, step.first_seq - 1)
    assert [item["seq"] for item in found["items"]] == list(
        sample.entries.filter(sent=True, seq__lt=step.first_seq).order_by("seq").values_list("seq", flat=True)
    )
    assert found["gauge"]["used"] == {
        "tokens": step.context,
        "recorded": step.context,
        "estimated": None,
        "meter": None,
        "whose": "recorded at step 9",
        "refused": None,
    }
    last = sample.steps.order_by("-n").first()
    assert run_json("context", SESSION_ID, "--step", last.n)["items"][0]["kind"] == "summary"


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--version", 9), "no version 9"), (("--step", 0), "0 is none of them"), (("--step", 999), "steps 1 to")],
)
def test_context_of_what_is_not_there_is_refused(workspace, sample, options, words):
    message, code, out = fails("context", SESSION_ID, *options)
    assert (code, out) == (1, "")
    assert words in message


def test_a_session_that_is_not_there(workspace):
    for name in ("context", "source", "versions", "undo", "redo"):
        message, code, _ = fails(name, "nobody")
        assert (code, message) == (
            1,
            "No session is named 'nobody': neither our id, nor its beginning, nor the agent's own id.",
        )


def test_source_lists_writes_and_leaves_what_is_there(workspace, sample, tmp_path):
    (row,) = run_json("source", SESSION_ID, "--list")["files"]
    assert (row["file"], row["own"], row["size"], row["path"]) == (0, True, SAMPLE.stat().st_size, str(SAMPLE))
    out = tmp_path / "copy.jsonl"
    assert run_json("source", SESSION_ID, "--out", out)["out"] == str(out)
    assert out.read_bytes() == SAMPLE.read_bytes()
    out.write_text("mine")
    assert fails("source", SESSION_ID, "--out", out)[1] == 1
    assert out.read_text() == "mine"
    assert "1 is none of them" in fails("source", SESSION_ID, "--file", 1)[0]


# -- the head moves -------------------------------------------------------------------------------------------------


def test_roll_back_undo_redo_and_back_to_the_same_context(workspace, sample):
    before = run_json("context", SESSION_ID)
    moved = run_json("rollback", SESSION_ID, "--to-turn", 4, "--reason", "another way")
    assert (moved["was"], moved["head"], moved["native_head"]) == (2, 3, 2)
    listed = run_json("versions", SESSION_ID)
    assert (listed["head"], listed["native_head"], listed["undo_to"], listed["redo_to"]) == (3, 2, 2, None)
    assert listed["versions"][3]["facts"]["reason"] == "another way"
    assert listed["versions"][3]["origin"] == "person"
    assert listed["versions"][0]["tokens"] == 0 < listed["versions"][0]["tokens_at_end"], "as the page says it"
    rolled = run_json("context", SESSION_ID)
    assert max(item["turn"] or 0 for item in rolled["items"]) == 4
    assert run_json("undo", SESSION_ID)["head"] == 2
    assert run_json("context", SESSION_ID) == before
    assert "The agent itself goes on from v2." in run("redo", SESSION_ID)
    assert run_json("context", SESSION_ID)["content_hash"] == rolled["content_hash"]


def test_undo_goes_through_the_agents_own_compaction_and_stops_at_the_recording(workspace, sample):
    assert run_json("undo", SESSION_ID)["head"] == 1
    assert run_json("undo", SESSION_ID)["head"] == 0
    message, code, _ = fails("undo", SESSION_ID)
    assert (code, message) == (1, "There is nothing to undo: the session stands as it was recorded.")
    assert run_json("versions", SESSION_ID)["head"] == 0


@pytest.mark.parametrize("options", [("--to-entry", 112), ("--to-turn", 77), ("--to-entry", -1)])
def test_a_roll_back_that_makes_no_sense_moves_nothing(workspace, sample, options):
    _, code, _ = fails("rollback", SESSION_ID, *options)
    assert code == 1
    assert run_json("versions", SESSION_ID)["head"] == 2


def test_roll_back_wants_one_point(workspace, sample):
    for options in ((), ("--to-turn", 1, "--to-entry", 3)):
        with pytest.raises(CommandError):
            run("rollback", SESSION_ID, *options)


# -- as a person runs them ----------------------------------------------------------------------------------------------


def test_as_processes_with_a_data_folder_of_their_own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    folder.chmod(0o755)
    environment = plain_environment(PALIMPSEST_DATA_DIR=str(folder / "data"))

    def process(*arguments: str) -> subprocess.CompletedProcess[str]:
        return manage(*arguments, environment=environment)

    taken = process("ingest", "--sample", "--json")
    assert (taken.returncode, json.loads(taken.stdout)["totals"]["entries"]) == (0, 113), taken.stderr

    shown = process("context", SESSION_ID[:8], "--version", "0", "--json")
    assert (shown.returncode, json.loads(shown.stdout)["version"]) == (0, 0), shown.stderr

    written = process("source", SESSION_ID)
    assert (written.returncode, written.stdout.encode()) == (0, SAMPLE.read_bytes())

    refused = process("undo", "nobody")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert (
        refused.stderr == "No session is named 'nobody': neither our id, nor its beginning, nor the agent's own id.\n"
    )

    empty = folder / "empty.jsonl"
    empty.touch()
    nothing = process("ingest", str(empty))
    assert nothing.returncode == 1
    assert nothing.stderr == f"No session found: {empty} is an empty file.\n"

    for usage in (("rollback", SESSION_ID), ("context",), ("context", SESSION_ID, "--step", "x"), ("ingest",)):
        wrong = process(*usage)
        assert (wrong.returncode, wrong.stdout) == (2, ""), usage
        assert wrong.stderr


@pytest.mark.django_db(transaction=True)
def test_watch_takes_in_what_is_written_and_outlives_its_folder(workspace, worker_environment, tmp_path):
    """A real process over a real folder: a file appears, grows, its folder goes and comes back."""
    folder = tmp_path / "projects"
    folder.mkdir()
    path = folder / NAME
    data = bytes(turns(3))
    half = data.index(b"\n", len(data) // 2) + 1
    watching = subprocess.Popen(
        [*MANAGE, "watch", str(folder)],
        env={**worker_environment, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        read_until(watching, "Watching")
        path.write_bytes(data[:half])
        read_until(watching, f"added     {path}")
        with path.open("ab") as file:
            file.write(data[half:])
        read_until(watching, f"grown     {path}")
        assert Session.objects.get().entries_count == 12
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "22222222-2222-4333-8444-555555555555.jsonl").write_bytes(bytes(turns(1)))
        read_until(watching, "added     ")
        assert Session.objects.count() == 2
    finally:
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=20) == 0
        watching.stdout.close()


# -- the recorded sessions of real agents ------------------------------------------------------------------------------


def test_every_recorded_session_comes_in_and_comes_back(workspace, shared_data, tmp_path):
    folders = [shared_data / "claude-code", shared_data / "codex"]
    found = run_json("ingest", *folders)
    failed = [one for one in found["files"] if one["outcome"] == "failed"]
    assert failed == []
    for one in found["files"]:
        if one["outcome"] in ("added", "rewritten"):
            out = Bytes()
            call_command("source", one["session"], stdout=out)
            assert out.buffer.getvalue() == Path(one["path"]).read_bytes(), one["path"]
    again = run_json("ingest", *folders)
    assert again["totals"]["added"] == 0
