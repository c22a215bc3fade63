"""Codex CLI's way of compacting by itself, by the figures of its rule and the layouts seen in what it sends."""

from dataclasses import replace

from compaction.plan import Status, SummaryAsk
from compaction.strategies.codex import ABORTED, normalised, retained, trimmed
from sessions.contexts import InsertKind
from sessions.entries import Kind, Part, PartKind, Role
from tests.builders import call, context, items, media, native_summary, prompt, result, say, session, snapshot, think
from tests.compaction.strategies.agents import kinds, output, preset, run, said, seqs, turn, turns, windowed


def test_messages_that_stay() -> None:
    assert retained(["old-old", "middle1234", "new"], 3) == {1: "midd…1 tokens truncated…1234", 2: "new"}
    assert retained(["a", "b" * 40, "c"], 2) == {1: "bb…9 tokens truncated…bb", 2: "c"}
    assert retained(["a", "b" * 8, "c" * 8], 4) == {
        1: "b" * 8,
        2: "c" * 8,
    }  # nothing left: the oldest goes, however short
    assert retained([], 10) == {}


def test_layout_at_the_end_of_a_turn() -> None:
    start = session(*turns(5))
    made = run("codex", start)
    assert made.status is Status.COMPLETED, made.reason
    assert kinds(made.items) == ["prompt"] * 5 + ["summary"]
    assert said(made.items) == [f"Task {n}: change handler_{n}" for n in range(5)]
    assert made.items[-1].role is Role.USER


def test_a_message_that_waits_for_its_answer_comes_behind_the_summary() -> None:
    made = run("codex", session(*turns(5), prompt("and now this")))
    assert kinds(made.items) == ["prompt"] * 5 + ["summary", "prompt"]
    assert said(made.items)[-1] == "and now this"


def test_no_message_at_all() -> None:
    made = run("codex", session(*turn(0)[1:], *turn(1)[1:]))
    assert made.status is Status.COMPLETED
    assert kinds(made.items) == ["summary"]


def test_the_message_that_does_not_fit_is_cut_in_its_middle_and_older_ones_go() -> None:
    long = "head " + "word " * 3_000 + "tail"
    start = session(prompt("short"), prompt(long), prompt("third"), *turn(0, size=300))
    made = run("codex", start, messages=1_000)
    texts = said(made.items)
    assert len(texts) == 3
    assert texts[0].startswith("head word")
    assert texts[0].endswith("word tail")
    assert "tokens truncated…" in texts[0]
    kept = len(texts[0].replace("…", "").encode()) // 4
    assert 950 < kept <= 1_000
    assert texts[1:] == ["third", "Task 0: change handler_0"]
    assert made.plan.facts["cut_messages"] == 1
    # The newest message is never cut, whatever its size; it takes up the room all the same.
    newest = run("codex", session(prompt("short"), *turn(0, size=300), prompt(long)), messages=1_000)
    assert said(newest.items) == [long]


def test_pictures_go_and_pins_stay_whole() -> None:
    with_picture = prompt("look at this")
    with_picture = replace(with_picture, parts=(*with_picture.parts, *media().parts))
    start = session(with_picture, with_picture, *turns(4), pins=[1, 5])
    made = run("codex", start, pins=(1, 5))
    assert [len(item.parts) for item in made.items[:2]] == [1, 2]
    assert 5 in seqs(made.items)


def test_earlier_summaries_are_folded_and_no_message() -> None:
    start = session(native_summary("We chose lexer_two."), *turns(5))
    made = run("codex", start)
    assert kinds(made.items) == ["prompt"] * 5 + ["summary"]
    first = run("codex", session(*turns(5)))
    second = run("codex", snapshot(items(turns(4), session(*turns(5)).log()), first.edits))
    assert kinds(second.items) == ["prompt"] * 9 + ["summary"]


def test_a_second_time_there_is_nothing_to_do() -> None:
    long = "word " * 3_000
    start = session(prompt("short"), prompt(long), *turn(0, size=300))
    made = run("codex", start, messages=1_000)
    assert made.lands
    assert run("codex", snapshot(start.log(), made.edits), messages=1_000).status is Status.NOOP_NOTHING_TO_DO


def test_normalised() -> None:
    log = session(
        prompt("go"),
        call("Bash", "open", command="sleep"),
        call("Bash", "done", command="ls"),
        result("a", "done"),
        say("x"),
    ).items
    alone = replace(log[3], parts=(replace(log[3].parts[0], call_id="nobody"),))
    out = normalised([*log[:2], alone, *log[2:]])
    assert [item.key for item in out] == ["e0", "e1", "aborted-open", "e2", "e3", "e4"]
    assert out[2].parts == (Part(PartKind.TOOL_RESULT, ABORTED, call_id="open", is_error=True),)
    assert normalised(out) == out


def test_over_the_window_the_oldest_go_with_their_counterparts() -> None:
    start = session(prompt("go"), *output(1_000), *output(1_000), say("between"), *output(1_000))
    room = sum(start.tokens[3:]) + 5
    kept = trimmed(start.items, start, room)
    assert [item.seq for item in kept] == [3, 4, 5, 6, 7]
    assert trimmed(start.items, start, 10_000_000) == list(start.items)
    assert [item.seq for item in trimmed(start.items, start, 1)] == [6, 7]
    assert trimmed(start.items, start, None) == list(start.items)


def test_the_summariser_gets_what_fits_its_window() -> None:
    start = session(*turns(30))
    ask = run("codex", start, windowed(start.total // 5)).plan.asks[0]
    assert isinstance(ask, SummaryAsk)
    assert len(ask.items) < len(start.items) // 4
    assert ask.template == "plain"
    whole = preset("codex", "codex-0.8x", start, windowed(start.total // 5)).plan.asks[0]
    assert isinstance(whole, SummaryAsk)
    assert len(whole.items) == len(start.items) - 30  # but for the messages that stay


PERMISSIONS = context("<permissions instructions>may write</permissions instructions>", Role.DEVELOPER)
ENVIRONMENT = context("<environment_context>cwd /home/ada/app</environment_context>")


def test_where_the_initial_context_stands() -> None:
    start = session(PERMISSIONS, ENVIRONMENT, *turns(5))
    in_place = run("codex", start)
    assert kinds(in_place.items) == ["context", "context", *["prompt"] * 5, "summary"]
    middle = run("codex", start, initial="before the last message")
    assert kinds(middle.items) == [*["prompt"] * 4, "message", "message", "prompt", "summary"]
    assert [item.role for item in middle.items[4:6]] == [Role.DEVELOPER, Role.USER]
    end = run("codex", start, initial="at the end")
    assert kinds(end.items) == [*["prompt"] * 5, "summary", "message", "message"]
    for made in (in_place, middle, end):
        assert made.status is Status.COMPLETED, made.reason
        assert "may write" in " ".join(item.text for item in made.items)
        assert InsertKind.SUMMARY in {item.kind for item in made.items}


def test_signed_reasoning_goes_with_its_answer() -> None:
    made = run("codex", session(*turns(3), prompt("x"), think("signed"), call("Bash", command="sleep 100")))
    assert made.status is Status.COMPLETED
    assert not any(item.signed or item.calls for item in made.items)
    assert made.items[-1].kind is InsertKind.SUMMARY


def test_only_pictures() -> None:
    made = run("codex", session(media(3), media(2)))
    assert made.status is Status.NOOP_NOTHING_TO_DO
    assert "pictures" in made.reason
    assert all(item.kind is Kind.MEDIA for item in made.items)
