"""The few words that an extractive summary says itself, between those of the session: in the language its person writes.

Headings stay English in any language: agents, checks and pages know a summary by them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from compaction.summary.facts import Message

_LOOKED_AT = 40  # messages, the newest
_SHARE = 0.3  # of the letters: a message in Chinese holds many names in Latin letters
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LATIN = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Wording:
    """`done`: how closed tasks begin, in any language, since a summary may be older than the language of now."""

    latest: str = "latest: "
    dropped: str = "tried and dropped: "
    in_progress: str = "in progress"
    pending: str = "open"
    completed: str = "done"
    cancelled: str = "cancelled"
    not_passing: str = "not passing yet: "
    unsolved: str = " → not seen to pass since"
    fixed: str = " → fixed by edits to "
    passed: str = " → passed later"
    times: str = ", {n} times"
    ran: str = ", run {n} times"
    exit: str = "exit {n}"
    failed: str = "failed"
    ok: str = "ok"
    edited: str = "{n}× edited"
    written: str = "{n}× written"
    read: str = "{n}× read"
    named: str = " (named by the user)"
    languages: str = "languages: "
    libraries: str = "libraries: "
    programs: str = "tools run: "
    names: str = "names in use: "
    asked: str = "looked for: "
    comma: str = ", "


ENGLISH = Wording()
CHINESE = Wording(
    latest="最新：",
    dropped="试过，已放弃：",
    in_progress="进行中",
    pending="待办",
    completed="已完成",
    cancelled="已取消",
    not_passing="尚未通过：",
    unsolved=" → 此后未见通过",
    fixed=" → 已修改以下文件解决：",
    passed=" → 后来通过",
    times="，共 {n} 次",
    ran="，运行 {n} 次",
    exit="退出码 {n}",
    failed="失败",
    ok="成功",
    edited="编辑 {n} 次",
    written="写入 {n} 次",
    read="读取 {n} 次",
    named="（用户提到）",
    languages="语言：",
    libraries="用到的库：",
    programs="运行的工具：",
    names="出现的名称：",
    asked="查找过：",
    comma="，",
)
CLOSED = tuple(f"{word}: " for one in (ENGLISH, CHINESE) for word in (one.completed, one.cancelled))


def wording(messages: Sequence[Message]) -> Wording:
    """Chinese where a person's newest messages are mostly in it, else English."""
    text = "\n".join(message.text[:400] for message in messages[-_LOOKED_AT:])
    chinese, latin = len(_CHINESE.findall(text)), len(_LATIN.findall(text))
    if _KANA.search(text) is not None or not chinese:
        return ENGLISH
    return CHINESE if chinese >= _SHARE * (chinese + latin) else ENGLISH
