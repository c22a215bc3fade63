"""Every text has its Chinese, the compiled catalogue is the written one, and nothing that pages say is missing from it."""

import ast
import gettext
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "locale" / "zh_Hans" / "LC_MESSAGES"
IN_TEMPLATES = re.compile(r"""(?:\{%\s*translate\s+|(?<![\w.])_\()("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
FUNCTIONS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext"}


PLURALS: dict[str, str] = {}


def written() -> dict[str, list[str]]:
    """The catalogue as it is written: each text with its translations."""
    out: dict[str, list[str]] = {}
    for block in (FOLDER / "django.po").read_text(encoding="utf-8").split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            found = re.match(r"(msg\w+(?:\[\d\])?) (\".*\")$", line)
            if found:
                name = found[1]
                fields[name] = ast.literal_eval(found[2])
            elif line.startswith('"'):
                fields[name] += ast.literal_eval(line)
        if fields.get("msgid"):
            PLURALS[fields["msgid"]] = fields.get("msgid_plural", "")
            out[fields["msgid"]] = [text for name, text in fields.items() if name.startswith("msgstr")]
    return out


def test_every_text_is_translated_and_none_is_a_guess() -> None:
    texts = written()
    assert len(texts) > 1_000
    assert [text for text, there in texts.items() if not there or not all(there)] == []
    assert "fuzzy" not in (FOLDER / "django.po").read_text(encoding="utf-8")


def test_a_translation_fills_in_what_the_text_does() -> None:
    """A name that the English does not fill in would fail the page; a lost figure would say less than was meant."""
    slot = re.compile(r"%\((\w+)\)|(?<!\{)\{(\w+)\}")
    for text, there in written().items():
        for one in there:
            assert {a or b for a, b in slot.findall(one)} <= {a or b for a, b in slot.findall(text + PLURALS[text])}, (
                text
            )


def test_the_compiled_catalogue_is_the_written_one() -> None:
    with (FOLDER / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for text, there in written().items():
        assert compiled.gettext(text) in (there[0], text) or compiled.ngettext(text, text, 1) == there[0], text
        assert there[0] in (compiled.gettext(text), compiled.ngettext(text, text, 1)), text


def test_what_pages_and_code_say_stands_in_the_catalogue() -> None:
    texts, missing = written(), []
    for path in sorted((CHECKOUT / "templates").rglob("*.html")):
        for said in IN_TEMPLATES.findall(path.read_text(encoding="utf-8")):
            # A percent sign of a template is doubled in the catalogue.
            if not {ast.literal_eval(said), ast.literal_eval(said).replace("%", "%%")} & set(texts):
                missing.append(f"{path.name}: {said}")
    for room in ("webapp", "sessions", "compaction"):
        for path in sorted((CHECKOUT / room).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if "translation import" not in source:
                continue
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
                    first = node.args[0] if node.args else None
                    if isinstance(first, ast.Constant) and first.value not in texts:
                        missing.append(f"{path.name}: {first.value!r}")
    assert missing == []


@pytest.mark.parametrize("room", ["strategies", "forecast"])
def test_words_of_the_core_are_known_to_translators(room: str) -> None:
    from compaction.strategies import strategies
    from sessions.forecast import WORDS

    texts = written()
    said: set[str] = set()
    if room == "strategies":
        names = {"Claude Code", "Codex CLI", "Gemini CLI", "OpenCode", "j-cli", "UniversalAIClient", "pi"}
        for one in strategies().values():
            said |= {one.label, one.about, *(param.label for param in one.params)} - names
    elif room == "forecast":
        said = set(WORDS.values())
    assert said - set(texts) == set()
