"""What a person typed, read: words, "phrases", beginnings*, *middles*, OR, minus, and fields. Pure.

    mmap OR memmap2 -test agent:codex role:outputs file:src/import exit:1 goal:importer in:ghosts after:2026-09-01

Words beside one another must all stand in the entry; OR parts the two words beside it. Nothing is refused: what makes no sense as a
field is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from sessions.search.texts import CLASSES
from sessions.search.words import is_ideographic, pairs_of, tokens_of, whole

LONGEST = 400  # characters of a query that are read
TERMS = 24  # words of a query that are read

SESSION_FIELDS = ("agent", "project", "owner")
# Where it stands: sent, hidden, replaced; or put in by a version, which is no entry.
WHERE = ("context", "ghosts", "masked", "versions")
FAILED = "failed"  # `exit:`: any code but 0
FIELDS = (*SESSION_FIELDS, "tool", "file", "role", "in", "before", "after", "is", "exit", "goal")
_SAME = {"path": "file", "kind": "role", "until": "before", "since": "after"}
_EXIT = re.compile(r"-?\d{1,10}")
_ROLES = {
    **{name: name for name in CLASSES}, "user": "person", "prompt": "person", "message": "assistant", "call": "calls", "tool_call": "calls",
    "tool": "outputs", "output": "outputs", "tool_result": "outputs", "result": "outputs", "summary": "summaries", "system": "harness",
    "context": "harness", "error": "errors",
}  # fmt: skip
_ITEM = re.compile(
    r'(?P<minus>-(?=\S))?(?:(?P<field>[A-Za-z]{2,8}):)?(?:["“”](?P<phrase>[^"“”]*)["“”]|(?P<word>[^\s"“”]+))'
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase. `tokens`: its tokens in order, in small letters. `opens`: the first may be the end of a longer word; `runs_on`:
    the last may be the beginning of one.
    """

    text: str
    tokens: tuple[str, ...]
    opens: bool = False
    runs_on: bool = False

    @property
    def checked(self) -> bool:
        """Whether words in their places are not enough, and the text itself has to be read."""
        return len(self.tokens) > 1 or (is_ideographic(self.tokens[0]) and len(self.tokens[0]) > 2)

    @property
    def needs(self) -> list[tuple[str, str]]:
        """What an entry must be filed under, all of it: a word with how it is meant (is, begins, ends, holds)."""
        out: list[tuple[str, str]] = []
        for n, token in enumerate(self.tokens):
            opens, runs_on = self.opens and n == 0, self.runs_on and n == len(self.tokens) - 1
            if is_ideographic(token):
                # Pairs lie within any longer run, so stars change nothing; one character is the beginning of a pair, or the last of a run.
                out.extend(("is", pair) for pair in pairs_of(token))
                if len(token) == 1:
                    out.append(("begins", token))
            else:
                out.append(({(0, 0): "is", (0, 1): "begins", (1, 0): "ends", (1, 1): "holds"}[(opens, runs_on)], token))
        return out


@dataclass(frozen=True, slots=True)
class Clause:
    """Terms of which one must stand in the entry; with `negated`, none may."""

    terms: tuple[Term, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """`name` is one of FIELDS. With `negated` what it says must not be so."""

    name: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, read. `unread`: pieces of it that hold nothing to look for."""

    text: str = ""
    clauses: tuple[Clause, ...] = ()
    filters: tuple[Filter, ...] = ()
    unread: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        """Whether there is anything to look for in entries."""
        return any(not clause.negated for clause in self.clauses) or any(
            one.name not in SESSION_FIELDS and not one.negated for one in self.filters
        )

    def of(self, name: str, *, negated: bool = False) -> list[str]:
        """The values of a field."""
        return [one.value for one in self.filters if one.name == name and one.negated is negated]

    @property
    def shown(self) -> tuple[Term, ...]:
        """The terms that are marked in what is found."""
        return tuple(term for clause in self.clauses if not clause.negated for term in clause.terms)


def asked(text: str, more: Iterable[tuple[str, str]] = ()) -> Asked:
    """Read a query. `more`: fields that were chosen beside it."""
    # The database holds no NUL, and no half of a surrogate pair.
    text = text[:LONGEST].replace("\x00", " ").encode("utf-8", "replace").decode()
    clauses: list[Clause] = []
    filters: list[Filter] = []
    unread: list[str] = []
    alternative = False
    for match in list(_ITEM.finditer(text))[:TERMS]:
        word = match["word"]
        if word == "OR" and match["minus"] is None and match["field"] is None:
            alternative = bool(clauses) and not clauses[-1].negated
            continue
        negated = match["minus"] is not None
        value = match["phrase"] if match["phrase"] is not None else word
        found = None if match["field"] is None else _filter(match["field"].lower(), value, negated=negated)
        if found is not None:
            filters.append(found)
            continue
        term = _term(match[0][negated:], phrase=match["phrase"] is not None)
        if term is None:
            unread.append(match[0])
        elif alternative and not negated:
            clauses[-1] = Clause((*clauses[-1].terms, term))
        else:
            clauses.append(Clause((term,), negated))
        alternative = False
    if not clauses and text.strip() == "OR":
        clauses.append(Clause((Term("OR", ("or",)),)))
    filters.extend(one for name, value in more if (one := _filter(name, value, negated=False)) is not None)
    return Asked(text.strip(), tuple(clauses), tuple(dict.fromkeys(filters)), tuple(unread))


def _filter(name: str, value: str, *, negated: bool) -> Filter | None:
    name = _SAME.get(name, name)
    value = value.strip()
    if name not in FIELDS or not value:
        return None
    if name == "role":
        value = _ROLES.get(value.lower(), "")
    elif name == "is":
        name, value = "role", "errors" if value.lower() in ("error", "errors") else ""
    elif name == "in":
        value = {"ghost": "ghosts", "mask": "masked", "version": "versions"}.get(value.lower(), value.lower())
        value = value if value in WHERE else ""
    elif name == "exit":
        failed = value.lower() in (FAILED, "error", "nonzero", "!0")
        value = FAILED if failed else str(int(value)) if _EXIT.fullmatch(value) else ""
    elif name in ("before", "after"):
        try:
            value = date.fromisoformat(value).isoformat()
        except ValueError:
            value = ""
    return Filter(name, value, negated) if value else None


def _term(text: str, *, phrase: bool) -> Term | None:
    opens = not phrase and text.startswith("*")
    runs_on = not phrase and text.endswith("*")
    tokens = tuple(token if is_ideographic(token) else whole(token) for token in tokens_of(text))
    return Term(text.strip("*"), tokens, opens, runs_on) if tokens else None
