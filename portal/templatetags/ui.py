"""The visual vocabulary as tags: icons, states, times, bars; what a template draws often and must draw one way."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from functools import cache, lru_cache
from html import escape
from typing import Any

from django import template
from django.db.models import Choices
from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, Select
from django.template import Context
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext, pgettext
from django.utils.translation import gettext as _

from accounts.models import TokenScope

register = template.Library()


@register.simple_tag
def icon(name: str, label: object = "", css: str = "") -> SafeString:
    """An icon of the sprite: hidden from screen readers unless it has a label of its own."""
    if not label:
        return _plain_icon(name, css)
    href, classes = f"{_sprite()}#{name}", f"icon {css}".strip()
    return format_html('<svg class="{}" role="img" aria-label="{}"><use href="{}"/></svg>', classes, label, href)


@cache
def _sprite() -> str:
    """Its address does not change while the process runs."""
    return static("icons.svg")


@lru_cache(1000)
def _plain_icon(name: str, css: str) -> SafeString:
    """Drawn a hundred times on a page."""
    classes = f"icon {css}".strip()
    return format_html('<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>', classes, _sprite(), name)


@register.simple_tag
def state(view: Any, size: str = "") -> SafeString:
    """A job's state: icon, word and colour. `view` has label, icon and css; size "lg" for the head of a page."""
    return _state(f"{view.css} state--{size}" if size else view.css, view.icon, str(view.label))


@lru_cache(1000)
def _state(css: str, sign: str, label: str) -> SafeString:
    return format_html('<span class="state state--{}">{}{}</span>', css, icon(sign), label)


@register.simple_tag
def outcome(value: str, label: object) -> SafeString:
    """How an act ended, drawn as a state."""
    css, sign = {"done": ("ok", "s-ok"), "refused": ("time", "s-off")}.get(value, ("bad", "s-bad"))
    return _state(css, sign, str(label))


def _ago(seconds: float) -> str:
    if seconds < 60:
        return _("%(n)s s ago") % {"n": max(0, int(seconds))}
    if seconds < 3600:
        return _("%(n)s min ago") % {"n": int(seconds // 60)}
    if seconds < 86400:
        return _("%(n)s h ago") % {"n": int(seconds // 3600)}
    days = int(seconds // 86400)
    return ngettext("%(n)s day ago", "%(n)s days ago", days) % {"n": days}


@register.simple_tag
def ago(moment: datetime | None, never: object = "–") -> SafeString | str:
    """How long ago, kept current by <time-ago>; the exact time is its title."""
    if moment is None:
        return str(never)
    text = _ago((timezone.now() - moment).total_seconds())
    exact = said(timezone.localtime(moment), "DATETIME_FORMAT")
    # all of it our own words
    return SafeString(f'<time-ago datetime="{moment.isoformat()}" title="{exact}">{text}</time-ago>')


@register.simple_tag
def when(moment: datetime | None, never: object = "–") -> SafeString | str:
    """A moment as short as it may be: the time where it is near, day and time otherwise; the exact one is its title."""
    if moment is None:
        return str(never)
    exact = said(timezone.localtime(moment), "DATETIME_FORMAT")
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, short(moment))


def short(moment: datetime) -> str:
    """The time alone today and within twelve hours, day and time otherwise."""
    local = timezone.localtime(moment)
    near = local.date() == timezone.localdate() or abs(moment - timezone.now()) < timedelta(hours=12)
    return said(local, "H:i" if near else pgettext("day and time, short", "M j, H:i"))


def said(local: datetime, form: str) -> str:
    """A date in words; in Portuguese months and days of the week are written small."""
    return _said(local.replace(tzinfo=None), form, get_language() or "")


@lru_cache(4000)
def _said(local: datetime, form: str, language: str) -> str:
    """The same rows are drawn again and again, and Django takes long to write a date."""
    text = date_format(local, form)
    return text.lower() if language.startswith("pt") else text


@register.filter
def exact(moment: datetime) -> str:
    """To the second, in figures that cannot be taken for another day."""
    return said(timezone.localtime(moment), pgettext("date and time to the second", "Y-m-d H:i:s"))


@register.filter
def day(moment: datetime) -> str:
    """The date alone, in words."""
    return said(timezone.localtime(moment), "DATE_FORMAT")


@register.simple_tag
def today(moment: datetime) -> str:
    """The day in words, as a heading's side note."""
    return said(timezone.localtime(moment), pgettext("day of the week and date", "l, F j"))


@register.filter
def duration(seconds: float | None) -> str:
    """Seconds as people say them: 42 s, 5 min 3 s, 5 h 42 min, 3 d 4 h (hours up to two days)."""
    if seconds is None:
        return "–"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    if whole < 172800:
        return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")
    return f"{whole // 86400} d" + (f" {whole % 86400 // 3600} h" if whole % 86400 // 3600 else "")


@register.filter
def minutes(value: float | None) -> str:
    """Minutes as people say them."""
    return "–" if value is None else duration(value * 60)


@register.filter
def scope_names(scopes: Iterable[str]) -> str:
    """What a token is good for, in words."""
    names = dict(TokenScope.choices)
    return ", ".join(str(names.get(scope, scope)) for scope in scopes)


@register.filter
def gpu_hours(gpu_minutes: float | None) -> str:
    """GPU-minutes as GPU-hours: one decimal below 100, none above."""
    if gpu_minutes is None:
        return "–"
    hours = gpu_minutes / 60
    return number_format(hours, 1 if hours < 100 and hours % 1 else 0)


@register.filter
def megabytes(value: float | None) -> str:
    """MB as GB where that is shorter."""
    if value is None:
        return "–"
    return (
        f"{number_format(value, 0)} MB"
        if value < 1024
        else f"{number_format(value / 1024, 1 if value % 1024 else 0)} GB"
    )


def _share(part: float, whole: float) -> float:
    return 0.0 if not whole else max(0.0, min(100.0, 100.0 * part / whole))


@register.simple_tag
def bar(
    used: float,
    whole: float,
    label: object,
    committed: float = 0,
    css: str = "",
    tone: str = "used",
    notches: bool = False,
) -> SafeString:
    """Used (solid) and committed (hatched) of a whole, as an SVG without a style attribute; notches at 80 and 95 %."""
    first = _share(used, whole)
    second = min(_share(committed, whole), 100 - first)
    hatch = format_html('<rect x="{}%" width="{}%" height="100%" fill="url(#hatch-accent)"/>', _pc(first), _pc(second))
    return format_html(
        '<svg class="{}" role="img" aria-label="{}"><rect class="track" width="100%" height="100%" rx="1"/>'
        '<rect class="{}" width="{}%" height="100%" rx="1"/>{}{}</svg>',
        f"bar {css}".strip(), label, tone, _pc(first), hatch if second else "", _NOTCHES if notches else "",
    )  # fmt: skip


_NOTCHES = SafeString("".join(f'<line class="notch" x1="{at}%" x2="{at}%" y1="-3" y2="100%"/>' for at in (80, 95)))


def _pc(share: float) -> str:
    return f"{share:.2f}".rstrip("0").rstrip(".")


@register.simple_tag
def squares(mine: int, busy: int, free: int, off: int, label: object) -> SafeString:
    """One square per GPU of a node: yours, others', free, out of service."""
    kinds = ["mine"] * mine + ["busy"] * busy + ["free"] * free + ["off"] * off
    shapes = "".join(
        f'<rect class="q-{kind}" x="{i * 17 + 0.5}" y="0.5" width="13" height="13" rx="1"/>'
        for i, kind in enumerate(kinds)
    )
    return format_html(
        '<svg viewBox="0 0 {} 14" preserveAspectRatio="xMinYMid meet" role="img" aria-label="{}">{}</svg>',
        max(8, len(kinds)) * 17 - 2,
        label,
        SafeString(shapes),
    )


@cache
def _address(name: str) -> str:
    return reverse(name)


@register.simple_tag(takes_context=True)
def once(context: Context, name: str) -> SafeString:
    """Include a template; where a page has it twice, at the side and above, it is written once."""
    drawn: dict[str, SafeString] = context["request"].__dict__.setdefault("_drawn", {})
    if name not in drawn:
        drawn[name] = context.template.engine.get_template(name).render(context)  # type: ignore[union-attr]
    return drawn[name]


@register.simple_tag
def still(name: str) -> SafeString:
    """Include a template that says the same to everybody who reads this language: it is drawn once."""
    return _still(name, get_language() or "")


@lru_cache(100)
def _still(name: str, _language: str) -> SafeString:
    return render_to_string(name)


@register.simple_tag
def kept(name: str, facts: Hashable) -> SafeString:
    """Include a template that shows `facts` (plain values) and nothing else: drawn once for the same in a language.

    A table's rows seldom change between two readers; what stands in them is the key, so none is ever out of date.
    """
    return _kept(name, facts, get_language() or "")


@lru_cache(3000)
def _kept(name: str, facts: Hashable, _language: str) -> SafeString:
    return render_to_string(name, {"facts": facts})


@register.simple_tag
def options(kind: type[Choices], chosen: str = "") -> SafeString:
    """The options of a select, which are the same for everybody: the trail's filter has two hundred."""
    drawn, value = _options(kind, get_language() or ""), escape(chosen)
    return SafeString(drawn.replace(f'value="{value}"', f'value="{value}" selected', 1) if chosen else drawn)


@lru_cache(100)
def _options(kind: type[Choices], _language: str) -> str:
    """None of them chosen."""
    drawn = (f'<option value="{escape(str(value))}">{escape(str(label))}</option>' for value, label in kind.choices)
    return "".join(drawn)


@register.simple_tag(takes_context=True)
def nav(context: dict[str, Any], name: str, sign: str, text: object, count: object = "") -> SafeString:
    """A link of the main navigation; it knows whether the page shown belongs to it, and its key (shortcuts.js)."""
    room, _colon, page = name.rpartition(":")
    match = getattr(context.get("request"), "resolver_match", None)
    shown, of_room = (match.view_name, match.app_name) if match else ("", "")
    here = shown == name or (page == "list" and of_room == room and shown != "jobs:submit")
    return format_html(
        '<a href="{}" data-go="{}"{}>{}{}{}</a>',
        _address(name), room if page == "list" else page, SafeString(' aria-current="page"') if here else "",
        icon(sign), text, format_html('<span class="n">{}</span>', count) if count else "",
    )  # fmt: skip


@register.simple_tag
def control(field: BoundField, limit: object = "", **attrs: Any) -> SafeString:
    """A form field's widget in our clothes, tied to its help, limit and error."""
    widget = field.field.widget
    css = "form-check-input" if isinstance(widget, CheckboxInput) else "form-control"
    if isinstance(widget, CheckboxSelectMultiple):
        return format_html('<div class="checks" role="group" aria-labelledby="{}_label">{}</div>', field.auto_id, field)
    if isinstance(widget, Select):
        css = "form-select"
    notes = [f"{field.auto_id}_{part}" for part, there in _notes(field, limit) if there]
    extra = {name.replace("_", "-"): value for name, value in attrs.items()}
    if notes:
        extra["aria-describedby"] = " ".join(notes)
    return field.as_widget(attrs={"class": css, **extra})


def _notes(field: BoundField, limit: object) -> tuple[tuple[str, object], ...]:
    return ("limit", limit), ("help", field.help_text), ("error", field.errors)
