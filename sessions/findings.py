"""What fills a context, how two contexts differ, and the memory a session carries: as JSON, once, for commands, API and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.db.models.functions import Left

from sessions.answers import Row, ranges_of, time_of
from sessions.calls import call_of
from sessions.differences import SIGNS, Block, Body, Difference, difference
from sessions.gauge import gauge
from sessions.kinds import WORDS, Amount, Big, Fill, Filling, filling
from sessions.layers import layers
from sessions.memory import SCOPE_WORDS, Layer, Load, Scope
from sessions.models import Entry, Insertion, Session
from sessions.moments import METER, Moment, moment_of, rows_of, shown_by_either, side_of
from sessions.packing import unpack
from sessions.versions import Refused

BIGGEST = 50
BLOCKS = 80
MOST = 500
WORDS_SHOWN = 200  # characters of an entry's words in a list
NEAR = 24  # entries in front of a result among which its call is looked for
CALL_SHOWN = 2_000  # characters of a call's arguments that are looked into for the one that says most


def fills_of(session: Session, moment: Moment, *, after: str | None = None, n: int = BIGGEST) -> Row:
    """What fills the context of a moment: by kind, tool results by tool, the biggest entries. Refused for a cursor of no page."""
    return fills_row(session, moment, filled(session, moment, after=after, n=n))


def filled(session: Session, moment: Moment, *, after: str | None = None, n: int = BIGGEST) -> Filling:
    try:
        return filling(rows_of(session, moment), METER, count=max(1, min(n, MOST)), after=after or None)
    except ValueError as error:
        raise Refused("usage", "This cursor is none of ours; start again without one.") from error


def fills_row(session: Session, moment: Moment, found: Filling) -> Row:
    said = words_of(session, moment, found.biggest)
    return {
        "session": str(session.pk),
        "agent": session.agent,
        **moment_row(moment),
        "meter": METER.id,
        "counts": METER.counts,
        "tokens": found.tokens,
        "items": found.entries,
        "recorded": _recorded(session, moment),
        "by_kind": [_amount(one, WORDS[Fill(one.name)]) for one in found.by_kind],
        "tool_results": [_amount(one, one.name or "call not in the context") for one in found.by_tool],
        "biggest": [
            {
                "key": big.row.key,
                "seq": big.row.seq,
                "after": big.row.after,
                "position": big.row.position if big.row.seq is None else None,
                "kind": big.fill.value,
                "tool": big.tool,
                "tokens": big.tokens,
                "share": _share(big.tokens, found.tokens),
                "masked": big.row.masked,
                "words": said.get(big.row.key, ""),
            }
            for big in found.biggest
        ],
        "next": found.next,
    }


def moment_row(moment: Moment) -> Row:
    return {"version": moment.n, "step": moment.step, "until_seq": moment.until}


def _recorded(session: Session, moment: Moment) -> Row | None:
    """What the agent wrote down of the same context, in its own count: system prompt and tool schemas included."""
    if moment.step is not None:
        step = session.steps.filter(n=moment.step).first()
        if step is None or step.prompt is None:
            return None
        return {"tokens": step.prompt, "whose": f"recorded at step {step.n}: its prompt"}
    used = gauge(session, moment.version).used
    return None if used.recorded is None else {"tokens": used.recorded, "whose": used.whose}


def _amount(one: Amount, label: str) -> Row:
    return {
        "kind": one.name,
        "label": label,
        "tokens": one.tokens,
        "entries": one.entries,
        "share": round(one.share, 6),
    }


def _share(tokens: int, whole: int) -> float:
    return round(tokens / whole, 6) if whole else 0.0


@dataclass(frozen=True, slots=True)
class Said:
    """An entry in a list: what it is called, and on one line what says most of it."""

    name: str
    words: str


def words_of(session: Session, moment: Moment, biggest: Sequence[Big]) -> dict[str, str]:
    """By key the first words of each: of a call its main argument, of a result its call's, else its own beginning."""
    said = said_of(
        session,
        [big.row.seq for big in biggest if big.row.seq is not None],
        {big.row.seq: big.call for big in biggest if big.row.seq is not None and big.call is not None},
    )
    out = {big.row.key: said[big.row.seq].words for big in biggest if big.row.seq in said}
    added = {big.row.position: big.row.key for big in biggest if big.row.seq is None}
    out.update({added[position]: text for position, text in put_in(moment, added).items()})
    return out


def said_of(session: Session, seqs: Iterable[int], asked: Mapping[int, int] | None = None) -> dict[int, Said]:
    """What entries are, in a list. `asked`: of results whose call is known already, the entry of the call.

    Two queries by key: the entries, and the calls of those that are results.
    """
    calls = dict(asked or {})
    rows = _beginnings(session, {*seqs, *calls.values()})
    out: dict[int, Said] = {}
    open_results = {
        seq: row for seq, row in rows.items() if row[0] == "tool_result" and seq not in calls and row[2] is not None
    }
    if open_results:
        near = {at for seq in open_results for at in range(max(0, seq - NEAR), seq)} - rows.keys()
        for seq, row in {**rows, **_beginnings(session, near, kind="tool_call")}.items():
            if row[0] == "tool_call":
                found = dict.fromkeys(row[2] or (), seq)
                calls.update(
                    {
                        result: found[call]
                        for result, one in open_results.items()
                        for call in one[2] or ()
                        if call in found
                    }
                )
                rows.setdefault(seq, row)
    for seq, (kind, tool, _calls, beginning) in rows.items():
        if kind == "tool_call":
            out[seq] = _call(tool, beginning)
        elif kind == "tool_result" and seq in calls and calls[seq] in rows:
            out[seq] = _call(*rows[calls[seq]][1::2])
        else:
            out[seq] = Said(kind.replace("_", " "), _line(beginning))
    return out


def _call(tool: str | None, beginning: str) -> Said:
    call = call_of(tool, beginning)
    return Said(call.name, _line(call.argument or beginning))


type _Beginning = tuple[str, str | None, list[str] | None, str]


def _beginnings(session: Session, seqs: Iterable[int], **more: Any) -> dict[int, _Beginning]:
    rows = (
        Entry.objects.filter(session=session, seq__in=list(seqs), **more)
        .annotate(beginning=Left(F("text"), CALL_SHOWN))
        .values_list("seq", "kind", "tool", "call_ids", "beginning")
    )
    return {seq: (kind, tool, calls, beginning) for seq, kind, tool, calls, beginning in rows}


def put_in(moment: Moment, positions: Iterable[int | None]) -> dict[int, str]:
    """By position, the first words of a version's insertions and replacements."""
    wanted = [position for position in positions if position is not None]
    if moment.version is None or not wanted:
        return {}
    rows = Insertion.objects.filter(version=moment.version, position__in=wanted).values_list("position", "parts")
    return {position: _line("\n".join(part.text for part in unpack(parts) if part.text)) for position, parts in rows}


def _line(text: str) -> str:
    line = " ".join(text[: WORDS_SHOWN * 4].split())
    return line if len(line) <= WORDS_SHOWN else line[: WORDS_SHOWN - 1] + "…"


# -- the difference of two moments ------------------------------------------------------------------------------------


def diff_of(session: Session, left: str, right: str, *, after: int = 0, n: int | None = None) -> Row:
    """How the context of `right` differs from that of `left`; both as `moment_of` reads them. Refused where there is none of it."""
    one, other = moment_of(session, left), moment_of(session, right)
    found = compared(session, one, other, after=after, n=n)
    entries, bodies = said_by(session, one, other, found.blocks)
    return {
        "session": str(session.pk),
        "agent": session.agent,
        "meter": METER.id,
        "left": {
            "name": one.name,
            **moment_row(one),
            "tokens": found.left_tokens,
            "items": found.left_items,
        },
        "right": {
            "name": other.name,
            **moment_row(other),
            "tokens": found.right_tokens,
            "items": found.right_items,
        },
        "differences": found.differences,
        "changes": {
            change.value: {"items": count, "tokens": found.change[change]} for change, count in found.counts.items()
        },
        "blocks": [_block(block, entries, bodies) for block in found.blocks],
        "next": found.next,
    }


def compared(session: Session, left: Moment, right: Moment, *, after: int = 0, n: int | None = None) -> Difference:
    return difference(
        shown_by_either(session, left, right), side_of(left), side_of(right), after=max(0, after), count=n
    )


def said_by(
    session: Session, left: Moment, right: Moment, shown: Sequence[Block]
) -> tuple[dict[int, Said], dict[tuple[str, int], str]]:
    """What blocks of one entry are, by entry; and the first words of bodies, by ("left", position) and ("right", position)."""
    entries = said_of(session, [block.first for block in shown if not block.inserts and block.count == 1])
    bodies: dict[tuple[str, int], str] = {}
    for side, moment in (("left", left), ("right", right)):
        given = [block.before if side == "left" else block.body for block in shown]
        wanted = [body.position for body in given if body is not None]
        bodies.update({(side, position): text for position, text in put_in(moment, wanted).items()})
    return entries, bodies


def _block(block: Block, entries: Mapping[int, Said], said: Mapping[tuple[str, int], str]) -> Row:
    about = entries.get(block.first) if not block.inserts and block.count == 1 else None
    return {
        "n": block.n,
        "change": block.change.value,
        "sign": SIGNS[block.change],
        "first": block.first,
        "last": block.last,
        "items": block.count,
        "kinds": dict(block.kinds),
        "left": block.left,
        "right": block.right,
        "name": "" if about is None else about.name,
        "words": "" if about is None else about.words,
        "was": _body(block.before, said, "left"),
        "is": _body(block.body, said, "right"),
    }


def _body(body: Body | None, said: Mapping[tuple[str, int], str], side: str) -> Row | None:
    if body is None:
        return None
    return {
        "position": body.position,
        "kind": body.kind,
        "label": body.label,
        "tokens": body.tokens,
        "stands_for": ranges_of(body.stands_for),
        "words": said.get((side, body.position), ""),
    }


# -- layers of memory -------------------------------------------------------------------------------------------------

NOT_RECORDED: Mapping[str, str] = {
    "claude-code": "Claude Code puts the CLAUDE.md of the person and of the project in front of every request and does not write them "
    "to its session file; here stand those that came in later, and any that its records hold.",
    "gemini-cli": "Gemini CLI sends its global GEMINI.md with the system instruction, which its session file does not hold; here stand "
    "those that its records hold.",
    "opencode": "OpenCode sends the AGENTS.md of the person and of the project with the system prompt, which its store does not hold; "
    "here stand those that its tools appended.",
}  # fmt: skip


def memory_of(session: Session, moment: Moment) -> Row:
    """The memory files a session carried up to a moment: when each came in, what it weighs, whether it is in the context then."""
    found = layers(session, moment)
    return {
        "session": str(session.pk),
        "agent": session.agent,
        **moment_row(moment),
        "meter": METER.id,
        "tokens": sum(layer.tokens for layer in found if layer.scope is not Scope.BASE),
        "note": NOT_RECORDED.get(session.agent, ""),
        "layers": [layer_row(layer) for layer in found],
    }


def layer_row(layer: Layer) -> Row:
    return {
        "scope": layer.scope.value,
        "scope_words": SCOPE_WORDS[layer.scope],
        "path": layer.path,
        "in_context": layer.in_context,
        "tokens": layer.tokens,
        "loads": [_load(load) for load in layer.loads],
    }


def _load(load: Load) -> Row:
    return {
        "seq": load.seq,
        "after": load.after,
        "position": load.position,
        "turn": load.turn,
        "step": load.step,
        "at": time_of(load.at),
        "how": load.found.how,
        "tokens": load.tokens,
        "in_context": load.in_context,
        "why_not": load.why_not,
        "changed": load.changed,
        "words": _line(load.found.text),
    }
