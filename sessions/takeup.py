"""A goal that was given up, put into words for whoever takes it up again: what it was, why it was given up, what was tried and learned.

The words go to the strategy `handoff` as the goal of the new session, on one line: they stand behind the extract in what the agent is sent.
Everything in them is quoted from the session.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from sessions.goal_answers import Row, abandonment_row
from sessions.reasons import short
from sessions.tried import Tried

LONGEST = 1_800  # characters: it travels in an address
_ATTEMPTS, _ERRORS, _FILES = 4, 4, 8


def words_of(tried: Tried) -> str:
    """The goal of a new session that takes it up again."""
    row = tried.row
    said = [_("Take up again: %(goal)s.") % {"goal": row.text.rstrip(".")}]
    why = row.reason or row.why_found
    said.append(_("It was given up before: %(why)s") % {"why": _ended(why)})
    attempts = [" → ".join(part for part in (one.said, one.ended) if part) for one in tried.attempts]
    attempts = [words for words in attempts if words][-_ATTEMPTS:]
    if attempts:
        said.append(_("What was tried: %(attempts)s") % {"attempts": _ended("; ".join(short(one) for one in attempts))})
    errors = list(dict.fromkeys(one.line for one in tried.errors if one.line))[-_ERRORS:]
    if errors:
        said.append(_("Errors met: %(errors)s") % {"errors": _ended("; ".join(errors))})
    if row.files:
        named = ", ".join(map(str, row.files[:_FILES]))
        said.append(_("Files of that work: %(files)s.") % {"files": named})
    comment = next((one.comment for one in tried.history if one.comment), "")
    if comment:
        said.append(_("A reviewer adds: %(comment)s") % {"comment": _ended(comment)})
    said.append(_("Do not repeat what failed; say first what is different this time."))
    text = " ".join(" ".join(said).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rsplit(" ", 1)[0] + "…"


def _ended(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…", "。")) else f"{text}."


def tried_row(tried: Tried) -> Row:
    """A goal that was given up, laid open, for programs."""
    return {
        **abandonment_row(tried.row),
        "attempt": [
            {
                "first_seq": one.first,
                "last_seq": one.last,
                "entries": one.entries,
                "steps": one.steps,
                "tokens": one.tokens,
                "said": one.said,
                "ended": one.ended,
                "failed": one.failed,
            }
            for one in tried.attempts
        ],
        "failures": [{"seq": one.seq, "tool": one.tool, "line": one.line} for one in tried.errors],
        "folded_entries": sum(one.entries for one in tried.ghosts),
        "folded_tokens": sum(one.tokens for one in tried.ghosts),
        "elsewhere": [one.pk for one in tried.elsewhere],
        "together_by": tried.together_by,
        "take_up": words_of(tried),
    }
