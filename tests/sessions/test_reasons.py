"""Why a goal was given up: in words that stand in the session and are about it, and in none where there are none."""

import pytest

from sessions.reasons import Cause, Said, Voice, extracted

GOAL = "Write unit tests for the start hook"


def why(*said: Said, worked: bool = True) -> tuple[str, Cause] | None:
    found = extracted(GOAL, said, worked=worked)
    return None if found is None else (found.text, found.cause)


@pytest.mark.parametrize(
    "text",
    [
        "Both start hooks respect the setting and skip the default branch when it is off.",
        'fmt.Fprintf(os.Stderr, "unit tests failed for the start hook: %v", err)',
        "```go\nif err != nil { return } // cannot start the hook tests\n```",
    ],
)
def test_what_a_program_does_is_no_reason(text: str) -> None:
    assert why(Said(3, Voice.AGENT, text)) is None


def test_an_agents_decision_about_the_goal_is() -> None:
    said = Said(3, Voice.AGENT, "The rest is fine. I'll skip the unit tests for the start hook for now.")
    assert why(said) == ("I'll skip the unit tests for the start hook for now.", Cause.OTHER)


def test_a_refused_call_gives_the_words_that_came_with_it_and_none_of_the_agents_form() -> None:
    form = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit)."
    bare = why(Said(3, Voice.ERROR, form))
    assert bare == ("The user doesn't want to proceed with this tool use.", Cause.CHANGED_MIND)
    told = why(Said(3, Voice.ERROR, f"{form} To tell you how to proceed, the user said: wait, let's talk about this"))
    assert told == ("wait, let's talk about this", Cause.CHANGED_MIND)


def test_of_a_goal_that_was_never_worked_on_an_error_of_something_else_says_nothing() -> None:
    error = Said(3, Voice.ERROR, "<tool_use_error>File does not exist.</tool_use_error>")
    assert why(error) == ("File does not exist.", Cause.OTHER)
    assert why(error, worked=False) is None
    about = Said(4, Voice.ERROR, "Error: unit tests of the start hook cannot be collected")
    assert why(error, about, worked=False) is not None
