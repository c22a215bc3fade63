"""The message the agent makes of what stands between two answers, and how it mends gaps. Observed on the agent itself."""

from sessions.adapters.claude_code.wire import INTERRUPTED, MISSING, ORPHAN
from sessions.contexts import unpaired
from sessions.entries import Role
from tests.adapters.claude_code.build import Transcript, call, seen, text, thinking


def reminder(t: Transcript, words: str, role: str) -> None:
    content = f"<system-reminder>\n{words}\n</system-reminder>"
    t.add("attachment", attachment={"type": "anything"}, rendered=[{"content": content}], renderedRole=role)


def test_calls_come_last_in_their_answer_and_results_right_behind():
    t = Transcript()
    t.prompt("do")
    t.answer(call("Bash", "a", command="a"), text("between"), call("Bash", "b", command="b"), text("after"))
    t.result("a", "one")
    t.result("b", "two")
    assert seen(t.read()) == ["do", "between", "after", '{"command":"a"}', '{"command":"b"}', "one", "two"]


def test_a_call_without_result_at_the_end_is_answered_in_the_agents_words():
    t = Transcript()
    t.prompt("do")
    answer = t.answer(text("w"), call("Bash", "a", command="a"), call("Bash", "b", command="b"))
    t.result("a", "one", parent=answer[1])
    context = t.read().context()
    assert [part.text for item in context for part in item.parts][-2:] == ["one", INTERRUPTED]
    assert unpaired(context) == ([], [])
    assert context[-1].parts[0].is_error


def test_a_call_without_result_with_words_after_it_is_dropped():
    t = Transcript()
    t.prompt("do")
    t.answer(text("w"), call("Bash", "a", command="a"))
    t.prompt("[Request interrupted by user]")
    assert seen(t.read()) == ["do", "w", "[Request interrupted by user]"]


def test_a_record_that_holds_an_answered_and_an_open_call_is_mended():
    t = Transcript()
    t.prompt("do")
    blocks = [text("w"), call("Bash", "a", command="a"), call("Bash", "b", command="b")]
    t.add("assistant", message={"id": "m", "role": "assistant", "content": blocks})
    t.result("a", "one")
    t.prompt("go on")
    assert seen(t.read()) == ["do", "w", '{"command":"a"}', '{"command":"b"}', MISSING, "one", "go on"]


def test_orphan_and_second_results_are_dropped_and_leave_a_word_only_at_the_beginning():
    t = Transcript()
    t.result("gone", "x")
    t.answer(call("Bash", "a", command="a"))
    t.result("a", "one")
    t.result("a", "again")
    t.result("other", "y")
    assert seen(t.read()) == [ORPHAN, '{"command":"a"}', "one"]


def test_a_persons_words_beside_a_result_come_after_all_results():
    t = Transcript()
    t.prompt("do")
    t.answer(call("Bash", "a", command="a"), call("Bash", "b", command="b"))
    block = {"type": "tool_result", "tool_use_id": "a", "content": "one"}
    t.add("user", message={"role": "user", "content": [block, text("and mind the gap")]})
    t.result("b", "two")
    context = t.read().context()
    assert [part.text for item in context for part in item.parts][-3:] == ["one", "two", "and mind the gap"]
    assert context[-1].role is Role.USER


def test_reminders_of_the_user_stand_before_the_prompt_and_of_the_system_behind_it():
    t = Transcript()
    t.prompt("do")
    reminder(t, "S1", "system")
    reminder(t, "U1", "user")
    t.prompt("more")
    reminder(t, "S2", "system")
    context = t.read().context()
    assert [(item.role, item.text) for item in context] == [
        (Role.USER, "<system-reminder>\nU1\n</system-reminder>"),
        (Role.USER, "do"),
        (Role.USER, "more"),
        (Role.SYSTEM, "S1"),
        (Role.SYSTEM, "S2"),
    ]


def test_behind_a_result_a_reminder_becomes_part_of_its_text():
    t = Transcript()
    t.prompt("do")
    t.answer(call("Bash", "a", command="a"))
    t.result("a", "one")
    reminder(t, "U1", "user")
    assert seen(t.read())[-1] == "one\n\n<system-reminder>\nU1\n</system-reminder>"


def test_queued_words_go_with_the_system_unless_media_come_with_them_or_nothing_came_before():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    opening = "The user sent a new message while you were working:\nalso this"
    for prompt, roles in (
        ("also this", [Role.USER, Role.SYSTEM]),
        ([text("also this"), image], [Role.USER, Role.USER]),
    ):
        t = Transcript()
        t.prompt("do")
        t.add("attachment", attachment={"type": "queued_command", "prompt": prompt, "commandMode": "prompt"})
        context = t.read().context()
        assert [item.role for item in context] == roles
        assert any(opening in item.text for item in context)
    t = Transcript()
    t.add("attachment", attachment={"type": "queued_command", "prompt": "also this", "commandMode": "prompt"})
    assert [item.role for item in t.read().context()] == [Role.USER]


def test_a_notice_is_marked_as_none_of_the_persons_words():
    t = Transcript()
    t.prompt("<task-notification>done</task-notification>", origin={"kind": "task-notification"})
    (item,) = t.read().context()
    assert item.text.startswith("<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]")
    assert item.text.endswith("<task-notification>done</task-notification>\n</system-reminder>")


def test_unsigned_thinking_and_blank_text_are_not_sent_and_signed_thinking_is():
    t = Transcript()
    t.prompt("do")
    t.answer(thinking("unsigned", signature=None), thinking("signed"), text("\n\n"), text("said"))
    assert seen(t.read()) == ["do", "signed", "said"]
