"""What the pages show of a preview or a report: strip, bars, tables, losses, sections, each in the words a person reads.

Everything is read off the preview's JSON, which is also what a run keeps as its report, so that both pages say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from compaction import forms, strips
from compaction.forms import Choosing
from compaction.models import Run
from compaction.preview import LANDS, Preview
from compaction.runs import Previewed
from compaction.strategies.base import Strategy
from compaction.strips import percent
from compaction.summary.template import NOTHING, TITLES, bullet
from compaction.telling import sentence
from sessions.gauge import window_of
from sessions.meters import by_id
from sessions.meters.tokens import counter
from sessions.models import Entry, Session
from sessions.templatetags.palimpsest import n as number
from sessions.templatetags.palimpsest import percent as percentage
from sessions.versions import Refused
from sessions.windows import Name, Window

FIRST_LOSSES = 7
FIRST_WORDS = 140  # characters of a closed section that are shown


@dataclass(frozen=True, slots=True)
class Refusal:
    """What happened, why, what stayed unchanged, what to do: shown where it was asked."""

    title: str
    reason: str
    unchanged: str
    actions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    x: str
    value: int
    words: str
    signal: bool
    anchor: str
    dx: int
    y: int


@dataclass(frozen=True, slots=True)
class Bar:
    words: str
    tokens: int
    width: str
    fill: str


@dataclass(slots=True)
class Gauge:
    """Before and after on one scale. `words`: of what, by whose rule, by which meter. No bars where the window is not known."""

    words: str = ""
    bars: list[Bar] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    ticks_height: int = 0
    smaller: str = ""
    left: str = ""
    over: bool = False
    against: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a sum. `delta`: the figure is a difference."""

    words: str
    tokens: int | None
    count: int | None = None
    delta: bool = False
    total: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    words: str
    figure: str
    total: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact. `width`: the weighted share that is there, as SVG takes it; `low`: under three fifths."""

    words: str
    figure: str
    width: str
    low: bool
    lost: int
    note: str


@dataclass(slots=True)
class Lost:
    kind: str
    glyph: str
    grave: bool
    words: str
    seq: int | None
    why: str
    turn: int | None = None


@dataclass(slots=True)
class Kept:
    """The retention report. `lost`: the first, weightiest; `more`: the others that are listed; `lost_count`: all there are."""

    rows: list[Kind]
    lost: list[Lost]
    more: list[Lost]
    lost_count: int
    need: str
    need_error: str
    errors: list[int]

    @property
    def all_lost(self) -> list[Lost]:
        return self.lost + self.more


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the summary, to be read and edited."""

    n: int
    title: str
    text: str
    tokens: int
    first: str
    rows: int
    open: bool


@dataclass(frozen=True, slots=True)
class File:
    path: str
    shown: str
    tokens: int
    note: str
    width: str
    on: bool = True


@dataclass(slots=True)
class Files:
    rows: list[File] = field(default_factory=list)
    each: int = 0
    limit: int = 0
    total: int = 0
    rule: str = ""
    words: str = ""
    left_out: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Strip:
    """A strip with its words."""

    drawn: strips.Strip
    legend: list[Legend]
    said: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.drawn, name)


@dataclass(frozen=True, slots=True)
class Legend:
    fate: str
    words: str
    count: int


@dataclass(slots=True)
class Page:
    """All the compact page shows of a preview; without one (nothing can be planned) it says so and holds nothing."""

    entries: int
    next_version: int
    blocked: str = ""
    said: str = ""
    before: int | None = None
    after: int | None = None
    strip: Strip | None = None
    gauge: Gauge = field(default_factory=Gauge)
    changes: list[Row] = field(default_factory=list)
    retention: Kept | None = None
    sections: list[Part] = field(default_factory=list)
    summary_tokens: int = 0
    edited: bool = False
    files: Files = field(default_factory=Files)
    cost: list[Cost] = field(default_factory=list)
    price: str = ""
    checks: list[Mapping[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    hidden: list[tuple[str, str]] = field(default_factory=list)
    used: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    """What the page of a run shows of what it did."""

    changes: list[Row]
    kept: list[Line]
    retention: Kept | None
    strip: Strip


@dataclass(frozen=True, slots=True)
class Line:
    words: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Summariser:
    id: str
    label: Any
    ready: bool


SUMMARISERS = (
    Summariser("extractive", gettext_lazy("extractive, no model"), ready=True),
    Summariser("llm", gettext_lazy("model: not configured"), ready=False),
)


# ── pages ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def page(session: Session, choosing: Choosing, previewed: Previewed | None) -> Page:
    """The compact page's view of a preview."""
    newest = max(session.versions.values_list("n", flat=True), default=-1)
    out = Page(entries=session.entries_count, next_version=newest + 1)
    if previewed is None:
        out.blocked = _("There is no preview to apply.")
        return out
    shown = previewed.preview
    report = shown.to_json()
    base = previewed.base
    out.before, out.after = shown.tokens_before, shown.tokens_after if shown.lands else None
    out.blocked = "" if shown.lands else sentence(shown.reason) or _("Nothing would be done.")
    out.strip = _strip(session, report, tall=True)
    out.gauge = _gauge(session, report)
    becomes = _("v{n}, if applied").format(n=out.next_version)
    out.changes = _changes(report, _("{base}, the head").format(base=base.version), becomes, lands=shown.lands)
    out.retention = _retention(session, report)
    out.sections, out.summary_tokens, draft = _sections(shown)
    out.edited = choosing.edited_summary is not None
    out.files = _files(session, report, choosing.without)
    out.cost = _cost(shown)
    out.price = _("no model call")
    out.checks = [{"words": _(check["label"]), "ok": check["ok"], "detail": check["detail"]} for check in report["checks"]]
    # Files that do not come back stand with the files.
    out.warnings = [sentence(word) for word in report["warnings"] if not word.startswith("not brought back:")]
    out.used = report["facts"].get("used", {})
    out.said = _said(report, shown)
    out.hidden = [
        ("base_hash", base.content_hash),
        ("plan_digest", shown.digest),
        ("draft", "edited" if out.edited else draft),
        *choosing.pairs(),
    ]
    return out


def report_of(session: Session, run: Run) -> Report | None:
    """What the page of an ended run says of what it changed; None where it came to no plan."""
    report = run.report
    if not report or run.state in Run.LIVE:
        return None
    landed = run.version is not None
    after = str(run.version) if landed else _("what it would have become")
    kept = _retention(session, report)
    lines = [Line(_("as previewed: same plan, same summary"))] if landed and run.plan_digest else []
    if kept is not None:
        whole = [f"{row.words} {row.figure}" for row in kept.rows if not row.lost]
        lossy = [f"{row.words} {row.figure}" for row in kept.rows if row.lost]
        if whole:
            lines.append(Line(", ".join(whole)))
        if lossy:
            count = ngettext("{n} item lost", "{n} items lost", kept.lost_count).format(n=number(kept.lost_count))
            lines.append(Line(", ".join([*lossy, count]), bad=True))
    holds = [_(check["label"]) for check in report["checks"] if check["ok"]]
    if holds:
        lines.append(Line("; ".join(holds)))
    lines += [Line(f"{_(check['label'])}: {check['detail']}", bad=True) for check in report["checks"] if not check["ok"]]
    return Report(
        changes=_changes(report, str(run.base), after, lands=True) if report["changes"] else [],
        kept=lines,
        retention=kept,
        strip=_strip(session, report),
    )


def until_next(session: Session, run: Run) -> str:
    """How far the next compaction is after a run: "233,740 until the next compaction, by Claude Code's rule"; "" where unknown."""
    if not run.report or run.tokens_after is None or run.version is None:
        return ""
    threshold = run.report["tokens"].get("threshold")
    window = window_of(session)
    if threshold is None or window is None:
        return ""
    return _("{left} until the next compaction by the rule of {rule}, counted by {meter}.").format(
        left=number(threshold - run.tokens_after), rule=window.rule.label, meter=_meter(run.meter)
    )


def strategies_for(choosing: Choosing, known: Mapping[str, Strategy], recommended: str) -> list[dict[str, Any]]:
    """The strategies as the list shows them, the recommended first."""
    rows = [
        {
            "id": one.id,
            "label": one.label,
            "about": one.about,
            "chosen": one.id == choosing.strategy.id,
            "recommended": one.id == recommended,
        }
        for one in known.values()
    ]
    return sorted(rows, key=lambda row: not row["recommended"])


def params_for(choosing: Choosing, used: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameters with what stands in an empty field: the figure the plan used, or how it is found."""
    return [
        {
            "name": one.param.name,
            "label": one.param.label,
            "kind": one.param.kind,
            "choices": one.param.choices,
            "text": one.text,
            "on": one.on,
            "error": one.error,
            "blank": number(used[one.param.name]) if used.get(one.param.name) is not None else _("auto"),
            "source": "; ".join(part for part in (one.param.source, one.param.auto) if part),
        }
        for one in choosing.fields
    ]


def session_href(session: Session) -> str:
    try:
        return reverse("sessions:session", args=[session.pk])
    except NoReverseMatch:
        return f"/s/{session.pk}"


def address(choosing: Choosing) -> str:
    """The choice as a query, without what is as it would be anyway."""
    pairs = [("strategy", choosing.strategy.id)]
    if choosing.preset:
        pairs.append(("preset", choosing.preset))
    else:
        pairs += [(f"{forms.SET}{one.param.name}", one.text) for one in choosing.fields if one.text != ""]
    if choosing.instructions:
        pairs.append(("instructions", choosing.instructions))
    pairs += [("pin", str(seq)) for seq in choosing.pins]
    pairs += [("without", path) for path in choosing.without]
    return urlencode(pairs)


def address_of_run(run: Run) -> str:
    """The choice of a run as a query of the compact page."""
    pairs = [("strategy", run.strategy.partition(":")[0])]
    for name, value in run.params.items():
        if value is not None:
            pairs.append((f"{forms.SET}{name}", ("yes" if value else "no") if isinstance(value, bool) else str(value)))
    pairs += [("pin", str(seq)) for seq in run.pins]
    pairs += [("without", path) for path in run.without]
    return urlencode(pairs)


# ── refusals ───────────────────────────────────────────────────────────────────────────────────────────────────────


def refusal(refused: Refused, session: Session, live: Run | None) -> Refusal:
    """A refusal in the four sentences of every error."""
    here = reverse("compaction:compact", args=[session.pk])
    unchanged = _("Nothing was written; the head is {head}, as it was.").format(head=session.current or _("empty"))
    if refused.code == "stale":
        return Refusal(_("Apply was refused: the head has moved"), str(refused), unchanged, ((here, _("Preview again")),))
    if refused.code == "run_is_live":
        actions = () if live is None else ((reverse("compaction:run", args=[session.pk, live.pk]), _("See the run")),)
        return Refusal(_("Apply was refused: a run is going on"), str(refused), unchanged, actions)
    if refused.code == "broker_unreachable":
        return Refusal(_("Apply failed: no worker can be told"), str(refused), unchanged, ((here, _("Try again")),))
    if refused.code == "empty":
        return Refusal(_("There is nothing to compact"), str(refused), unchanged)
    return Refusal(_("This cannot be done"), str(refused), unchanged, ((here, _("Start over")),))


def bad_figures(errors: Sequence[str]) -> Refusal:
    """Typed figures that cannot be: the preview waits for better ones."""
    return Refusal(
        _("No preview: a figure cannot be"),
        "; ".join(errors) + ".",
        _("Nothing was written. Correct it at the left, and the preview comes back."),
    )


# ── parts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_FATES = {
    strips.KEPT: gettext_lazy("kept"),
    strips.MASKED: gettext_lazy("masked"),
    strips.FOLDED: gettext_lazy("folded"),
    strips.PINNED: gettext_lazy("pinned"),
    strips.GHOST: gettext_lazy("already a ghost"),
}


def _strip(session: Session, report: Mapping[str, Any], *, tall: bool = False) -> Strip:
    fates = [strips.NOT_SENT] * session.entries_count
    for first, last, fate in report["fates"]:
        fates[first : last + 1] = [fate] * (min(last + 1, len(fates)) - first)
    counts = report["counts"]
    given = (report["files"] or {}).get("given", [])
    again = [max(0, report["files_after"])] * len(given)
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


def _meter(meter: str) -> str:
    return by_id(meter).label


def _gauge(session: Session, report: Mapping[str, Any]) -> Gauge:
    tokens = report["tokens"]
    before, after, lands = tokens["before"], tokens["after"], report["lands"]
    window = window_of(session)
    total = tokens["window"] or (window.total if window is not None else None)
    threshold = tokens["threshold"] or (window.compaction if window is not None else None)
    meter = _meter(tokens["meter"])
    out = Gauge()
    if total is None:
        out.words = _("the window is not known; {meter} for both").format(meter=meter)
        scale = max(before, after, 1)
    else:
        out.words = _("of the total window, {total} · {meter} for both").format(total=number(total), meter=meter)
        scale = max(total, before, after)
        out.ticks = _ticks(window, threshold, total, scale)
        out.ticks_height = 18 * len({tick.y for tick in out.ticks})
    out.bars = [Bar(_("before"), before, percent(before / scale), "f-before")]
    if lands:
        out.bars.append(Bar(_("after"), after, percent(after / scale), "f-after"))
        if before:
            share = percentage(abs(before - after) / before)
            out.smaller = (_("{share} smaller.") if after < before else _("{share} larger.")).format(share=share)
    if threshold is not None:
        now = threshold - before
        if lands:
            out.left = _distance(threshold - after)
            out.over = after >= threshold
            out.against = ", " + (_("against {n} now.").format(n=number(now)) if now > 0 else _("against {n} over now.").format(n=number(-now)))
        else:
            out.left = _distance(now) + "."
            out.over = now <= 0
    return out


def _distance(left: int) -> str:
    if left <= 0:
        return _("{n} over the threshold of compaction").format(n=number(-left))
    return _("{n} until the next compaction").format(n=number(left))


def _ticks(window: Window | None, threshold: int | None, total: int, scale: int) -> list[Tick]:
    """The compaction threshold and the input limit (or what else blocks), each with whose it is; one under the other."""
    out: list[Tick] = []
    rule = window.rule.label if window is not None else ""
    if threshold is not None:
        share = threshold / scale
        left = share > 0.5
        out.append(Tick(percent(share), threshold, _("compaction, {rule}").format(rule=rule), True, "end" if left else "start", -4 if left else 4, 11))
    other = None
    if window is not None:
        other = window.at(Name.BLOCK) or window.at(Name.INPUT_LIMIT)
    if other is not None and other.tokens <= scale:
        share = other.tokens / scale
        words = _("hard block") if other.name is Name.BLOCK else _("input limit")
        # Where both words would lie left of their ticks, the second goes a line down.
        anchor = "start" if share < 0.7 else "end"
        y = 11 if out and out[0].anchor == "end" and anchor == "start" else 27
        out.append(Tick(percent(share), other.tokens, words, False, anchor, 4 if anchor == "start" else -4, y if out else 11))
    return out


def _changes(report: Mapping[str, Any], base: str, becomes: str, *, lands: bool) -> list[Row]:
    tokens = report["tokens"]
    words = {
        "masked": _("tool outputs masked"),
        "folded": _("entries folded, readable as ghosts"),
        "superseded": _("earlier insertions replaced"),
        "summary": _("summary added"),
        "files": _("files re-injected"),
        "other": _("other insertions"),
    }
    rows = [Row(base, tokens["before"])]
    for change in report["changes"]:
        count = None if change["what"] == "summary" else change["n"]
        rows.append(Row(words.get(change["what"], change["what"]), change["tokens"], count, delta=True))
    if not report["changes"]:
        rows.append(Row(_("nothing changes"), None))
    if lands:
        rows.append(Row(becomes, tokens["after"], total=True))
    return rows


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


def _retention(session: Session, report: Mapping[str, Any]) -> Kept | None:
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
        need = _("{share} of what will probably be needed again is kept.").format(share=f"{found['future_use'] * 100:.0f} %")
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
        loss.turn = turns.get(loss.seq)


def _sections(shown: Preview) -> tuple[list[Part], int, str]:
    """The summary's sections, its tokens, and the digest that tells edited words from these."""
    answer = shown.summary
    if answer is None:
        return [], 0, ""
    by_title = {section.title: section for section in answer.sections}
    texts = [forms.section_text(by_title.get(title)) for title in TITLES]
    counts = counter(by_id(shown.meter))([*texts, answer.text])
    parts = []
    for n, (title, text, tokens) in enumerate(zip(TITLES, texts, counts, strict=False), 1):
        first = text.replace("\n", " ").replace(bullet(""), "", 1).removeprefix(NOTHING.removeprefix(bullet("")))
        rows = min(14, max(3, sum(1 + len(line) // 72 for line in text.split("\n"))))
        parts.append(Part(n, _(title), text, tokens, first[:FIRST_WORDS] or _("nothing recorded"), rows, open=n == 1))
    return parts, counts[-1], forms.draft_digest(texts)


def _files(session: Session, report: Mapping[str, Any], without: Sequence[str]) -> Files:
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
        rows.append(File(one["path"], _inside(one["path"], session), one["tokens"], note, percent(min(1.0, one["tokens"] / each)) if each else ""))
    words = ngettext("{n} file, most recently used first", "{n} files, most recently used first", len(rows)).format(n=len(rows))
    total = sum(row.tokens for row in rows)
    rows += [File(path, _inside(path, session), 0, "", "", on=False) for path in without]
    rule = _("at most {each} tokens each, {limit} in all").format(each=number(each), limit=number(limit))
    left = [(_inside(one["path"], session), one["reason"]) for one in found["left_out"]]
    return Files(rows, each, limit, total, rule, words, left)


def _inside(path: str, session: Session) -> str:
    """A path from the session's folder, where it is inside."""
    root = (session.cwd or "").rstrip("/") + "/"
    return path.removeprefix(root) if len(root) > 1 else path


def _cost(shown: Preview) -> list[Cost]:
    rows = [Cost(_("Summariser, extractive: no model is asked"), _("0 tokens"))]
    if shown.lands:
        cached = _cached_prefix(shown)
        again = shown.tokens_after - cached
        rows.append(
            Cost(
                _("Cache: {cached} tokens of prefix stay cached").format(cached=number(cached)),
                _("{again} billed again once").format(again=number(again)),
            )
        )
        fewer = shown.tokens_before - shown.tokens_after
        rows.append(Cost(_("Each later request sends"), _("{n} tokens fewer").format(n=number(fewer)), total=True))
    return rows


def _cached_prefix(shown: Preview) -> int:
    """Tokens before the first place that changes: a provider's prompt cache still holds them."""
    changed = [*shown.plan.masks, *(first for first, _stop in shown.plan.fold.spans)]
    if shown.summary is not None:
        changed.append(shown.plan.after + 1)
    if shown.files is not None and shown.files.files:
        changed.append(shown.plan.files_after + 1)
    first = min(changed, default=0)
    total = 0
    for item, tokens in zip(shown.items, shown.tokens, strict=True):
        place = item.seq if item.seq is not None else (item.after if item.after is not None else -1)
        if place >= first or (item.inserted and place + 1 >= first):
            break
        total += tokens
    return total


def _said(report: Mapping[str, Any], shown: Preview) -> str:
    if shown.status not in LANDS:
        return _("Previewed. Nothing would be done: {reason}").format(reason=shown.reason or shown.status.value)
    losses = (report["retention"] or {}).get("losses_total", 0)
    return _("Previewed: {before} to {after} tokens, {losses} items lost.").format(
        before=number(shown.tokens_before), after=number(shown.tokens_after), losses=number(losses)
    )
