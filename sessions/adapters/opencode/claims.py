"""Tells OpenCode's sources by their content: exports, the info files of its storage tree, its database."""

from __future__ import annotations

import re
from pathlib import PurePath

from sessions.adapters.base import Claim

_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{')
_MESSAGES = re.compile(rb'\s*\{\s*"messages"\s*:\s*\[\s*\{\s*"(?:info|parts)"\s*:')
_SHARED = re.compile(rb'\s*\[\s*\{\s*"(?:type"\s*:\s*"(?:session|message|part|model|session_diff)"|data"\s*:\s*[\[{])')
_SESSION = re.compile(rb'"(?:id|sessionID)"\s*:\s*"(ses[^"\\]{0,200})"')
_MESSAGE = re.compile(rb'"(?:id|messageID)"\s*:\s*"msg[^"\\]{0,200}"')
_OWN_ID = re.compile(rb'"id"\s*:\s*"(ses|msg|prt)[^"\\]{0,200}"')
_DATABASE = re.compile(r"opencode(-[\w.-]+)?\.db")
_TABLES = (re.compile(rb"CREATE TABLE [`\"]?message[`\"]? *\("), re.compile(rb"CREATE TABLE [`\"]?part[`\"]? *\("))
SQLITE = b"SQLite format 3\0"
_BESIDE = {
    "todo": "a session's list of tasks, which its messages hold too",
    "session_diff": "what a session changed in files, no session",
    "session_share": "the key of a shared session: not read",
    "permission": "permissions of a project, no session",
    "project": "a project, no session",
}


def claim(path: PurePath, head: bytes) -> Claim | None:
    """Whether `head` begins a source of OpenCode. Role "none": a file of its that is no session by itself; `reason` says what it is."""
    if head.startswith(SQLITE):
        if _DATABASE.fullmatch(path.name) or all(table.search(head) for table in _TABLES):
            return Claim("session", source_id=path.name)
        return None
    if _EXPORT.match(head):
        return _session(head) if _SESSION.search(head) and _is_export(head) else None
    if _MESSAGES.match(head) or _SHARED.match(head):
        return _session(head) if _SESSION.search(head) and _MESSAGE.search(head) else None
    return _of_tree(path, head)


def _is_export(head: bytes) -> bool:
    found = _OWN_ID.search(head)
    return found is not None and found[1] == b"ses"


def _session(head: bytes) -> Claim:
    found = _SESSION.search(head)
    name = found[1].decode("utf-8", "replace") if found else None
    return Claim("session", native_id=name, source_id=name)


def _of_tree(path: PurePath, head: bytes) -> Claim | None:
    """A file of the storage tree. Ids are the path's: projects were named anew without rewriting what lies in them."""
    folders = path.parts[:-1]
    if "storage" not in folders or not head.lstrip()[:1] in (b"{", b"["):
        return None
    below = folders[len(folders) - 1 - folders[::-1].index("storage") + 1 :]
    own = _OWN_ID.search(head)
    if below[:1] == ("session",) and own is not None and own[1] == b"ses":
        return Claim("session", native_id=path.stem, source_id=path.stem)
    if own is not None and own[1] in (b"msg", b"prt") and below[:1] in (("message",), ("part",), ("session",)):
        what = "message" if own[1] == b"msg" else "part"
        return Claim("none", reason=f"a {what} of a session, which is read with the session's own file")
    if below and below[0] in _BESIDE:
        return Claim("none", reason=_BESIDE[below[0]])
    return None
