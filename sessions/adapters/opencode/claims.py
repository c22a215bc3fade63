"""Tells OpenCode's sources by their content: exports, the info files of its storage tree, its database."""

from __future__ import annotations

import re
from pathlib import PurePath

from sessions.adapters.base import Claim
from sessions.adapters.expanding import Kept

_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{')
_MESSAGES = re.compile(rb'\s*\{\s*"messages"\s*:\s*\[\s*\{\s*"(?:info|parts)"\s*:')
_SHARED = re.compile(rb'\s*\[\s*\{\s*"(?:type"\s*:\s*"(?:session|message|part|model|session_diff)"|data"\s*:\s*[\[{])')
_SESSION = re.compile(rb'"(?:id|sessionID)"\s*:\s*"(ses[^"\\]{0,200})"')
_MESSAGE = re.compile(rb'"(?:id|messageID)"\s*:\s*"msg[^"\\]{0,200}"')
_OWN_ID = re.compile(rb'"id"\s*:\s*"(ses|msg|prt)[^"\\]{0,200}"')
_CREATED = re.compile(rb'"created"\s*:\s*\d')
_PROJECT = re.compile(r"[0-9a-f]{40}|global")
_DATABASE = re.compile(r"[\w.-]*opencode(-[\w.-]+)?\.db")
_TABLES = (
    re.compile(rb"CREATE TABLE [`\"]?(message|event_sequence)[`\"]? *\("),
    re.compile(rb"CREATE TABLE [`\"]?(part|event)[`\"]? *\([^)]*\b(message_id|aggregate_id)\b"),
)
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
            return Claim("session", source_id=path.name, whole=True)
        return None
    if _EXPORT.match(head):
        return _session(head) if _SESSION.search(head) and _is_export(head) else None
    if _MESSAGES.match(head) or _SHARED.match(head):
        return _session(head) if _SESSION.search(head) and _MESSAGE.search(head) else None
    return _of_tree(path, head)


def kept(path: PurePath, head: bytes) -> Kept | None:
    """Whether the sessions of this file are not the file itself: many in a database, or one laid out in the storage tree."""
    if head.startswith(SQLITE):
        return "database" if claim(path, head) is not None else None
    if _EXPORT.match(head) or _MESSAGES.match(head) or _SHARED.match(head):
        return None
    found = _of_tree(path, head)
    return "folder" if found is not None and found.role == "session" else None


def _is_export(head: bytes) -> bool:
    found = _OWN_ID.search(head)
    return found is not None and found[1] == b"ses"


def _session(head: bytes) -> Claim:
    found = _SESSION.search(head)
    name = found[1].decode("utf-8", "replace") if found else None
    return Claim("session", native_id=name, source_id=name, whole=True)


def _of_tree(path: PurePath, head: bytes) -> Claim | None:
    """A file of the storage tree. Ids are the path's: projects were named anew without rewriting what lies in them."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return None
    folder, above = path.parent.name, path.parent.parent.name
    own = _OWN_ID.search(head)
    if own is not None and own[1] == b"ses" and above == "session" and _CREATED.search(head):
        return Claim("session", native_id=path.stem, source_id=path.stem, whole=True)
    if own is not None and own[1] == b"prt" and folder.startswith("msg") and path.stem.startswith("prt"):
        return Claim("none", reason="a part of a message, which is read with its session's own file")
    if own is not None and own[1] == b"msg" and folder.startswith("ses") and path.stem.startswith("msg"):
        return Claim("none", reason="a message of a session, which is read with the session's own file")
    known = _BESIDE.get(folder)
    if known is not None and (path.stem.startswith("ses") or (own is None and _PROJECT.fullmatch(path.stem))):
        return Claim("none", reason=known)
    return None
