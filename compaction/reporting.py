"""A report (the JSON of a preview, which a run keeps) as strip, sums, retention and files. Both pages draw the same parts from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from compaction import strips
from compaction.shown import File, Files, Given, Kept, Kind, Legend, Lost, Row, Strip
from compaction.strips import percent
from sessions.models import Entry, Session
from sessions.templatetags.palimpsest import n as number

FIRST_LOSSES = 7

_FATES = {
    strips.KEPT: gettext_lazy("kept"),
    strips.MASKED: gettext_lazy("masked"),
    strips.FOLDED: gettext_lazy("folded"),
    strips.PINNED: gettext_lazy("pinned"),
    strips.GHOST: gettext_lazy("already a ghost"),
}


def strip_of(session: Session, report: Mapping[str, Any], *, tall: bool = False) -> Strip:
    fates = [strips.NOT_SENT] * session.entries_count
    for first, last, fate in report["fates"]:
        fates[first : last + 1] = [fate] * (min(last + 1, len(fates)) - first)
    counts = report["counts"]
    given = (report["files"] or {}).get("given", [])
    again = [max(0, report["files_after"])] * (len(given) + len(report.get("given", ())))
    turns = _turns(session) if tall else []
    drawn = strips.strip(fates, turns=turns, again=again)
    order = (strips.KEPT, strips.MASKED, strips.FOLDED, strips.PINNED)
    legend = [Legend(fate, str(_FATES[fate]), counts.get(fate, 0)) for fate in order]
    legend.append(Legend("again", _("re-injected"), counts.get("re-injected", 0)))
    legend.append(Legend(strips.GHOST, str(_FATES[strips.GHOST]), counts.get(strips.GHOST, 0)))
    said = _("Of {all} entries: {list}").format(
        all=number(session.entries_count), list=", ".join(f"{row.words} {number(row.count)}" for row in legend)
    )
    return Strip(drawn, legend, said)


def _turns(session: Session) -> list[tuple[int, int]]:
    """Number and first entry of each turn of the main conversation."""
    opening = Entry.objects.filter(session=session, opens_turn=True, lane="", turn__isnull=False).order_by("seq")
    return [(turn or 0, seq) for turn, seq in opening.values_list("turn", "seq")]


def changes_of(report: Mapping[str, Any], base: str, becomes: str, *, lands: bool) -> list[Row]:
    tokens = report["tokens"]
    rows = [Row(base, tokens["before"])]
    for change in report["changes"]:
        count = None if change["what"] in ("summary", "memory", "plan", "goals", "project memory") else change["n"]
        rows.append(Row(_change(change["what"], change["n"]), change["tokens"], count, delta=True))
    if not report["changes"]:
        rows.append(Row(_("nothing changes"), None))
    if lands:
        rows.append(Row(becomes, tokens["after"], total=True))
    return rows


def _change(what: str, n: int) -> str:
    words = {
        "masked": ngettext("tool output masked", "tool outputs masked", n),
        "folded": ngettext("entry folded, readable as a ghost", "entries folded, readable as ghosts", n),
        "superseded": ngettext("earlier insertion replaced", "earlier insertions replaced", n),
        "summary": _("summary added"),
        "memory": _("session memory added"),
        "files": ngettext("file re-injected", "files re-injected", n),
        "skills": ngettext("skill re-injected", "skills re-injected", n),
        "plan": _("plan re-injected"),
        "goals": _("open goals re-injected"),
        "memory files": ngettext("memory file re-injected", "memory files re-injected", n),
        "project memory": _("project memory re-injected"),
        "other": ngettext("other insertion", "other insertions", n),
    }
    return words.get(what, what)


_ONE: dict[str, tuple[Any, str]] = {
    "instruction": (gettext_lazy("instruction"), "flag"),
    "message": (gettext_lazy("message"), "flag"),
    "edited": (gettext_lazy("file edited"), "file"),
    "read": (gettext_lazy("file read"), "file"),
    "error": (gettext_lazy("error"), "warning"),
    "failed": (gettext_lazy("failed command"), "warning"),
    "passed": (gettext_lazy("command"), "tick"),
    "todo": (gettext_lazy("open todo"), "pending"),
    "done": (gettext_lazy("todo done"), "completed"),
    "decision": (gettext_lazy("decision"), "flag"),
    "dropped": (gettext_lazy("dropped way"), "cancelled"),
    "last": (gettext_lazy("last event"), "kept"),
    "name": (gettext_lazy("identifier"), "kept"),
}
_GRAVE = frozenset({"error", "instruction", "todo"})


def retention_of(session: Session, report: Mapping[str, Any]) -> Kept | None:
    found = report["retention"]
    if found is None:
        return None
    rows = [_kind(kind) for kind in found["kinds"]]
    if found["names"] and found["future_use"] is not None:
        share = found["future_use"]
        missed = sum(loss["kind"] == "name" for loss in found["losses"])
        note = _("{kept} of {all} names stay").format(kept=number(found["names_kept"]), all=number(found["names"]))
        rows.append(Kind(_("names used later"), f"{share * 100:.0f} %", percent(share), share < 0.6, missed, note))
    losses = [_lost(loss) for loss in found["losses"]]
    _add_turns(session, losses)
    need = ""
    if found["future_use"] is not None:
        need = _("{share} of what will probably be needed again is kept.").format(
            share=f"{found['future_use'] * 100:.0f} %"
        )
    error = _("Predicted, ±{points} points; about {n} names of the part before will be used again.").format(
        points=round(found["future_use_error"] * 100), n=number(round(found["expected_names"]))
    )
    errors = [loss["seq"] for loss in found["losses"] if loss["kind"] == "error" and loss["seq"] is not None]
    return Kept(rows, losses[:FIRST_LOSSES], losses[FIRST_LOSSES:], found["losses_total"], need, error, errors)


def _kind(kind: Mapping[str, Any]) -> Kind:
    notes = []
    if kind["verbatim"] == kind["total"]:
        notes.append(_("all word for word"))
    if kind["part"]:
        notes.append(_("{n} in part").format(n=number(kind["part"])))
    if kind["pointer"]:
        notes.append(_("{n} by name only").format(n=number(kind["pointer"])))
    figure = f"{number(kind['verbatim'])} / {number(kind['total'])}"
    return Kind(_(kind["label"]), figure, percent(kind["share"]), kind["share"] < 0.6, kind["lost"], ", ".join(notes))


def _lost(loss: Mapping[str, Any]) -> Lost:
    words, glyph = _ONE.get(loss["kind"], (loss["kind"], "kept"))
    why = ""
    if loss.get("uses"):
        why = ngettext("used {n} time", "used {n} times", loss["uses"]).format(n=number(loss["uses"]))
    elif loss["state"] == "pointer":
        why = _("only its name is left")
    return Lost(str(words), glyph, loss["kind"] in _GRAVE, loss["text"], loss["seq"], why)


def _add_turns(session: Session, losses: Iterable[Lost]) -> None:
    wanted = {loss.seq for loss in losses if loss.seq is not None}
    turns = dict(Entry.objects.filter(session=session, seq__in=wanted).values_list("seq", "turn")) if wanted else {}
    for loss in losses:
        loss.turn = None if loss.seq is None else turns.get(loss.seq)


def files_of(session: Session, report: Mapping[str, Any], without: Sequence[str]) -> Files:
    found, used = report["files"], report["facts"].get("used", {})
    if found is None:
        return Files(rows=[File(path, path, 0, "", "", on=False) for path in without])
    limit, each = used.get("file_total", 0), used.get("file_each", 0)
    rows = []
    for one in found["given"]:
        note = ""
        if one["cut"]:
            note = _("cut, {n} in all").format(n=number(one["tokens"] + one["cut"]))
        elif one["known_lines"]:
            note = _("in part, as far as it was read")
        if one.get("disk"):
            note = "; ".join(filter(None, [_disk_words(one["disk"]), note]))
        rows.append(
            File(
                one["path"],
                _inside(one["path"], session),
                one["tokens"],
                note,
                percent(min(1.0, one["tokens"] / each)) if each else "",
            )
        )
    words = ngettext("{n} file, most recently used first", "{n} files, most recently used first", len(rows)).format(
        n=len(rows)
    )
    total = sum(row.tokens for row in rows)
    rows += [File(path, _inside(path, session), 0, "", "", on=False) for path in without]
    rule = _("at most {each} tokens each, {limit} in all").format(each=number(each), limit=number(limit))
    left = [(_inside(one["path"], session), one["reason"]) for one in found["left_out"]]
    return Files(rows, each, limit, total, rule, words, left)


_GIVEN = {
    "skill": gettext_lazy("Skill"),
    "plan": gettext_lazy("Plan"),
    "goals": gettext_lazy("Open goals"),
    "layer": gettext_lazy("Memory file"),
    "learned": gettext_lazy("Project memory"),
}


def given_of(report: Mapping[str, Any], session: Session) -> list[Given]:
    """What comes back beside the files."""
    return [
        Given(
            str(_GIVEN.get(one["kind"], one["kind"])),
            "" if one["kind"] in ("goals", "learned") else _inside(one["label"], session),
            one["tokens"],
            _("cut, {n} in all").format(n=number(one["tokens"] + one["cut"])) if one["cut"] else "",
        )
        for one in report.get("given", ())
    ]


def _disk_words(disk: Mapping[str, Any]) -> str:
    if disk["added"] is None:
        return _("from the disk, where it is newer")
    return _("from the disk, newer by +{added} −{removed} lines").format(
        added=number(disk["added"]), removed=number(disk["removed"])
    )


def _inside(path: str, session: Session) -> str:
    """A path from the session's folder, where it is inside."""
    root = (session.cwd or "").rstrip("/") + "/"
    return path.removeprefix(root) if len(root) > 1 else path
