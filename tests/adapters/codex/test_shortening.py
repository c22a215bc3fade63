"""What is left of a text whose middle the agent cuts away: figures from its own rule."""

from __future__ import annotations

import pytest

from sessions.adapters.codex import shortening
from sessions.adapters.codex.shortening import shortened
from tests.adapters.codex.build import compacted, meta, read, says, turn, user


@pytest.mark.parametrize(
    ("text", "budget", "left"),
    [
        ("middle1234", 2, "midd…1 tokens truncated…1234"),
        ("uvwxyz", 1, "uv…1 tokens truncated…yz"),
        ("word " * 200, 16, "word " * 6 + "wo" + "…234 tokens truncated…" + "d " + "word " * 6),
        ("好" * 12, 4, "好好…5 tokens truncated…好好"),  # on the borders of characters, within 8 bytes on each side
    ],
)
def test_the_middle_goes(text: str, budget: int, left: str) -> None:
    assert "".join(shortened([text], budget)) == left


def test_the_newest_messages_are_kept_and_the_one_that_does_not_fit_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three messages and a budget of three tokens: the newest takes one, two are left for the middle one, none for the oldest."""
    monkeypatch.setattr(shortening, "BUDGET", 3)
    reading = read(
        meta(),
        turn("t1", user("old-old"), says("a1")),
        turn("t2", user("middle1234"), says("a2")),
        turn("t3", user("new"), says("a3")),
        turn("tc", compacted("S")),
    )
    told = ["".join(part.text for part in one.parts) for one in reading.context()]
    assert told[:2] == ["midd…1 tokens truncated…1234", "new"]
    assert not any("old-old" in text for text in told)
