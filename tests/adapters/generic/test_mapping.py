"""Declared mappings: what they give of a log and of a document, what is wrong with a bad one, and what they never touch."""

from __future__ import annotations

import json
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.adapters import claims
from sessions.adapters.generic.declaration import Undeclared, declarations
from sessions.adapters.generic.mapping import Mapped, data_folder
from sessions.adapters.generic.paths import NoPath, path_of, values_at
from sessions.assembly import Reading, lines, read_whole
from sessions.contexts import unpaired
from sessions.entries import Kind, Usage

LOGGED = b"""
[[mapping]]
name = "acme"
files = ["*.acme.jsonl"]

[mapping.entry]
role = "$.who"
text = "$.said[*].words"
reasoning = "$.thoughts"
time = "$.at"
id = "$.n"
tool = "$.run.program"
call_id = "$.run.id"
arguments = "$.run.with"
result = "$.run.gave"
error = "$.run.failed"
model = "$.model"

[mapping.roles]
person = "user"
bot = "assistant"
program = "tool"

[mapping.usage]
input = "$.cost['in']"
cached = "$.cost.again"
output = "$.cost.out"

[mapping.session]
id = "$.room"
cwd = "$.folder"
"""
DOCUMENT = b"""
[[mapping]]
files = ["logs/*.json"]
records = "$.run.events[*]"
[mapping.entry]
role = "$.role"
content = "$.blocks"
[mapping.session]
id = "$.run.id"
title = "$.name"
"""
FOLDER = PurePath("/data/acme")
LINES = [
    {
        "who": "person",
        "said": [{"words": "Go"}, {"words": "on"}],
        "at": 1776000000,
        "n": 1,
        "room": "r-1",
        "folder": "/w",
    },
    {
        "who": "bot",
        "thoughts": "Hm",
        "run": {"program": "ls", "id": "c1", "with": {"p": "."}},
        "model": "m",
        "cost": {"in": 10, "again": 4, "out": 2},
    },
    {"who": "program", "run": {"id": "c1", "gave": {"a": 1}, "failed": True}},
    {"who": "bot", "said": [{"words": "Done"}]},
    {"level": "debug"},
]
DATA = b"".join(json.dumps(line).encode() + b"\n" for line in LINES)


def adapter(text: bytes, folder: PurePath = FOLDER) -> Mapped:
    return Mapped(lambda path: text if path == folder / "palimpsest.toml" else None)


def read(text: bytes, name: str, data: bytes) -> Reading:
    return read_whole(adapter(text), FOLDER / name, [(data, False)])


def test_a_log_by_its_mapping() -> None:
    mapped = adapter(LOGGED)
    assert mapped.claim(FOLDER / "x.acme.jsonl", DATA).native_id == "r-1"
    reading = read(LOGGED, "x.acme.jsonl", DATA)
    kinds = [placed.entry.kind for placed in reading.placed]
    assert kinds == [Kind.PROMPT, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.MESSAGE, Kind.OTHER]
    first, call, result = (placed.entry for placed in reading.placed[:3])
    assert (first.text, first.native_id, first.at.year) == ("Go\non", "1", 2026)
    assert [part.text for part in call.parts] == ["Hm", '{"p":"."}']
    assert (result.parts[0].text, result.is_error, result.parts[0].tool) == ('{"a":1}', True, "ls")
    assert [step.usage for step in reading.steps] == [Usage(fresh=6, cache_read=4, output=2), None]
    assert unpaired(reading.context()) == ([], [])
    assert (reading.facts.native_id, reading.facts.cwd, reading.facts.models) == ("r-1", "/w", ["m"])


def test_a_document_by_its_mapping() -> None:
    blocks = [{"type": "text", "text": "Hello"}, {"type": "tool_use", "id": "t", "name": "ls", "input": {}}]
    said = {
        "name": "Run 7",
        "run": {
            "x": [],
            "events": [{"role": "user", "blocks": "Hi"}, {"role": "assistant", "blocks": blocks}],
            "id": "r7",
        },
    }
    data = json.dumps(said, indent=2).encode()
    path = FOLDER / "logs" / "a.json"
    mapped = adapter(DOCUMENT, path.parent)
    assert mapped.claim(path, data).whole
    reading = read_whole(mapped, path, [(data, False)])
    assert [placed.entry.kind for placed in reading.placed] == [Kind.META, Kind.PROMPT, Kind.TOOL_CALL]
    assert (reading.facts.native_id, reading.facts.title) == ("r7", "Run 7")
    event = reading.placed[1]
    assert json.loads(data[event.offset : event.offset + event.length]) == said["run"]["events"][0]
    torn = read_whole(mapped, path, [(data[: data.index(b"tool_use")], False)])
    assert [placed.entry.kind for placed in torn.placed] == [Kind.META, Kind.PROMPT, Kind.MALFORMED]


def test_reading_goes_on_with_the_mapping_it_began_with() -> None:
    reader = adapter(LOGGED).reader(FOLDER / "x.acme.jsonl")
    first, second, *_ = lines(DATA)
    reader.read(first)
    after = Mapped(lambda path: None).reader(FOLDER / "x.acme.jsonl", json.loads(json.dumps(reader.state())))
    assert after.read(second).kind is Kind.TOOL_CALL
    gone = Mapped(lambda path: None).reader(FOLDER / "x.acme.jsonl").read(first)
    assert gone.kind is Kind.MALFORMED
    assert "mapping of this file is gone" in gone.problem


def test_the_data_folder_may_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_DATA_DIR", "/srv/palimpsest")
    assert data_folder() == PurePath("/srv/palimpsest")
    assert adapter(LOGGED, PurePath("/srv/palimpsest")).claim(FOLDER / "x.acme.jsonl", DATA).role == "session"


def test_only_files_that_are_named_and_json() -> None:
    mapped = adapter(LOGGED)
    assert mapped.claim(FOLDER / "other.jsonl", DATA) is None
    assert mapped.claim(FOLDER / "x.acme.jsonl", b"plain text") is None


def test_what_another_adapter_knows_stays_its_own(tmp_path) -> None:
    (tmp_path / "palimpsest.toml").write_text('[[mapping]]\nfiles = ["*"]\n[mapping.entry]\nrole = "$.role"\n')
    known = claims(tmp_path / "a.json", b'[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]')
    assert known[0].agent == "openai"
    unknown = claims(tmp_path / "b.json", b'{"role": "user", "level": 3}')
    assert unknown[0].agent == "mapped"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"not toml [", "no TOML"),
        (b"x = 1", "no \\[\\[mapping\\]\\]"),
        (b'[[mapping]]\nfiles = "a"', "`files`"),
        (b'[[mapping]]\nfiles = ["a"]\nfile = 1', "has no file"),
        (b'[[mapping]]\nfiles = ["a"]\n[mapping.entry]\nwho = "$.a"', "`entry` has no who"),
        (b'[[mapping]]\nfiles = ["a"]\n[mapping.entry]\ntext = "$.a"', "`entry.role`"),
        (b'[[mapping]]\nfiles = ["a"]\n[mapping.entry]\nrole = "a.b"', "begins with"),
        (b'[[mapping]]\nfiles = ["a"]\nrecords = "$.a"\n[mapping.entry]\nrole = "$.a"', "names a list"),
    ],
)
def test_a_bad_declaration_is_said(text: bytes, words: str) -> None:
    with pytest.raises(Undeclared, match=words):
        declarations(text)
    claim = adapter(text).claim(FOLDER / "x.json", b"{}")
    assert claim.role == "none"
    assert claim.reason


def test_paths() -> None:
    value = {"a": [{"b": 1}, {"b": 2}], "x y": {"z": None}}
    assert values_at(value, path_of("$.a[*].b")) == [1, 2]
    assert values_at(value, path_of("$.a[-1]['b']")) == [2]
    assert values_at(value, path_of("$['x y'].z")) == [None]
    assert values_at(value, path_of("$.a.b")) == []
    assert values_at(value, path_of("$")) == [value]
    with pytest.raises(NoPath):
        path_of("$.a[")


@given(st.binary(max_size=80))
def test_nothing_raises_whatever_the_file_or_the_declaration_holds(data: bytes) -> None:
    mapped = adapter(DOCUMENT, PurePath("/logs"))
    path = PurePath("/logs/a.json")
    mapped.claim(path, data)
    reader = mapped.reader(path)
    for line in mapped.documents(path, data):
        reader.read(line)
    adapter(data).claim(FOLDER / "x.json", b"{}")


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda i: (
            st.lists(i, max_size=3)
            | st.dictionaries(
                st.sampled_from(["who", "said", "words", "run", "id", "with", "gave", "cost", "in", "at"]),
                i,
                max_size=4,
            )
        ),
    )
)
def test_nothing_raises_whatever_a_record_holds(value) -> None:
    reader = adapter(LOGGED).reader(FOLDER / "x.acme.jsonl")
    for line in lines(json.dumps({"who": "bot", "said": value, "run": value, "cost": value, "at": value}).encode()):
        reader.read(line)
