"""What a session contains becomes safe HTML, and says what it leaves out."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions import diffs, hunks, render
from sessions.ansi import plain, styled, visible

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "![x](http://elsewhere.example/pixel.png)",
    '<a href="javascript:alert(1)">x</a>',
    "<style>body{display:none}</style>",
    "<iframe src=http://elsewhere.example></iframe>",
    '```"><script>alert(1)</script>\nx\n```',
    "| <script>alert(1)</script> |\n| - |\n| <svg onload=x> |",
    "\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07",
    "\x1b[31m<b onclick=alert(1)>\x1b[0m",
)
DRAWN: tuple[Callable[[str], str], ...] = (
    render.words,
    render.markdown,
    render.shell,
    lambda text: render.code(text, name="html"),
    lambda text: render.code(text, path="a.py"),
    lambda text: diffs.diff(hunks.hunks_of_texts(text, "b")),
    lambda text: diffs.diff(hunks.hunks_of_patch(f"*** Begin Patch\n*** Update File: {text}\n@@\n-{text}\n")),
    lambda text: render.record(text.encode()),
)
TAG = re.compile(r"<(/?[a-zA-Z][\w-]*)([^>]*)>")
ALLOWED = {
    "p", "br", "em", "strong", "s", "del", "code", "pre", "blockquote", "ul", "ol", "li", "h3", "h4", "h5", "h6", "hr", "table", "thead", "tbody",
    "tr", "th", "td", "a", "span", "div", "caption",
}  # fmt: skip


def assert_inert(html: str) -> None:
    for name, attributes in TAG.findall(html):
        assert name.removeprefix("/").lower() in ALLOWED, html
        assert re.fullmatch(r'(\s+(class|href|title|rel|start)="[^"<>]*")*\s*/?', attributes), html
        for href in re.findall(r'href="([^"]*)"', attributes):
            assert href.startswith(("http://", "https://", "mailto:")), html


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "draw", DRAWN, ids=("words", "markdown", "shell", "language", "file", "diff", "patch", "record")
)
def test_hostile_text_is_inert_however_it_is_drawn(draw: Callable[[str], str], text: str) -> None:
    html = str(draw(text))

    assert_inert(html)
    assert "<img" not in html


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_any_text_is_inert(text: str) -> None:
    for draw in DRAWN:
        assert_inert(str(draw(text)))


def test_markdown_keeps_what_a_message_says() -> None:
    html = render.markdown(
        "# Title\n\n**bold** `code` [site](https://a.example)\n\n- one\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n~~gone~~"
    )

    assert "<h3>Title</h3>" in html
    assert "<strong>bold</strong> <code>code</code>" in html
    assert '<a href="https://a.example" rel="noopener noreferrer nofollow">site</a>' in html
    assert "<td>2</td>" in html
    assert "<s>gone</s>" in html


def test_code_is_coloured_by_language_and_by_file_and_plain_where_neither_is_known() -> None:
    assert '<span class="c-k">def</span>' in render.code("def f(): pass", name="python")
    assert '<span class="c-k">def</span>' in render.code("def f(): pass", path="/a/b.py")
    assert render.code("def f(): pass", path="/a/b.unheard") == "def f(): pass"


def test_terminal_colours_become_classes() -> None:
    assert render.shell("\x1b[31mred\x1b[0m \x1b[1;32mok\x1b[m") == (
        '<span class="a-red">red</span> <span class="a-bold a-green">ok</span>'
    )
    assert list(styled("\x1b[38;5;9mx\x1b[48;2;1;2;3my")) == [("x", ""), ("y", "")]
    assert plain("10%\r50%\r100%\nnext") == "100%\nnext"
    assert plain("a\x1b]0;title\x07b\x1b[2Kc\x00d") == "abcd"


def test_reordering_and_invisible_characters_are_written_out() -> None:
    assert visible("pay\u202eexe.txt\u200b") == "pay⟨U+202E⟩exe.txt⟨U+200B⟩"
    assert "\u202e" not in render.markdown("a \u202e b") + render.words("\u202e") + render.code(
        "x = '\u202e'", name="python"
    )


def test_a_difference_has_signs_and_numbers_and_says_what_it_leaves_out() -> None:
    found = hunks.hunks_of_facts(
        [{"oldStart": 8, "oldLines": 2, "newStart": 8, "newLines": 2, "lines": [" same", "-old", "+new"]}]
    )

    html = diffs.diff(found)

    assert hunks.counts(found) == (1, 1)
    assert (
        '<tr class="removed"><td class="no">9</td><td class="no"></td><td class="sign">−</td><td class="line">old</td></tr>'
        in html
    )
    assert (
        '<tr class="added"><td class="no"></td><td class="no">9</td><td class="sign">+</td><td class="line">new</td></tr>'
        in html
    )
    assert "2 of 3 lines shown" in diffs.diff(found, limit=2)


def test_a_patch_is_split_by_file() -> None:
    found = hunks.hunks_of_patch(
        "*** Begin Patch\n*** Update File: a.py\n@@ def f\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    )

    assert [(hunk.title, hunks.counts([hunk])) for hunk in found] == [
        ("Update File: a.py @@ def f", (1, 1)),
        ("Add File: b.py", (1, 0)),
    ]


def test_a_long_output_says_how_much_is_left_out() -> None:
    text = "\n".join(str(n) for n in range(200))

    cut = render.excerpt(text)

    assert (cut.missing, cut.total) == (200 - render.HEAD - render.TAIL, 200)
    assert cut.head.split("\n")[0] == "0"
    assert cut.tail.split("\n")[-1] == "199"
    assert render.excerpt(text, whole=True).missing == 0
    assert "1,000 characters more" in render.excerpt("x" * 3000).head


def test_a_record_is_shown_as_json_with_its_strings_shortened_and_anything_else_as_it_is() -> None:
    assert '<span class="key-name">&quot;a&quot;</span>' in render.record(b'{"a": "b"}')
    assert "(500 characters)" in render.record(b'{"a": "' + b"x" * 500 + b'"}')
    assert render.record(b'{"half') == "{&quot;half"
