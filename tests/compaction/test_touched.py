"""The files of a session: everything that was done to each, in order, and its text after any of it."""

import pytest

from compaction.touched import deeds, state_after, touched_by
from tests import factories as make
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


def test_a_file_is_known_after_every_step_and_each_step_is_listed() -> None:
    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    session = make.a_session(
        workspace,
        [
            make.prompt("Count"),
            make.call("c1", "Write", file_path="/w/n.py", content="one\ntwo\n"),
            make.result("c1", "File created successfully"),
            make.call("c2", "Edit", file_path="/w/n.py", old_string="two", new_string="2"),
            make.result("c2", "The file has been updated"),
            make.call("c3", "Edit", file_path="/w/n.py", old_string="one", new_string="1"),
            make.result("c3", "String not found", failed=True),
            make.call("c4", "Write", file_path="/w/n.py", content="none\n"),
            make.result("c4", "The file has been updated"),
        ],
    )

    (file,) = touched_by(session)

    assert file.full == "/w/n.py"
    assert (file.changes, file.reads, file.last) == (3, 0, 7)
    assert [(deed.seq, deed.verb, deed.added, deed.removed) for deed in deeds(file)] == [
        (1, "write", 2, 0),
        (3, "edit", 1, 1),
        (7, "write", 1, 0),  # what failed did nothing
    ]
    texts = {at: known.text for at in (1, 3, 5, 7, None) if (known := state_after(file, at)) is not None}
    assert texts == {1: "one\ntwo\n", 3: "one\n2\n", 5: "one\n2\n", 7: "none\n", None: "none\n"}
    assert state_after(file, 0) is None
