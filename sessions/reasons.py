"""Why a goal was given up, in the words that the session has for it. Pure and deterministic: the last errors, and what was said about it.

Nothing is made up: a reason is a sentence or a line that stands in an entry, cut short, and the entry is named. The class follows from
that line by plain cues in English and Chinese; a line without one is of class other, and a person can say better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sessions.matching import marks

LONGEST = 240  # characters of a reason


class Cause(StrEnum):
    """The classes of reasons, as they are stored."""

    DEPENDENCY = "missing_dependency"
    TESTS = "failing_tests"
    CHANGED_MIND = "changed_mind"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"
    OUT_OF_TIME = "out_of_time"
    OTHER = "other"


class Voice(StrEnum):
    """Who says a line."""

    PERSON = "person"
    AGENT = "agent"
    ERROR = "error"  # a result that failed, or a provider's error


@dataclass(frozen=True, slots=True)
class Said:
    """The beginning of an entry's words, with who says them. `behind`: it comes after the work on the goal began."""

    seq: int
    voice: Voice
    text: str
    behind: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """`seq`: the entry in which the words stand; None where the agent or a person gave them with the goal itself."""

    text: str
    cause: Cause
    seq: int | None = None
    stated: bool = False


_CUES: tuple[tuple[Cause, re.Pattern[str]], ...] = (
    (
        Cause.DEPENDENCY,
        re.compile(
            r"no module named|module ?not ?found|command not found|not (?:installed|available (?:here|on this|in this)|found in path)"
            r"|cannot find (?:module|package|crate)|could not (?:resolve|find a version|locate)|unresolved import|missing (?:dependency|package|library"
            r"|module|access|credentials?|permission)|requires? (?!that|the|a )\S+,? (?:which|but)|is not there\b|no such (?:host|service|binary|command)"
            r"|ENODEV|ENOTFOUND|ECONNREFUSED|EACCES|permission denied|access denied|unauthori[sz]ed|connection refused|name or service not known"
            r"|no access to|dependenc(?:y|ies)|缺少|没有安装|未安装|依赖|环境没有|环境里没有|找不到模块|找不到命令|无法连接|没有权限|权限不足",
            re.IGNORECASE,
        ),
    ),
    (
        Cause.OUT_OF_TIME,
        re.compile(
            r"out of (?:time|context|budget|tokens)|no time|usage limit|rate limit|hit your limit|quota|budget_limited|usage_limited|stopped by (?:its budget|the usage limit)"
            r"|context (?:window )?(?:ran out|is full|limit)|prompt is too long|overloaded|timed? ?out|deadline|leave (?:this|it|that) for (?:now|later)|for another (?:day|session|time)"
            r"|next session|follow-?up (?:pr|session|task)|时间不够|来不及|没时间|超时|额度|配额|上下文(?:已满|不够)|以后再|下次再|稍后再",
            re.IGNORECASE,
        ),
    ),
    (
        Cause.SUPERSEDED,
        re.compile(
            r"\binstead\b|another goal took its place|supersed|replaced (?:by|with)|no longer (?:needed|necessary|required|relevant)|already (?:done|implemented|handled|covered|exists)"
            r"|not needed any ?more|unnecessary|obsolete|better (?:approach|way|idea)|different approach|switch(?:ed|ing)? to|in favou?r of|go(?:ing)? with"
            r"|改用|换成|改为|取代|代替|不再需要|已经有了|没必要|更好的(?:办法|方法|方案)",
            re.IGNORECASE,
        ),
    ),
    (
        Cause.TESTS,
        re.compile(
            r"\btests? (?:still )?(?:fail|are failing|is failing|broke)|failing tests?|assert(?:ion)?(?: ?error| failed)|\b[1-9]\d* (?:tests? )?fail(?:ed|ures?)\b|test result: failed"
            r"|^FAIL(?:ED)?\b|expected .{1,60}(?:but )?(?:got|received|to (?:be|equal))|regression|does(?: not|n't) pass|测试(?:失败|没有?通过|不过|挂了)|断言失败|用例失败",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
)
_PERSON_STOPS = re.compile(
    r"\b(?:stop|never ?mind|forget (?:it|that|about)|don'?t (?:do|bother|need|want|use|add|change|implement|touch)|do not (?:do|want|need|use|add)|no,|nope|not (?:that|what i|now)"
    r"|skip (?:it|this|that|the)|leave (?:it|that|this)|cancel|undo|revert|roll ?back|go back|changed my mind|let'?s not|drop (?:it|this|that|the)|instead|wrong|actually)\b"
    r"|不要|不用|算了|别(?:做|弄|改|管|再)|停(?:下|止|一下)|取消|撤销|回退|回滚|不对|先不|改主意|换个|放弃",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"request interrupted by user|doesn't want to (?:proceed|take this action)|user (?:rejected|declined|cancelled|denied)|operation cancelled by user",
    re.IGNORECASE,
)
_GIVES_UP = re.compile(
    r"\b(?:can ?not|can't|could(?: not|n't)|unable to|won'?t (?:work|do)|would not|does(?: not|n't) (?:work|help|exist|support)|did(?: not|n't) work|not (?:possible|supported|feasible|worth)"
    r"|impossible|give up|giving up|abandon|skip(?:ping)?|drop(?:ping)? (?:this|that|it|the)|revert(?:ing|ed)?|roll(?:ing)? back|leave (?:this|it|that)|fail(?:s|ed|ing)?|broken|blocked|instead"
    r"|no longer|not needed|out of scope|for now|too (?:slow|complex|large|risky)|will(?: not|n't) keep)\b"
    r"|无法|不能|不行|失败|放弃|行不通|不支持|跳过|回退|撤回|改用|太(?:慢|复杂)|暂时不",
    re.IGNORECASE,
)  # fmt: skip
# These words tell as often what a program does as what was decided: they count where somebody says them of themselves, or bids them.
_DESCRIBES = re.compile(r"skip(?:ping)?|revert(?:ing|ed)?|drop(?:ping)? \w+|instead|broken|blocked", re.IGNORECASE)
_OF_ONESELF = re.compile(r"\b(?:I|I'?(?:ll|m|ve)|we|we'?(?:ll|ve)|let'?s|let me|my|our)\b|我|咱")
_ERROR_LINE = re.compile(
    r"\b(?:\w*Error|\w*Exception|error|failed|failure|fatal|panic(?:ked)?|denied|not found|cannot|undefined|refused|timed out|E[A-Z]{4,})\b|失败|错误|找不到",
    re.IGNORECASE,
)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"`[^`\n]*`")
_CODE = re.compile(r"[(){}\[\];=<>\\|&\"]|:=|->|%[vsdw]")
_TAGS = re.compile(r"</?(?:tool_use_error|error|system-reminder)>")
_SAID_WITH_IT = re.compile(r"the user said:\s*(\S.*)", re.IGNORECASE | re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_STATUS_WORDS = frozenset({"cancelled", "canceled", "deleted by the agent", "deleted", "dropped", "blocked", "paused"})


def cause_of(text: str, default: Cause = Cause.OTHER) -> Cause:
    """The class of a reason by what its words say."""
    return next((cause for cause, cue in _CUES if cue.search(text)), default)


def stated(note: str | None) -> Reason | None:
    """The reason that was given with the goal. None where there is none, or only the name of its status."""
    text = short(note or "")
    if not text or text.casefold() in _STATUS_WORDS:
        return None
    mind = (
        Cause.CHANGED_MIND if re.search(r"\buser\b|用户", text, re.IGNORECASE) and _PERSON_STOPS.search(text) else None
    )
    return Reason(text, mind or cause_of(text), stated=True)


def extracted(goal: str, said: Sequence[Said], *, failed_tests: bool = False, worked: bool = True) -> Reason | None:
    """The line that says most of why `goal` was given up, of what was said in its last entries and right behind them. None: nothing does.

    In this order: a person's last words since the work began, where they stop it or turn it down; the agent's own sentence, the last that both gives
    something up and is about the goal, or the last that gives something up; the telling line of the last error. Of a goal that was never
    `worked` on, only what is about it.
    """
    about = marks(goal)
    asked = [one for one in said if one.voice is Voice.PERSON and one.behind]
    for one in asked[:-3:-1]:  # what was asked long before says nothing of this goal
        line = _first(_sentences(one.text), _PERSON_STOPS)
        if line is not None:
            return Reason(line, Cause.CHANGED_MIND, one.seq)
    for one in reversed(said):
        if _REFUSED.search(one.text[:400]):
            return Reason(_refusal(one.text), Cause.CHANGED_MIND, one.seq)
    sentences = [
        (one.seq, line) for one in said if one.voice is Voice.AGENT for line in _sentences(one.text) if _gives_up(line)
    ]
    errors = [one for one in said if one.voice is Voice.ERROR and (worked or _shares(about, telling(one.text)))]
    best = next((found for found in reversed(sentences) if _shares(about, found[1])), None)
    if best is None and worked and sentences and (not errors or sentences[-1][0] > errors[-1].seq):
        best = sentences[-1]
    if best is not None:
        cause = cause_of(best[1])
        if cause is Cause.OTHER and errors:
            cause = cause_of(telling(errors[-1].text), Cause.TESTS if failed_tests else Cause.OTHER)
        return Reason(best[1], cause, best[0])
    if errors:
        line = telling(errors[-1].text)
        return Reason(line, cause_of(line, Cause.TESTS if failed_tests else Cause.OTHER), errors[-1].seq)
    return None


def _refusal(text: str) -> str:
    """Of a call that was turned down what the person said with it; else the first sentence, the rest being the agent's own form."""
    said = _SAID_WITH_IT.search(text)
    return short(said[1]) if said else next(iter(_sentences(_tagless(text))), short(text))


def telling(text: str) -> str:
    """The line of an error that says most: the last that names one; else its first; of a call that was turned down why it was."""
    if _REFUSED.search(text[:400]):
        return _refusal(text)
    lines = [line.strip() for line in _tagless(text).splitlines() if line.strip()]
    named = [line for line in lines if _ERROR_LINE.search(line)]
    return short(named[-1] if named else lines[0] if lines else "")


def short(text: str) -> str:
    """A text on one line, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= LONGEST:
        return line
    cut = line[: LONGEST - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[LONGEST // 2 :] else cut) + "…"


def _sentences(text: str) -> Iterator[str]:
    """What is said in prose: blocks of code, and lines that look like it, say nothing of why."""
    for piece in _SENTENCE.split(_FENCED.sub("\n", text[:4000])):
        if piece and piece.strip() and not _is_code(piece):
            yield short(piece)


def _is_code(line: str) -> bool:
    bare = _QUOTED.sub("", line).strip()
    return len(_CODE.findall(bare)) > max(2, len(bare) // 18) or bare.endswith(("{", ";", "("))


def _tagless(text: str) -> str:
    return _TAGS.sub("", text)


def _first(lines: Iterable[str], cue: re.Pattern[str]) -> str | None:
    return next((line for line in lines if cue.search(line)), None)


def _gives_up(line: str) -> bool:
    found = [one[0] for one in _GIVES_UP.finditer(line)]
    return any(not _DESCRIBES.fullmatch(cue) for cue in found) or (bool(found) and _OF_ONESELF.search(line) is not None)


def _shares(about: frozenset[str], line: str) -> bool:
    return len(about & marks(line)) >= min(2, max(1, len(about)))
