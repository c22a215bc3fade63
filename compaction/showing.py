"""The pages of compaction as values: the preview with all its parts, a run's report, refusals, and the addresses of choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from compaction import forms
from compaction.accounts import dollars
from compaction.forms import Choosing
from compaction.gauging import gauge_of, meter_label
from compaction.hooks.consulting import hooks_of
from compaction.hooks.contract import POST, PRE
from compaction.models import Run
from compaction.plan import SummaryAnswer
from compaction.preview import LANDS, Preview
from compaction.reporting import changes_of, files_of, given_of, retention_of, strip_of
from compaction.runs import Previewed
from compaction.shown import Cost, Line, Page, Part, Refusal, Report, Summariser
from compaction.strategies import AGENTS
from compaction.strategies.base import Strategy
from compaction.summarisers.configured import lacking, models
from compaction.summary.template import NOTHING, TITLES, bullet
from compaction.telling import sentence
from sessions.gauge import window_of
from sessions.meters import by_id
from sessions.meters.tokens import counter
from sessions.models import Session
from sessions.templatetags.palimpsest import n as number
from sessions.versions import Refused

FIRST_WORDS = 140  # characters of a closed section that are shown

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
    out.strip = strip_of(session, report, tall=True)
    out.gauge = gauge_of(session, report)
    becomes = _("v{n}, if applied").format(n=out.next_version)
    out.changes = changes_of(report, _("{base}, the head").format(base=base.version), becomes, lands=shown.lands)
    out.retention = retention_of(session, report)
    out.sections, out.summary_tokens, draft = _sections(shown)
    out.edited = choosing.edited_summary is not None
    out.files = files_of(session, report, choosing.without)
    out.given = given_of(report, session)
    out.cost = _cost(shown)
    foretold = _foretold(shown)
    out.price = _("no model call") if foretold is None else price_words(foretold)
    out.by_model = "" if foretold is None else foretold["model"]
    out.checks = [
        {"words": _(check["label"]), "ok": check["ok"], "detail": check["detail"]} for check in report["checks"]
    ]
    # Files that do not come back stand with the files.
    out.warnings = [sentence(word) for word in report["warnings"] if not word.startswith("not brought back:")]
    out.used = report["facts"].get("used", {})
    out.said = _said(report, shown)
    out.hidden = [
        ("base_hash", base.content_hash),
        ("plan_digest", shown.digest),
        ("draft", "edited" if out.edited else draft),
        ("shown", draft),
        *choosing.pairs(),
    ]
    return out


def summarisers_for(choosing: Choosing) -> list[Summariser]:
    """Who may write the summary: the extractive one, and every model that can be asked."""
    rows = [Summariser("extractive", _("extractive, no model"), ready=True)]
    why = lacking()
    if why:
        rows.append(Summariser("llm", _("model: not configured"), ready=False))
        return rows
    named = choosing.model or ""
    for n, one in enumerate(models()):
        chosen = choosing.summariser == "llm" and (named in (one.name, one.model) or (not named and n == 0))
        rows.append(Summariser(f"llm:{one.name}", one.name, ready=True, chosen=chosen))
    return rows


def hooks_for(session: Session) -> list[str]:
    """The hooks that a run asked for by a person would ask, as "name, before" and "name, after"."""
    before = [hook.name for hook in hooks_of(session.workspace_id, event=PRE, trigger="manual")]
    after = [hook.name for hook in hooks_of(session.workspace_id, event=POST, trigger="manual")]
    return [_("{name}, before").format(name=name) for name in before] + [
        _("{name}, after").format(name=name) for name in after
    ]


def report_of(session: Session, run: Run) -> Report | None:
    """What the page of an ended run says of what it changed; None where it came to no plan."""
    report = run.report
    if not report or run.state in Run.LIVE:
        return None
    landed = run.version is not None
    after = str(run.version) if landed else _("what it would have become")
    kept = retention_of(session, report)
    same = _("as previewed: same plan, same summary")
    if run.model is not None and (report.get("summary") or {}).get("summariser") != "edited":
        same = _("as previewed: same plan; its summary was written for this run")
    lines = [Line(same)] if landed and run.plan_digest else []
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
    lines += [
        Line(f"{_(check['label'])}: {check['detail']}", bad=True) for check in report["checks"] if not check["ok"]
    ]
    return Report(
        changes=changes_of(report, str(run.base), after, lands=True) if report["changes"] else [],
        kept=lines,
        retention=kept,
        strip=strip_of(session, report),
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
        left=number(threshold - run.tokens_after), rule=window.rule.label, meter=meter_label(run.meter)
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
            "agents": one.id in AGENTS,
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
            "blank": _figure(used.get(one.param.name)),
            "source": "; ".join(part for part in (one.param.source, one.param.auto) if part),
        }
        for one in choosing.fields
    ]


def _figure(value: Any) -> str:
    """What a plan used for a parameter that was left open."""
    if value is None or isinstance(value, str):
        return value or _("auto")
    return number(value)


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
    if choosing.summariser != "extractive":
        pairs.append(("summariser", ":".join(part for part in (choosing.summariser, choosing.model) if part)))
        pairs += [
            (name, "yes")
            for name, on in (("critique", choosing.critique), ("or-extractive", choosing.extractive_allowed))
            if on
        ]
    if choosing.instructions:
        pairs.append(("instructions", choosing.instructions))
    pairs += [("pin", str(seq)) for seq in choosing.pins]
    pairs += [("without", path) for path in choosing.without]
    if choosing.held is not None:
        pairs.append(("held", str(choosing.held)))
    return urlencode(pairs)


def address_of_run(run: Run) -> str:
    """The choice of a run as a query of the compact page."""
    pairs = [("strategy", run.strategy.partition(":")[0])]
    for name, value in run.params.items():
        if value is not None:
            pairs.append((f"{forms.SET}{name}", ("yes" if value else "no") if isinstance(value, bool) else str(value)))
    if run.model is not None:
        pairs.append(("summariser", f"{run.summariser}:{run.model}"))
        choices = (("critique", run.critique), ("or-extractive", run.extractive_allowed))
        pairs += [(name, "yes") for name, on in choices if on]
    if run.instructions:
        pairs.append(("instructions", run.instructions))
    pairs += [("pin", str(seq)) for seq in run.pins]
    pairs += [("without", path) for path in run.without]
    if run.state in Run.DRAFTED and run.draft is not None:
        pairs.append(("held", str(run.pk)))
    return urlencode(pairs)


# ── refusals ───────────────────────────────────────────────────────────────────────────────────────────────────────


def refusal(refused: Refused, session: Session, choosing: Choosing, live: Run | None) -> Refusal:
    """A refusal in the four sentences of every error."""
    here = f"{reverse('compaction:compact', args=[session.pk])}?{address(choosing)}"
    unchanged = _("Nothing was written; the head is {head}, as it was.").format(head=session.current or _("empty"))
    if refused.code == "would_not_land":
        return bad_words(str(refused), session)
    if refused.code == "stale":
        return Refusal(
            _("Apply was refused: the head has moved"), str(refused), unchanged, ((here, _("Preview again")),)
        )
    if refused.code == "run_is_live":
        actions = () if live is None else ((reverse("compaction:run", args=[session.pk, live.pk]), _("See the run")),)
        return Refusal(_("Apply was refused: a run is going on"), str(refused), unchanged, actions)
    if refused.code == "broker_unreachable":
        return Refusal(_("Apply failed: no worker can be told"), str(refused), unchanged, ((here, _("Try again")),))
    if refused.code == "empty":
        return Refusal(_("There is nothing to compact"), str(refused), unchanged)
    return Refusal(_("This cannot be done"), str(refused), unchanged, ((here.partition("?")[0], _("Start over")),))


def bad_words(reason: str, session: Session) -> Refusal:
    """A person's words with which the run would not land."""
    unchanged = _("Nothing was written; the head is {head}. Your words are kept below.").format(head=session.current)
    return Refusal(_("Apply was refused: not with these words"), sentence(reason), unchanged)


def bad_figures(errors: Sequence[str]) -> Refusal:
    """Typed figures that cannot be: the preview waits for better ones."""
    return Refusal(
        _("No preview: a figure cannot be"),
        "; ".join(errors) + ".",
        _("Nothing was written. Correct it at the left, and the preview comes back."),
    )


# ── parts of the preview alone ─────────────────────────────────────────────────────────────────────────────────────


def _sections(shown: Preview) -> tuple[list[Part], int, str]:
    """The summary's sections, its tokens, and the digest that tells edited words from these."""
    answer = shown.summary
    if answer is None:
        return [], 0, ""
    by_title = {section.title: section for section in answer.sections}
    if answer.text and by_title.keys().isdisjoint(TITLES):
        return _whole(shown, answer)
    texts = [forms.section_text(by_title.get(title)) for title in TITLES]
    counts = counter(by_id(shown.meter))([*texts, answer.text])
    parts = []
    for n, (title, text, tokens) in enumerate(zip(TITLES, texts, counts, strict=False), 1):
        first = text.replace("\n", " ").replace(bullet(""), "", 1).removeprefix(NOTHING.removeprefix(bullet("")))
        rows = min(14, max(3, sum(1 + len(line) // 72 for line in text.split("\n"))))
        parts.append(Part(n, _(title), text, tokens, first[:FIRST_WORDS] or _("nothing recorded"), rows, open=n == 1))
    return parts, counts[-1], forms.draft_digest(texts)


def _whole(shown: Preview, answer: SummaryAnswer) -> tuple[list[Part], int, str]:
    """A summary of another form as one text. The list of files behind a model's is not for editing: it comes back by itself."""
    text = answer.text.removesuffix(answer.listed).strip() if answer.listed else answer.text.strip()
    tokens = counter(by_id(shown.meter))([answer.text])[0]
    rows = min(24, max(4, sum(1 + len(line) // 72 for line in text.split("\n"))))
    part = Part(0, _("The whole summary"), text, tokens, text.replace("\n", " ")[:FIRST_WORDS], rows, open=True)
    return [part], tokens, forms.draft_digest([text])


def _foretold(shown: Preview) -> dict[str, Any] | None:
    """What the model would take for all summaries of a plan; None where none would be asked."""
    found = [one.cost for one in shown.answers if isinstance(one, SummaryAnswer) and one.stands_in]
    if not found:
        return None
    money = [Decimal(cost["usd"]) for cost in found if cost["usd"] is not None]
    return {
        "model": found[0]["model"],
        "calls": sum(cost["calls"] for cost in found),
        "prompt": sum(cost["prompt"] for cost in found),
        "output": sum(cost["output"] for cost in found),
        "usd": sum(money, Decimal(0)) if len(money) == len(found) else None,
        "price": found[0]["price"],
        "record": found[0]["record"],
    }


def price_words(foretold: Mapping[str, Any]) -> str:
    """Say what a model would cost at most: "at most $0.012", or that nobody knows."""
    if foretold["usd"] is None:
        return _("price of {model} not known").format(model=foretold["model"])
    return _("at most {money}").format(money=dollars(foretold["usd"]))


def _cost(shown: Preview) -> list[Cost]:
    foretold = _foretold(shown)
    if foretold is None:
        who = _("Summary: written by you") if shown.summary is not None and shown.summary.summariser == "edited" else ""
        rows = [Cost(who or _("Summariser, extractive: no model is asked"), _("0 tokens"))]
    else:
        words = ngettext("{model}, predicted: {n} call", "{model}, predicted: {n} calls", foretold["calls"]).format(
            model=foretold["model"], n=number(foretold["calls"])
        )
        figure = _("{prompt} tokens in, at most {output} out").format(
            prompt=number(foretold["prompt"]), output=number(foretold["output"])
        )
        rows = [Cost(words, figure)]
        by = (
            _("What that costs, by {source}").format(source=foretold["price"])
            if foretold["price"]
            else _("What that costs")
        )
        rows.append(Cost(by, price_words(foretold)))
    if shown.lands:
        cached = _cached_prefix(shown)
        again = shown.tokens_after - cached
        rows.append(
            Cost(
                _("Cache: {cached} tokens of prefix stay cached").format(cached=number(cached))
                if cached
                else _("Cache: no message before the change stays cached"),
                _("{again} billed again once").format(again=number(again)),
            )
        )
        fewer = shown.tokens_before - shown.tokens_after
        rows.append(Cost(_("Each later request sends"), _("{n} tokens fewer").format(n=number(fewer)), total=True))
    return rows


def _cached_prefix(shown: Preview) -> int:
    """Tokens before the first place that changes: a provider's prompt cache still holds them."""
    changed = [*shown.plan.masks, *shown.plan.bodies, *(first for first, _stop in shown.plan.fold.spans)]
    if shown.summary is not None:
        changed.append(shown.plan.after + 1)
    if shown.given or (shown.files is not None and shown.files.files):
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
