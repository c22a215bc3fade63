"""What a call is about, told in one line, for every agent's way of writing it down."""

import pytest

from sessions.calls import call_of, command_of, patch_of


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        ("Bash", '{"command": "cargo test -p import"}', ("shell", "Shell", "cargo test -p import")),
        ("exec_command", '{"cmd": "ls -la\\nwc"}', ("shell", "Shell", "ls -la …")),
        ("shell", '{"command": ["bash", "-lc", "git status"]}', ("shell", "Shell", "git status")),
        ("shell", '{"command": ["ls", "-l"]}', ("shell", "Shell", "ls -l")),
        ("Read", '{"file_path": "src/main.rs", "limit": 80}', ("read", "Read", "src/main.rs")),
        ("Grep", '{"pattern": "read_to_end|line_no", "path": "src"}', ("search", "Grep", "read_to_end|line_no")),
        ("apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n*** Add File: b.py\n+y\n*** End Patch", ("edit", "Patch", "a.py, b.py")),
        ("TodoWrite", '{"todos": [{"content": "a"}, {"content": "b"}]}', ("plan", "TodoWrite", "2 items")),
        ("update_plan", '{"plan": [{"step": "a"}]}', ("plan", "Plan", "1 item")),
        ("mcp__github__create_issue", '{"name": "x"}', ("other", "create_issue", "x")),
        ("Read", '{"file_path": "src/very/long', ("read", "Read", "src/very/long")),
        ("TaskList", "{}", ("plan", "TaskList", "")),
        (None, "not json", ("other", "Tool", "not json")),
    ],
)  # fmt: skip
def test_a_call_in_one_line(tool: str | None, text: str, expected: tuple[str, str, str]) -> None:
    call = call_of(tool, text)

    assert (call.nature, call.name, call.argument) == expected


def test_the_patch_of_a_shell_call_is_found() -> None:
    given = {"command": ["apply_patch", "*** Begin Patch\n*** End Patch"]}

    assert patch_of(given, "") == "*** Begin Patch\n*** End Patch"
    assert command_of({"command": "x"}) == "x"
