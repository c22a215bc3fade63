"""The JSON of sessions that were written: what the command prints and the API answers."""

from __future__ import annotations

from typing import Any

from sessions.writing import Made, Put


def made_row(made: Made) -> dict[str, Any]:
    """A session that was written and read back."""
    return {
        "session": str(made.session.pk),
        "version": made.version.n,
        "agent": made.writer.agent,
        "label": made.writer.label,
        "native_id": made.written.native_id,
        "files": [{"name": file.name, "bytes": len(file.data)} for file in made.written.files],
        "blocks": made.blocks,
        "notes": list(made.notes),
    }


def put_row(put: Put) -> dict[str, Any]:
    """The same, with where it was put."""
    return made_row(put.made) | {"paths": list(put.paths), "command": put.command, "installed": put.installed}
