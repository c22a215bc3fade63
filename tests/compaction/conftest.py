"""A session taken in for real, and its workspace. Models are imported late: this file is read before Django is set up."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def workspace(db: None) -> Any:
    from tests.compaction.stage import a_workspace

    return a_workspace()


@pytest.fixture
def session(workspace: Any, tmp_path: Path) -> Any:
    from tests.compaction.stage import taken_in

    return taken_in(workspace, tmp_path, entries=300)
