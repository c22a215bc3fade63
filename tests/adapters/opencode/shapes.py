"""Sessions with what recordings do not show: several compactions, failed ones, tails, stopped answers, files, odd results."""

from __future__ import annotations

from tests.adapters.opencode.build import PNG, Session, finish, start, text, thought, tool


def two_compactions() -> Session:
    out = Session()
    out.user(text("first"))
    out.assistant(start(), text("one"), finish())
    out.compacted("summary one")
    out.user(text("second"))
    out.assistant(start(), thought("hm"), text("two"), finish())
    tail = out.user(text("third"))
    out.assistant(start(), text("three"), tool("call_1"), finish())
    out.compacted("summary two", tail=tail, auto=True)
    out.user(text("Continue if you have next steps", synthetic=True, metadata={"compaction_continue": True}))
    out.assistant(start(), text("four"), finish())
    return out


def failed_compaction() -> Session:
    """A request whose summary failed: it stays, as words, and hides nothing."""
    out = Session()
    out.user(text("first"))
    out.assistant(start(), text("one"), finish())
    out.compacted("half a summ", error={"name": "UnknownError", "data": {"message": "no"}}, finish="error")
    out.user(text("second"))
    out.assistant(start(), text("two"), finish())
    return out


def failed_compaction_with_a_tail() -> Session:
    out = Session()
    out.user(text("first"))
    out.assistant(start(), text("one"), finish())
    tail = out.user(text("second"))
    out.assistant(start(), text("two"), finish())
    out.compacted("half a summ", tail=tail, error={"name": "UnknownError", "data": {"message": "no"}}, finish="error")
    out.user(text("third"))
    out.assistant(start(), text("three"), finish())
    return out


def lost_tail() -> Session:
    """A tail that begins with a message that is not there: the agent goes on to the very beginning."""
    out = Session()
    out.user(text("first"))
    out.assistant(start(), text("one"), finish())
    out.compacted("summary", tail="msg_00000000000000000000000000")
    out.user(text("second"))
    out.assistant(start(), text("two"), finish())
    return out


def parallel_calls() -> Session:
    out = Session()
    out.user(text("look"))
    out.assistant(
        start(),
        text("two at once"),
        tool("call_1", "one"),
        text("and"),
        tool("call_2", "two"),
        finish(),
        start(),
        text("then"),
        tool("call_3", "three"),
        finish(),
    )
    out.assistant(start(), text("done"), finish())
    return out


def odd_results() -> Session:
    out = Session()
    out.user(text("try"))
    out.assistant(
        start(),
        tool("call_1", status="error", error="no such file"),
        tool(
            "call_2", status="error", error="Tool execution aborted", metadata={"interrupted": True, "output": "half"}
        ),
        tool("call_3", status="error", error="Tool execution aborted", metadata={"interrupted": True}),
        tool("call_4", status="running"),
        tool("call_5", status="pending", raw='{"comm'),
        tool("call_6", "long gone", time={"compacted": 1796014399999}),
        finish(),
    )
    out.user(text("and now?"))
    out.assistant(start(), text("fine"), finish())
    return out


def stopped_answers() -> Session:
    """A person stopped the first in its words, the second in its thoughts; the third failed."""
    out = Session()
    stopped = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    out.user(text("first"))
    out.assistant(start(), thought("hm"), text("half an ans"), error=stopped)
    out.user(text("second"))
    out.assistant(start(), thought("hm"), error=stopped)
    out.user(text("third"))
    out.assistant(start(), text("lost"), error={"name": "UnknownError", "data": {"message": "no"}})
    out.user(text("fourth"))
    out.assistant(start(), text("at last"), finish())
    return out


def files() -> Session:
    out = Session()
    out.user(
        text("see this"),
        text("shown, not sent", ignored=True),
        text("what the mention stands for", synthetic=True),
        {"type": "file", "mime": "text/plain", "filename": "a.txt", "url": "file:///srv/project/a.txt"},
        {"type": "file", "mime": "image/png", "filename": "dot.png", "url": PNG},
        {"type": "agent", "name": "general"},
    )
    picture = {
        "id": "prt_22accacf9999pBOI7MlSQOqkD6",
        "sessionID": out.info["id"],
        "messageID": "msg_22accace10017Kt7IP9fnqdy60",
        "type": "file",
        "mime": "image/png",
        "filename": "shot.png",
        "url": PNG,
    }
    out.assistant(start(), tool("call_1", "an image", "read", attachments=[picture]), finish())
    out.assistant(start(), text("I see"), finish())
    return out


def reverted_past_a_compaction() -> Session:
    """The revert takes the compaction away: what it hid is back."""
    out = Session()
    out.user(text("first"))
    out.assistant(start(), text("one"), finish())
    taken = out.user(text("second"))
    out.assistant(start(), text("two"), finish())
    out.compacted("summary")
    out.user(text("third"))
    out.assistant(start(), text("three"), finish())
    out.info["revert"] = {"messageID": taken}
    return out


def out_of_order() -> Session:
    """Messages stand in the file in another order than they were made."""
    out = two_compactions()
    out.messages = out.messages[5:] + out.messages[:5]
    out.messages[0]["parts"].reverse()
    return out


SHAPES = {
    build.__name__: build()
    for build in (
        two_compactions,
        failed_compaction,
        failed_compaction_with_a_tail,
        lost_tail,
        parallel_calls,
        odd_results,
        stopped_answers,
        files,
        reverted_past_a_compaction,
        out_of_order,
    )
}
