"""What tools print is taken out of the frames of each agent, and what fits none stays as it is."""

import base64
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.entries import Part, PartKind
from sessions.heldmedia import kind_of, media_in
from sessions.hunks import beside, changed, counts, hunks_of_texts
from sessions.outputs import by_file, hits, numbered, printed
from sessions.pieces.plans import compared
from sessions.scripts import mixed

WORDS = st.text(st.characters(codec="utf-8"), max_size=120)


def result(text: str, **meta: object) -> Part:
    return Part(PartKind.TOOL_RESULT, text, meta=meta)


@pytest.mark.parametrize(
    ("text", "meta", "said"),
    [
        ("a\nb", {}, ("a\nb", None, None)),
        ("Exit code 2\nno such file", {}, ("no such file", 2, None)),
        ("(no output)", {"exit": 3, "ms": 1500}, ("", 3, 1.5)),
        ('{"output":"hi\\n","metadata":{"exit_code":0,"duration_seconds":2.5}}', {"exit_code": 0, "seconds": 2.5}, ("hi\n", 0, 2.5)),
        (
            "Chunk ID: 2157f7\nWall time: 1.2500 seconds\nProcess exited with code 7\nOriginal token count: 1\nOutput:\n0\n",
            {},
            ("0\n", 7, 1.25),
        ),
        ("Command: ls\nDirectory: (root)\nOutput: a\nb\nError: (none)\nExit Code: 0\nProcess Group PGID: 12", {}, ("a\nb", 0, None)),
        ("Output: Outputs: 3 of them", {}, ("Outputs: 3 of them", None, None)),
        ("out\n\n<bash_metadata>\ntimed out after 5 s\n</bash_metadata>", {}, ("out", None, None)),
    ],
    ids=["bare", "claude code", "opencode", "codex shell", "codex unified", "gemini", "gemini, plain", "opencode note"],
)  # fmt: skip
def test_a_commands_output_without_its_agents_frame(
    text: str, meta: dict[str, object], said: tuple[str, int | None, float | None]
) -> None:
    found = printed(result(text, **meta))

    assert (found.text, found.exit_code, found.seconds) == said


@pytest.mark.parametrize(
    ("text", "asked", "lines", "first", "total"),
    [
        ("   160→break\n   161→}", None, ("break", "}"), 160, None),
        ("<path>/a.py</path>\n<type>file</type>\n<content>\n7: x\n8: \n\n(End of file - total 8 lines)\n</content>", None, ("x", ""), 7, 8),
        ("<file>\n00001| x\n00002| y\n</file>", None, ("x", "y"), 1, None),
        (
            "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 1-2 of 432 total lines.\nAction: none\n\n--- FILE CONTENT (truncated) ---\na\nb",
            1,
            ("a", "b"),
            1,
            432,
        ),
        ("a\nb\n", 5, ("a", "b"), 5, None),
    ],
    ids=["claude code", "opencode", "opencode, older", "gemini, cut", "gemini"],
)  # fmt: skip
def test_a_files_lines_with_their_numbers(
    text: str, asked: int | None, lines: tuple[str, ...], first: int, total: int | None
) -> None:
    found = numbered(result(text), asked)

    assert found is not None
    assert (found.lines, found.first, found.total) == (lines, first, total)


def test_what_follows_a_files_lines_is_kept_apart_from_them() -> None:
    found = numbered(result("     1→one\n     2→two\n\n<system-reminder>\nmind it\n</system-reminder>"))

    assert found is not None
    assert found.lines == ("one", "two")
    assert found.notes == ("<system-reminder>\nmind it\n</system-reminder>",)
    assert numbered(result("no numbers here")) is None


@pytest.mark.parametrize(
    ("text", "path", "files"),
    [
        ("Found 2 files\nsrc/a.go\nsrc/b.go", "", {"src/a.go": [], "src/b.go": []}),
        ("src/a.go:12:func A() {\nsrc/a.go-13-\treturn\n--\nsrc/b.go:3:x", "", {"src/a.go": [12, 13], "src/b.go": [3]}),
        ("14:func T\n15-\tx", "src/m.go", {"src/m.go": [14, 15]}),
        ("Found 1 matches\n/w/a.py:\n  Line 7: x = 1", "", {"/w/a.py": [7]}),
        ('Found 1 match for pattern "x":\n---\nFile: a.py\nL40: x', "", {"a.py": [40]}),
    ],
    ids=["files", "lines", "one file", "opencode", "gemini"],
)
def test_the_hits_of_a_search_stand_under_their_files(text: str, path: str, files: dict[str, list[int]]) -> None:
    found = hits(text, path=path)

    assert found is not None
    assert {name: [hit.line for hit in rows] for name, rows in by_file(found[0])} == files


def test_prose_is_no_list_of_hits() -> None:
    assert hits("I looked everywhere.\nThere was nothing at all.\nSo I stopped.\nAnd went home, which is far.") is None


def test_a_plan_says_what_changed_since_the_list_before() -> None:
    before = [("in_progress", "read"), ("pending", "write"), ("pending", "rest")]

    tasks = compared([("completed", "read"), ("pending", "write"), ("pending", "test")], before)

    assert [(task.text, task.change, task.was) for task in tasks] == [
        ("read", "moved", "in_progress"),
        ("write", "", ""),
        ("test", "new", ""),
        ("rest", "gone", "pending"),
    ]
    assert {task.change for task in compared(before, None)} == {""}


LINES = st.lists(
    st.text(st.characters(codec="ascii", exclude_characters="\n\r\x0b\x0c\x1c\x1d\x1e"), max_size=12), max_size=12
)


@given(LINES, LINES)
def test_side_by_side_shows_every_line_of_a_difference_once(old: list[str], new: list[str]) -> None:
    for hunk in hunks_of_texts("\n".join(old), "\n".join(new)):
        pairs = list(beside(hunk.lines))
        left = [row for row, _ in pairs if row is not None and row[0] != "+"]
        right = [row for _, row in pairs if row is not None and row[0] != "−"]

        assert left == [row for row in hunk.lines if row[0] != "+"]
        assert right == [row for row in hunk.lines if row[0] != "−"]
        assert counts([hunk]) == (sum(row[0] == "+" for row in right), sum(row[0] == "−" for row in left))


@given(WORDS, WORDS)
def test_the_changed_words_of_a_line_are_still_the_line(before: str, after: str) -> None:
    pair = changed(before, after)

    if pair is not None:
        assert "".join(text for text, _ in pair[0]) == before
        assert "".join(text for text, _ in pair[1]) == after


def test_a_name_that_mixes_alphabets_is_told() -> None:
    assert mixed("src/p\u0430yload.py") == "p\u0430yload"
    assert mixed("src/payload.py") is None
    assert mixed("docs/\u043f\u0440\u0438\u043c\u0435\u0440.md") is None  # one alphabet a word


PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + b"\x00" * 9


def test_media_are_what_their_bytes_are_whatever_the_record_says() -> None:
    svg = base64.b64encode(b"<svg onload=alert(1)>").decode()
    record = json.dumps(
        {
            "message": {
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}},
                    {"inlineData": {"mimeType": "image/png", "data": svg}},
                    {"image_url": "data:image/png;base64," + base64.b64encode(PNG).decode()},
                    {"data": "no media: nothing says so"},
                ]
            }
        }
    ).encode()  # fmt: skip

    found = list(media_in(record))

    assert [(one.kind, one.width, one.height) for one in found] == [
        ("image/png", 640, 480),
        (None, None, None),
        ("image/png", 640, 480),
    ]
    assert list(media_in(b"no JSON")) == []


@given(st.binary(max_size=64))
def test_any_bytes_have_a_kind_or_none(data: bytes) -> None:
    assert kind_of(data) in (None, "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
