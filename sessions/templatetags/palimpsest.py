"""How pages write numbers, times and glyphs: thousands with a comma, minus as −, unknown as –, never a bare 0 for what is not known."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Any

from django import template
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from sessions.ansi import plain
from sessions.ansi import visible as written_out
from sessions.ghosts import Band, Maker
from sessions.saying import said as in_words

LIVE = timedelta(minutes=2)  # since the last step: a session younger than this is running

register = template.Library()

UNKNOWN = "–"


@register.simple_tag
def glyph_href(name: str) -> str:
    """The address of a glyph for `<use>`: all of them are one file, so that no page carries them."""
    return f"{static('img/glyphs.svg')}#{name}"


@register.simple_tag
def glyph(name: str, label: str = "", extra: str = "") -> SafeString:
    """One glyph of the sprite. Without a label it is decoration; with one it is read out."""
    if label:
        return format_html(
            '<svg class="glyph g-{} {}" role="img" aria-label="{}"><use href="{}"></use></svg>',
            name,
            extra,
            label,
            glyph_href(name),
        )
    return format_html(
        '<svg class="glyph g-{} {}" aria-hidden="true"><use href="{}"></use></svg>', name, extra, glyph_href(name)
    )


@register.simple_tag(takes_context=True)
def nav_link(context: template.Context, name: str, words: str, *also: str) -> SafeString:
    """A link of the top bar; nothing where the page does not exist. `also`: names of pages that stand under it."""
    try:
        href = reverse(name)
    except NoReverseMatch:
        return SafeString("")
    match = getattr(context.get("request"), "resolver_match", None)
    here = match is not None and match.view_name in (name, *also)
    return format_html('<a href="{}"{}>{}</a>', href, SafeString(' aria-current="page"' if here else ""), words)


@register.simple_tag
def href(*names_and_args: Any, **kwargs: Any) -> str:
    """The address of a page that may not exist; "" then. For links from one room to another."""
    name, *args = names_and_args
    try:
        return reverse(name, args=args or None, kwargs=kwargs or None)
    except NoReverseMatch:
        return ""


@register.filter
def n(value: Any) -> str:
    """An integer: 1,204 · −38 · – where it is not known."""
    if value is None or value == "":
        return UNKNOWN
    return f"{int(value):,}".replace("-", "−")


# Given to `noun` in templates, where a translator's tools do not look.
_NOUNS = (
    gettext_noop("entry"), gettext_noop("entries"), gettext_noop("item"), gettext_noop("items"), gettext_noop("token"),
    gettext_noop("tokens"), gettext_noop("o200k token"), gettext_noop("o200k tokens"),
)  # fmt: skip


@register.filter
def noun(count: Any, forms: str) -> str:
    """The form of a noun that goes with a count, of "entry,entries": the first for 1, the other for all else and for what is not known."""
    one, _comma, many = forms.partition(",")
    return _(one if count == 1 else many)


@register.filter
def signed(value: Any) -> str:
    """A difference: +1,204 · −38 · 0."""
    if value is None or value == "":
        return UNKNOWN
    return f"{int(value):+,}".replace("-", "−") if value else "0"


@register.filter
def thousands(value: Any) -> str:
    """A rounded figure for an axis: 350k · 1.2M."""
    if value is None or value == "":
        return UNKNOWN
    number = float(value)
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if abs(number) >= size:
            return f"{number / size:.1f}".rstrip("0").rstrip(".").replace("-", "−") + unit
    return f"{number:.0f}".replace("-", "−")


@register.filter
def percent(value: Any) -> str:
    """A share between 0 and 1: 62.1 %."""
    if value is None or value == "":
        return UNKNOWN
    return f"{float(value) * 100:.1f} %".replace("-", "−")


@register.filter
def dollars(value: Any) -> str:
    """US dollars: $18.42 · $0.0714 below ten cents · — where no price is known."""
    if value is None or value == "":
        return "—"
    amount = float(value)
    return f"${amount:,.4f}" if 0 < abs(amount) < 0.1 else f"${amount:,.2f}"


@register.filter
def size(value: Any) -> str:
    """Bytes: 5,968 bytes · 1.2 MB."""
    if value is None or value == "":
        return UNKNOWN
    count = int(value)
    if count < 100_000:
        return ngettext("{count} byte", "{count} bytes", count).format(count=f"{count:,}")
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale:
            return f"{count / scale:,.1f} {unit}"
    return str(count)


@register.filter
def span(value: timedelta | float | None) -> str:
    """A length of time: 7 h 12 min · 24 s · 3 d 2 h."""
    if value is None:
        return UNKNOWN
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds < 0:
        return UNKNOWN
    if seconds < 10:
        return _("{n} s").format(n=f"{seconds:.1f}")
    whole = round(seconds)
    if whole < 60:
        return _("{n} s").format(n=whole)
    minutes = whole // 60
    if minutes < 60:
        return _("{n} min").format(n=minutes)
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return _("{h} h {m} min").format(h=hours, m=f"{minutes:02d}") if minutes else _("{n} h").format(n=hours)
    days, hours = divmod(hours, 24)
    return _("{d} d {h} h").format(d=days, h=hours) if hours else _("{n} d").format(n=days)


@register.filter
def when(value: datetime | None) -> str:
    """When something was, seen from today: 16:24 · yesterday · Fri 11 Sep · 11 Sep 2025."""
    if value is None:
        return UNKNOWN
    local = timezone.localtime(value)
    today = timezone.localdate()
    day = local.date()
    if day == today:
        return f"{local:%H:%M}"
    if day == today - timedelta(days=1):
        return _("yesterday")
    if today - timedelta(days=7) < day < today:
        return f"{local:%a} {day.day} {local:%b}"
    return day_of(day, today)


@register.filter
def moment(value: datetime | None) -> str:
    """A day and a time: 14 Sep 2026, 09:12."""
    if value is None:
        return UNKNOWN
    local = timezone.localtime(value)
    return f"{local.day} {local:%b %Y, %H:%M}"


@register.filter
def clock(value: datetime | None) -> str:
    """A time of day: 15:47."""
    return UNKNOWN if value is None else f"{timezone.localtime(value):%H:%M}"


@register.filter
def clock_exact(value: datetime | None) -> str:
    """A time of day to the second: 15:49:31."""
    return UNKNOWN if value is None else f"{timezone.localtime(value):%H:%M:%S}"


@register.filter
def visible(value: Any) -> str:
    """A name out of a session on one line: no control characters, reordering ones written out. Escaped by the template as ever."""
    return written_out(plain(str(value or ""))).replace("\n", " ")


@register.filter
def under(value: str, folder: str | None) -> str:
    """A path inside the session's folder as seen from there; all else as it is."""
    root = f"{folder.rstrip('/')}/" if folder else ""
    return value.removeprefix(root) if len(root) > 1 else value


@register.filter
def live(value: datetime | None) -> bool:
    """Whether a session with its last step then is running."""
    return value is not None and timezone.now() - value < LIVE


@register.filter
def release(value: str) -> str:
    """An agent's version as a tag shows it: 2.1 of 2.1.332."""
    return visible(".".join(value.split(".")[:2])[:24])


@register.filter
def inequality(reason: str) -> str:
    """The two numbers of a forecast's reason, without the rule in brackets."""
    return reason.partition(" (")[0]


@register.filter
def said(value: Any) -> str:
    """Words of the pure core in the page's language; what nobody translated (a strategy from elsewhere) stays as it is."""
    return "" if value is None else in_words(str(value))


@register.filter
def words(value: str) -> str:
    """An id of ours as words, in the page's language: in_progress becomes "in progress"."""
    return said(value.replace("_", " "))


@register.filter
def minus(value: int, other: int | None) -> int:
    return value - (other or 0)


@register.filter
def plus(value: int, other: int | None) -> int:
    return value + (other or 0)


@register.filter
def rest(share: float) -> float:
    """What a share of a bar leaves of it, in per cent."""
    return round(100 - share, 1)


@register.filter
def visible_lines(value: Any) -> str:
    """As `visible`, with its lines kept."""
    return written_out(plain(str(value or "")))


@register.filter
def band_words(maker: Maker, band: Band) -> str:
    """What became of a band's entries: "Folded by compaction 2"."""
    if band.fold is not None and maker.kind == "microcompaction":
        return _("Cleared")
    match band.nature:
        case "folded":
            return _("Folded by compaction %(n)s") % {"n": band.fold}
        case "rolled back":
            return _("Rolled back")
        case "branch":
            return _("Branch not taken")
        case _:
            return _("No longer sent")


_FIGURES = re.compile(r" \([\d,]+ tokens (?:before|saved)\)|,? ?[\d,]+ tokens (?:before|saved)(?=\))")


@register.filter
def brief(label: str) -> str:
    """A version's label in the page's language, without the figures that stand beside it anyway."""
    return in_words(_FIGURES.sub("", label))


_INSERTED = {
    "summary": gettext_noop("Summary"),
    "file": gettext_noop("Re-injected"),
    "skill": gettext_noop("Skill, re-injected"),
    "plan": gettext_noop("Plan"),
    "goals": gettext_noop("Open goals"),
    "memory": gettext_noop("Memory"),
    "notice": gettext_noop("Notice"),
    "message": gettext_noop("Message of the new history"),
}


@register.filter
def unsaid(label: str, kind: str) -> str:
    """A label without the kind that stands before it already."""
    head, _comma, more = label.partition(", ")
    return more if head.casefold() == kind and more else "" if label.casefold() == kind else label


@register.filter
def insertion_words(kind: str) -> str:
    return _(_INSERTED.get(kind, kind))


@register.simple_tag
def get(mapping: Any, key: Any) -> Any:
    """The value of a key that stands in a variable; "" where there is none."""
    return (mapping or {}).get(key, "")


@register.filter
def negated(value: int) -> int:
    return -value


@register.filter
def iso(value: datetime | None) -> str:
    """For the datetime attribute of <time>."""
    return "" if value is None else value.isoformat()


def day_of(day: date, today: date) -> str:
    return f"{day.day} {day:%b}" if day.year == today.year else f"{day.day} {day:%b %Y}"
