"""Files from the transcript alone, against a model that really applies what the calls say."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.answers import answer
from compaction.patches import apply_hunks, parse_patch
from compaction.plan import FilesAnswer, FilesAsk, FileState
from compaction.reconstruct import histories, replay
from sessions.meters.tokens import count
from sessions.ranges import Ranges
from tests.builders import CWD, Draft, call, items, raw_call, read, result, session

A, B = f"{CWD}/src/a.py", f"{CWD}/src/b.py"


def given_back(*drafts: Draft | Sequence[Draft], cwd: str | None = CWD, **wanted: object) -> FilesAnswer:
    ask = FilesAsk("files", **({"count": 5, "each": 5_000, "total": 50_000} | wanted))  # type: ignore[arg-type]
    made = answer(ask, session(*drafts, cwd=cwd), count)
    assert isinstance(made, FilesAnswer)
    return made


def only(made: FilesAnswer) -> FileState:
    (state,) = made.files
    return state


def edit(path: str, old: str, new: str, **more: object) -> tuple[Draft, Draft]:
    return call("Edit", file_path=path, old_string=old, new_string=new, **more), result("The file has been updated.")


def test_a_read_file_comes_back_without_line_numbers_and_reminders() -> None:
    text = "import os\n\ndef main():\n    return 1\n"
    made, answered = read(A, text)
    body = answered.parts[0].text + "\n\n<system-reminder>\nDo not run this.\n</system-reminder>\n"
    state = only(given_back(made, result(body)))
    assert (state.path, state.text, state.cut, state.known_lines) == (A, text, 0, ())
    assert state.seqs == (0, 1)


def test_tabs_as_separators() -> None:
    assert only(given_back(call("Read", file_path=A), result("     1\tx = 1\n     2\ty = 2"))).text == "x = 1\ny = 2\n"


def test_edits_are_applied_in_order() -> None:
    state = only(
        given_back(
            read(A, "a = 1\nb = 1\na = 1\n"),
            edit(A, "b = 1", "b = 2\nc = 3"),
            edit(A, "a = 1", "a = 9", replace_all=True),
        )
    )
    assert state.text == "a = 9\nb = 2\nc = 3\na = 9\n"
    assert state.seqs == (0, 1, 2, 3, 4, 5)


def test_many_edits_of_one_call() -> None:
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "two", "new_string": "2"}]
    state = only(given_back(read(A, "one two\n"), call("MultiEdit", file_path=A, edits=edits), result("ok")))
    assert state.text == "1 2\n"


def test_failed_calls_count_for_nothing() -> None:
    failed = (
        call("Edit", file_path=A, old_string="a", new_string="b"),
        result("<tool_use_error>no</tool_use_error>", error=True),
    )
    assert only(given_back(read(A, "a\n"), failed)).text == "a\n"
    assert given_back(call("Write", file_path=A, content="x"), result("denied", error=True)).files == ()


def test_a_write_replaces_all() -> None:
    state = only(given_back(read(A, "old\n"), call("Write", file_path=A, content="new\n"), result("ok")))
    assert (state.text, state.seqs) == ("new\n", (2, 3))


def test_partial_reads_are_said_to_be_partial() -> None:
    whole = "".join(f"line {n}\n" for n in range(1, 41))
    state = only(
        given_back(
            read(A, whole, start=10, limit=5),
            read(A, whole, start=15, limit=2),
            edit(A, "line 12", "line 12a\nline 12b"),
        )
    )
    assert state.known_lines == ((10, 18),)
    assert "line 12a\nline 12b\nline 13" in state.text
    assert "line 9\n" not in state.text
    assert state.text.startswith("[lines 1–9 not shown]\nline 10")


def test_a_read_as_long_as_the_readers_limit_may_be_cut() -> None:
    long = "".join(f"{n}\n" for n in range(2_000))
    assert only(given_back(read(A, long), each=50_000)).known_lines == ((1, 2_001),)


def test_an_edit_that_does_not_fit_means_it_changed_elsewhere() -> None:
    made = given_back(read(A, "a\n"), edit(A, "never there", "x"))
    assert made.files == ()
    assert made.left_out[0][0] == A
    assert only(given_back(read(A, "a\n"), edit(A, "never there", "x"), read(A, "x\n"))).text == "x\n"


@pytest.mark.parametrize(
    "command", ["git checkout main", "git stash", "git pull --rebase", "sed -i s/a/b/ src/a.py", "echo hi >> src/a.py"]
)
def test_commands_that_change_files_make_them_unknown(command: str) -> None:
    made = given_back(read(A, "a\n"), call("Bash", command=command), result("ok"))
    assert [path for path, _ in made.left_out] == [A]


@pytest.mark.parametrize(
    "command", ["git checkout -b new", "git status", "ls src", "git stash list", "pytest src/a.py", "git diff src/a.py"]
)
def test_commands_that_change_nothing_do_not(command: str) -> None:
    assert only(given_back(read(A, "a\n"), call("Bash", command=command), result("ok"))).text == "a\n"


def test_deleted_and_moved() -> None:
    made = given_back(read(A, "a\n"), read(B, "b\n"), call("Bash", command="git rm src/a.py"), result("rm"))
    assert [state.path for state in made.files] == [B]
    made = given_back(read(A, "a\n"), call("Bash", command="mv src/a.py src/c.py"), result(""))
    assert (only(made).path, only(made).text) == (f"{CWD}/src/c.py", "a\n")


def test_the_shell_reads_and_writes() -> None:
    assert only(given_back(call("Bash", command="cat src/a.py"), result("a\nb\n"))).text == "a\nb\n"
    assert only(given_back(call("Bash", command="cd src && cat a.py"), result("a\n"))).path == A
    assert only(given_back(call("Bash", command="sed -n '3,4p' src/a.py"), result("c\nd"))).known_lines == ((3, 5),)
    assert only(given_back(call("Bash", command="cat > src/a.py <<'EOF'\nx\ny\nEOF"), result(""))).text == "x\ny\n"
    cut = "a\n…1234 tokens truncated…\nz\n"
    assert given_back(call("Bash", command="cat src/a.py"), result(cut)).files == ()


def test_codex_patches() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n@@ def main():\n     x = 1\n-    return x\n+    y = 2\n+    return x + y\n"
        "*** Add File: src/new.py\n+print(1)\n*** Delete File: src/b.py\n*** End Patch"
    )
    text = "def other():\n    x = 1\n    return x\n\ndef main():\n    x = 1\n    return x\n"
    made = given_back(
        call("exec_command", cmd="cat src/a.py"),
        result(f"Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n{text}"),
        call("shell", command=["bash", "-lc", "cat src/b.py"]),
        result('{"output":"b\\n","metadata":{"exit_code":0}}'),
        raw_call("apply_patch", patch),
        result("Success"),
    )
    states = {state.path: state.text for state in made.files}
    assert states == {
        A: "def other():\n    x = 1\n    return x\n\ndef main():\n    x = 1\n    y = 2\n    return x + y\n",
        f"{CWD}/src/new.py": "print(1)\n",
    }


def test_a_patch_may_move_its_file() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/c.py\n@@\n-a\n+b\n*** End Patch"
    made = given_back(
        call("Write", file_path=A, content="a\n"), result("ok"), call("apply_patch", input=patch), result("ok")
    )
    assert (only(made).path, only(made).text) == (f"{CWD}/src/c.py", "b\n")


def test_patches_that_do_not_fit() -> None:
    assert (
        apply_hunks("a\nb\n", parse_patch("*** Begin Patch\n*** Update File: f\n@@\n-c\n+d\n*** End Patch")[0].hunks)
        is None
    )
    assert parse_patch("no patch at all") == []


def test_most_recently_used_first_within_count_and_budgets() -> None:
    made = given_back(
        *(read(f"{CWD}/f{n}.py", f"value = {n}\n" * 40) for n in range(8)), read(f"{CWD}/f2.py", "value = 2\n"), count=3
    )
    assert [state.path for state in made.files] == [f"{CWD}/f2.py", f"{CWD}/f7.py", f"{CWD}/f6.py"]
    small = given_back(*(read(f"{CWD}/f{n}.py", f"value = {n}\n" * 40) for n in range(8)), each=150, total=400)
    assert all(state.tokens <= 150 for state in small.files)
    assert sum(state.tokens for state in small.files) <= 400
    assert all(state.cut > 0 for state in small.files)


def test_a_large_file_keeps_the_regions_round_the_latest_edits() -> None:
    text = "".join(f"def function_{n}():\n    return {n}\n" for n in range(600))
    state = only(
        given_back(
            call("Write", file_path=A, content=text),
            result("ok"),
            edit(A, "return 431\n", "return 'changed'\n"),
            each=600,
        )
    )
    assert "return 'changed'" in state.text
    assert "function_430" in state.text
    assert "function_12()" not in state.text
    assert state.tokens <= 600
    assert state.cut > 3_000
    assert state.text.startswith("[lines 1–")
    assert state.text.rstrip().endswith("not shown]")


def test_what_the_kept_part_shows_word_for_word_is_not_repeated() -> None:
    drafts = (read(A, "a\n"), edit(A, "a", "b"), read(B, "b\n"))
    assert [state.path for state in given_back(*drafts, kept=Ranges.of([(4, 6)])).files] == [A]
    assert [state.path for state in given_back(*drafts, kept=Ranges.of([(2, 6)])).files] == [A]
    assert given_back(*drafts, kept=Ranges.of([(0, 6)])).files == ()


def test_only_inside_the_sessions_folder_and_no_memory_files() -> None:
    made = given_back(
        read("/etc/passwd", "root\n"),
        read(f"{CWD}/../secret.txt", "x\n"),
        read(f"{CWD}/CLAUDE.md", "rules\n"),
        read(f"{CWD}-other/a.py", "x\n"),
        read("src/a.py", "a\n"),
    )
    assert only(made).path == A
    assert dict(made.left_out) == {
        "/etc/passwd": "outside the session's folder",
        "/home/ada/secret.txt": "outside the session's folder",
        f"{CWD}-other/a.py": "outside the session's folder",
        f"{CWD}/CLAUDE.md": "a memory file: the agent reads it itself",
    }
    nowhere = given_back(read("/etc/passwd", "root\n"), read("src/a.py", "a\n"), cwd=None)
    assert only(nowhere).path == "src/a.py"
    assert nowhere.left_out[0][1] == "the session records no folder to be inside of"


class Model:
    """A folder that really holds its files, and writes down the calls that changed them."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.drafts: list[Draft] = []

    def do(self, kind: str, path: str, words: list[str], at: int) -> None:
        text = self.files.get(path)
        if kind == "write" or text is None:
            new = "".join(f"{word}\n" for word in words)
            self.files[path] = new
            self.drafts += [call("Write", file_path=path, content=new), result("ok")]
        elif kind == "read":
            self.drafts += read(path, text)
        elif kind == "part":
            lines = text.count("\n")
            start = at % max(1, lines) + 1
            self.drafts += read(path, text, start=start, limit=max(1, min(2, lines - start + 1)))
        elif kind in ("edit", "all", "failed"):
            rows = text.split("\n")
            old = "\n".join(rows[at % len(rows) :][:2]).strip("\n")
            if not old or (kind == "edit" and text.count(old) != 1):
                return
            new = "\n".join(words)
            failed = kind == "failed"
            if not failed:
                self.files[path] = text.replace(old, new) if kind == "all" else text.replace(old, new, 1)
            made = call("Edit", file_path=path, old_string=old, new_string=new, replace_all=kind == "all")
            self.drafts += [made, result("no" if failed else "ok", error=failed)]
        elif kind == "patch":
            rows = text.split("\n")[:-1]
            if not rows:
                return
            n = at % len(rows)
            if text.count(rows[n]) != 1:
                return
            body = "".join(f"+{word}\n" for word in words)
            patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{rows[n]}\n{body}*** End Patch"
            self.files[path] = "".join(f"{line}\n" for line in [*rows[:n], *words, *rows[n + 1 :]])
            self.drafts += [raw_call("apply_patch", patch), result("ok")]
        elif kind == "delete":
            del self.files[path]
            self.drafts += [call("Bash", command=f"rm {path}"), result("")]


LINES = st.lists(
    st.sampled_from(["alpha", "beta = 2", "    gamma()", "变量 = 1", "delta", "x", "class Epsilon:"]),
    min_size=1,
    max_size=5,
)
STEPS = st.tuples(
    st.sampled_from(["write", "read", "part", "edit", "edit", "edit", "all", "failed", "patch", "patch", "delete"]),
    st.sampled_from([A, B, f"{CWD}/c.md"]),
    LINES,
    st.integers(0, 40),
)


@given(st.lists(STEPS, min_size=1, max_size=25))
def test_the_same_as_a_folder_that_does_it(steps: list[tuple[str, str, list[str], int]]) -> None:
    model = Model()
    for step in steps:
        model.do(*step)
    found = {history.path: replay(history) for history in histories(items(model.drafts), CWD) if not history.deleted}
    assert set(found) == set(model.files)
    for path, text in model.files.items():
        known = found[path]
        assert known is not None
        assert known.whole
        assert known.text == text


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), min_size=1, max_size=6),
    st.integers(0, 30),
    st.integers(0, 3),
)
def test_known_parts_are_the_lines_of_the_file(reads: list[tuple[int, int]], at: int, more: int) -> None:
    lines = [f"line {n} of the file" for n in range(1, 32)]
    drafts: list[Draft] = []
    for start, size in reads:
        drafts += read(A, "\n".join(lines) + "\n", start=start + 1, limit=min(size, 31 - start))
    seen = {n for start, size in reads for n in range(start, min(start + size, 31))}
    if at in seen:
        new = [f"new {n}" for n in range(more + 1)]
        drafts += edit(A, lines[at], "\n".join(new))
        lines[at : at + 1] = new
    (history,) = histories(items(drafts), CWD)
    known = replay(history)
    assert known is not None
    for start, segment in known.segments:
        assert segment == [*lines, ""][start - 1 : start - 1 + len(segment)]
    assert sum(len(segment) for _, segment in known.segments) >= len(seen)
