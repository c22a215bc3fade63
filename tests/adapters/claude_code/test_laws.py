"""What holds for every transcript: reading in pieces is reading whole, history never raises, versions are what the prefix says."""

import json
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions.adapters.base import Line, Link
from sessions.adapters.claude_code import ADAPTER
from sessions.assembly import Assembly, lines
from sessions.contexts import project, unpaired
from sessions.entries import Facts, Kind, Part, PartKind, Role
from tests.adapters.claude_code.build import PATH, Transcript, call, text, uid

QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))


def wander(seed: int, *, keeps: bool = False) -> Transcript:
    """A transcript that goes on, goes back, loses parents, runs tools in parallel and compacts, as `seed` has it."""
    chance = random.Random(seed)
    t = Transcript()
    ids: list[str] = []
    calls = 0
    for n in range(chance.randint(1, 40)):
        roll = chance.random()
        where: dict = {}
        if ids and chance.random() < 0.18:
            where = {"parent": chance.choice(ids)}
        elif chance.random() < 0.04:
            where = {"parent": chance.choice([None, uid(f"no{n}")])}
        if roll < 0.3:
            ids.append(t.prompt(f"P{n}", **where))
        elif roll < 0.6:
            blocks = [text(f"A{n}")]
            for _ in range(chance.randint(0, 3)):
                calls += 1
                blocks.append(call("TodoWrite", f"c{calls}", todos=[{"content": f"G{calls}", "status": "pending"}]))
            ids += t.answer(*blocks, **where)
        elif roll < 0.8 and calls:
            ids.append(t.result(f"c{chance.randint(max(1, calls - 3), calls)}", f"out{n}", **where))
        elif roll < 0.83:
            t.loose("summary", summary=f"T{n}", leafUuid=uid(f"r{t.count + chance.randint(0, 3)}"))
            root = t.add("user", parent=None, isSidechain=True, message={"role": "user", "content": f"child {n}"})
            where = {"parent": chance.choice([root, *ids[-2:]])}
            t.add("user", isSidechain=True, message={"role": "user", "content": "more"}, **where)
        elif roll < 0.86:
            ids.append(t.add("progress", data={"type": "bash_progress"}, **where))
        elif roll < 0.92:
            rendered = [{"content": f"<system-reminder>\nD{n}\n</system-reminder>"}]
            ids.append(
                t.add("attachment", attachment={"type": "date"}, rendered=rendered, renderedRole="system", **where)
            )
        elif roll < 0.96:
            ids.append(t.add("system", subtype="local_command", content=f"L{n}", **where))
        else:
            kept = chance.sample(ids, min(len(ids), 3)) if keeps else []
            anchor = uid(f"r{t.count + chance.choice([1, 2])}")
            metadata = {"preservedMessages": {"anchorUuid": anchor, "uuids": kept, "allUuids": kept}} if kept else {}
            ids += t.compaction(f"S{n}", **metadata)
        if keeps and chance.random() < 0.05:
            t.loose("last-prompt", leafUuid=chance.choice([*ids, None, uid("x")]), explicit=chance.random() < 0.5)
    return t


@QUICK
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_reading_in_pieces_is_reading_whole(seed, every):
    data = wander(seed, keeps=True).bytes
    whole = Assembly()
    reader = ADAPTER.reader(PATH)
    expected = [whole.place(reader.read(line), line) for line in lines(data)]
    steps = whole.take_changed()

    pieces = Assembly()
    again = ADAPTER.reader(PATH)
    found = []
    changed = {}
    goals = {}
    for n, line in enumerate(lines(data)):
        if n % every == 0:
            again = ADAPTER.reader(PATH, json.loads(json.dumps(again.state())))
            pieces = Assembly.from_state(json.loads(json.dumps(pieces.state())))
        found.append(pieces.place(again.read(line), line))
        changed |= {step.n: step for step in pieces.take_changed()}
        goals |= {(goal.path, goal.inferred): goal for goal in pieces.goals.take_changed()}
    assert found == expected
    assert [changed[n] for n in sorted(changed)] == steps
    tree = whole.goals.tree()
    assert [goals[goal.path, goal.inferred] for goal in tree] == tree
    assert again.facts == reader.facts


@QUICK
@given(st.integers(0, 10**6))
def test_every_version_in_the_middle_is_what_the_transcript_up_to_there_comes_to(seed):
    reading = wander(seed).read()
    links = [placed.link() for placed in reading.placed]
    parts = {placed.seq: placed.entry.parts for placed in reading.placed}
    for version in reading.versions[:-1]:
        upto = ADAPTER.history(links[: version.at_seq + 1], parts.__getitem__, reading.facts)
        edits = upto[-1].edits if upto else ()
        items = reading.items(version.at_seq)
        assert [i.digest for i in project(items, version.edits)] == [i.digest for i in project(items, edits)]


@QUICK
@given(st.integers(0, 10**6))
def test_what_is_sent_pairs_every_call_with_one_result(seed):
    assert unpaired(wander(seed, keeps=True).read().context()) == ([], [])


IDS = st.sampled_from([None, *(uid(f"x{n}") for n in range(6))])
BOUNDARY = st.fixed_dictionaries(
    {"facts": st.just({"trigger": "auto"})},
    optional={
        "keep": st.lists(IDS.filter(bool), max_size=4),
        "anchor": IDS,
        "segment": st.tuples(IDS, IDS, IDS).map(list),
        "logical": IDS,
    },
)
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "t": st.sampled_from(["u", "a", "s", "h", "p"]),
        "ms": st.integers(0, 60_000),
        "boundary": BOUNDARY,
        "micro": st.fixed_dictionaries({"ids": st.lists(st.sampled_from(["c1", "c2"])), "facts": st.just({})}),
        "bookmark": st.fixed_dictionaries({"leaf": IDS}, optional={"explicit": st.booleans(), "start": st.just(True)}),
        "swap": st.integers(0, 2),
        "retract": st.lists(IDS.filter(bool), max_size=3),
        "collapse": st.fixed_dictionaries({"firstArchivedUuid": IDS, "lastArchivedUuid": IDS}),
        "summary": st.just(True),
    },
)


@st.composite
def any_links(draw) -> list[Link]:
    out = []
    for seq in range(draw(st.integers(0, 14))):
        facts = draw(FACTS)
        out.append(
            Link(
                seq=seq,
                kind=draw(
                    st.sampled_from(
                        [
                            Kind.PROMPT,
                            Kind.SUMMARY,
                            Kind.MESSAGE,
                            Kind.TOOL_CALL,
                            Kind.TOOL_RESULT,
                            Kind.COMPACTION,
                            Kind.META,
                        ]
                    )
                ),
                role=draw(st.sampled_from([None, Role.USER, Role.ASSISTANT, Role.TOOL])),
                native_id=draw(IDS),
                native_parent=draw(IDS),
                sent=draw(st.booleans()),
                lane=draw(st.sampled_from(["", "", "", "lane"])),
                turn=None,
                step=draw(st.sampled_from([None, 1, 2])),
                response_id=draw(st.sampled_from([None, "R1", "R2"])),
                call_ids=tuple(draw(st.lists(st.sampled_from(["c1", "c2"]), max_size=2))),
                opens_turn=draw(st.booleans()),
                copied=False,
                digest=b"",
                length=draw(st.sampled_from([100, 4_000_000])),
                facts=facts,
            )
        )
    return out


@QUICK
@given(any_links())
def test_history_never_raises_and_always_says_the_same(links):
    def parts_of(seq: int) -> tuple[Part, ...]:
        return (Part(PartKind.TOOL_RESULT, str(seq), call_id="c1"),)

    first = ADAPTER.history(links, parts_of, Facts())
    assert first == ADAPTER.history(links, parts_of, Facts())
    seqs = {link.seq for link in links}
    for version in first:
        assert version.at_seq in seqs
    assert [v.at_seq for v in first] == sorted(v.at_seq for v in first)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["text", "tool_use", "tool_result", "thinking"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "uuid",
                    "parentUuid",
                    "message",
                    "content",
                    "id",
                    "name",
                    "input",
                    "text",
                    "attachment",
                    "prompt",
                    "tool_use_id",
                    "usage",
                    "toolUseResult",
                    "structuredPatch",
                    "lines",
                    "origin",
                    "kind",
                    "todos",
                    "replacements",
                    "compactMetadata",
                    "subtype",
                    "data",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
RECORD = st.builds(
    lambda kind, rest: {**rest, "type": kind},
    st.sampled_from(
        [
            "user",
            "assistant",
            "system",
            "attachment",
            "progress",
            "summary",
            "last-prompt",
            "content-replacement",
            "custom-title",
            "queue-operation",
        ]
    ),
    st.dictionaries(
        st.sampled_from(
            [
                "uuid",
                "parentUuid",
                "message",
                "attachment",
                "subtype",
                "compactMetadata",
                "toolUseResult",
                "replacements",
                "rendered",
                "isSidechain",
                "timestamp",
                "todos",
                "content",
                "leafUuid",
                "microcompactMetadata",
                "data",
                "retractedMessageUuids",
                "usage",
            ]
        ),
        JSON,
        max_size=6,
    ),
)


@QUICK
@given(st.lists(RECORD.map(lambda record: json.dumps(record).encode()) | st.binary(max_size=40), max_size=8))
def test_no_bytes_make_the_reader_or_the_history_raise(raw):
    assembly = Assembly()
    reader = ADAPTER.reader(PATH)
    placed = [assembly.place(reader.read(Line(0, line, True, n)), Line(0, line)) for n, line in enumerate(raw)]
    json.dumps(reader.state())
    for one in placed:
        json.dumps(one.entry.link)
    parts = {one.seq: one.entry.parts for one in placed}
    versions = ADAPTER.history([one.link() for one in placed], parts.__getitem__, reader.facts)
    assert all(version.label for version in versions)
