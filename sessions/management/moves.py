"""A head that moved, in words: what `undo`, `redo` and `rollback` print."""

from __future__ import annotations

from typing import Any

from sessions.management.base import counted


def told(verb: str, moved: dict[str, Any]) -> str:
    """One line, and one more for each thing worth knowing."""
    lines = [f"{verb}: v{moved['was']} → v{moved['head']} ({moved['label']})."]
    if moved["kept"]:
        lines.append(
            f"{counted(moved['kept'], 'entry', 'entries')} that came later {'stays' if moved['kept'] == 1 else 'stay'} visible."
        )
    if moved["native_head"] != moved["head"]:
        lines.append(f"The agent itself goes on from v{moved['native_head']}.")
    lines += [f"Note: {note}." for note in moved["notes"]]
    return "\n".join(lines)
