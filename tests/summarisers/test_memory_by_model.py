"""A session's memory written by a model, over real HTTP: what it is told, what of its answer is taken, and what no bad answer does."""

from __future__ import annotations

import pytest

from compaction import remembered, session_memory
from compaction.models import MemoryNote, ModelCall
from compaction.notes.sections import TITLES, render
from compaction.plan import NotWritten
from sessions.models import Session
from tests.compaction.stage import grow
from tests.compaction.test_runs import prompt_after
from tests.loopback import USAGE, Answer, Asked, Server
from tests.summarisers.conftest import MODELS

pytestmark = pytest.mark.django_db(transaction=True)


def ten(**lines: str) -> str:
    """Notes as a model hands them in; `lines`: one below the heading that begins with this word."""
    blocks = []
    for title in TITLES:
        line = next((text for word, text in lines.items() if title.lower().startswith(word)), "(nothing yet)")
        blocks.append(f"# {title}\n- {line}")
    return "\n\n".join(blocks)


def memory_of(session: Session) -> str:
    return render(remembered.notes_of(remembered.newest(session)))


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_a_model_keeps_it_from_the_record_and_its_own_notes(
    session: Session, server: Server, models: list[float], provider: str
) -> None:
    session_memory.keep_with(session, summariser="llm", model=MODELS[provider])
    server.says(ten(current="The cursor is being written. [e3]", learnings="Chunks end at line ends."))
    first = session_memory.bring_up_to_date(session, reason="asked for")
    assert first.row is not None
    assert (first.new, first.whole, first.row.writer) == (True, True, f"llm:{MODELS[provider]}")
    assert "The cursor is being written." in memory_of(session)
    asked = server.asked[0]
    assert asked.protocol == provider
    assert "keep the notes" in asked.system
    assert "<record-" in asked.turns[0][1]
    assert all(f"# {title}" in asked.turns[0][1] for title in TITLES)
    call = ModelCall.objects.get(session=session)
    assert (call.outcome, call.fresh, call.output) == ("answered", USAGE["fresh"], USAGE["output"])

    calls = len(server.asked)
    assert not session_memory.bring_up_to_date(session, reason="asked for").new
    assert len(server.asked) == calls  # nothing is new, nobody is asked
    grow(session, prompt_after(session))
    session.refresh_from_db()
    server.says(ten(current="The cursor is done.", learnings="Chunks end at line ends."))
    second = session_memory.bring_up_to_date(session, reason="asked for")
    assert second.row is not None
    assert second.row.n == 2
    assert "The cursor is being written." in server.asked[-1].turns[0][1]  # its notes as they stood
    assert "The cursor is done." in memory_of(session)
    assert "The cursor is being written." not in memory_of(session)


def test_a_persons_line_stays_whatever_the_model_leaves_out(
    session: Session, server: Server, models: list[float]
) -> None:
    session_memory.keep_with(session, summariser="llm", model=MODELS["openai"])
    server.says(ten(current="Reading."))
    session_memory.bring_up_to_date(session, reason="asked for")
    text = memory_of(session).replace("- Reading.", "- Reading.\n- Never touch the lock file.")
    session_memory.edit(session, text, by=None)
    grow(session, prompt_after(session))
    session.refresh_from_db()
    server.says(ten(current="Writing."))
    session_memory.bring_up_to_date(session, reason="asked for")
    assert "Writing." in memory_of(session)
    assert "Never touch the lock file." in memory_of(session)


@pytest.mark.parametrize("bad", [Answer(""), Answer("Sure! The session is about cursors."), Answer(ten(), cut=True)])
def test_a_bad_answer_is_reminded_of_once_and_then_nothing_is_taken_in(
    session: Session, server: Server, models: list[float], bad: Answer
) -> None:
    session_memory.keep_with(session, summariser="llm", model=MODELS["anthropic"])
    server.says(bad)
    with pytest.raises(NotWritten, match="after a reminder"):
        session_memory.bring_up_to_date(session, reason="asked for")
    assert len(server.asked) == 2
    assert "not usable" in server.asked[1].turns[-1][1]
    assert MemoryNote.objects.filter(session=session).count() == 0

    def mended(asked: Asked) -> Answer:
        return Answer(ten(current="Mended.")) if "not usable" in asked.turns[-1][1] else bad

    server.says(mended)
    assert session_memory.bring_up_to_date(session, reason="asked for").new
    assert "Mended." in memory_of(session)
