"""Long documents rest between two readings; nothing that changed is forgotten meanwhile."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sessions.resting import Rests

DATABASE, LOG, SMALL = Path("/o/opencode.db"), Path("/c/session.jsonl"), Path("/g/session-small.json")
LONG = 24_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_long_document_that_changes_all_the_time_is_read_a_part_of_it() -> None:
    clock = Clock()
    rests = Rests(clock)
    readings = 0
    for _ in range(600):  # a change each 100 ms
        clock.now += 0.1
        if DATABASE in rests.due({DATABASE}):
            readings += 1
            rests.read(f"{DATABASE}#ses_one", LONG // 2)
            rests.read(f"{DATABASE}#ses_two", LONG // 2)
            clock.now += 2
            rests.done()
    assert 5 <= readings <= 12
    clock.now += 60
    assert rests.due() == {DATABASE}, "the last change is read, even where none comes behind it"
    assert rests.due() == set()


def test_logs_and_short_documents_never_rest() -> None:
    rests = Rests(Clock())
    for _ in range(3):
        assert rests.due({LOG, SMALL}) == {LOG, SMALL}
        rests.read(str(SMALL), 900_000)
        rests.done()
    assert not rests.held


@given(changes=st.lists(st.tuples(st.sampled_from([DATABASE, LOG, SMALL]), st.floats(0, 9)), max_size=30))
def test_whatever_changed_is_read_after_its_last_change(changes: list[tuple[Path, float]]) -> None:
    clock = Clock()
    rests = Rests(clock)
    read: dict[Path, float] = {}
    changed: dict[Path, float] = {}

    def take(paths: set[Path]) -> None:
        for path in paths:
            read[path] = clock.now
            rests.read(str(path), LONG if path == DATABASE else 10)
        rests.done()

    for path, later in changes:
        clock.now += later
        changed[path] = clock.now
        take(rests.due({path}))
    clock.now += 60
    take(rests.due())
    assert all(read[path] >= at for path, at in changed.items())
