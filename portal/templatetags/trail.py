"""An event of the trail in full, as every page of events folds it away."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache, lru_cache
from html import escape
from typing import Any
from urllib.parse import quote

from django import template
from django.urls import reverse
from django.utils.formats import localize
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from access.roles import Role, SiteRole
from audit.could import Could
from audit.models import AuditEvent
from portal.templatetags.ui import day, exact

register = template.Library()
_NONE = "00000000-0000-0000-0000-000000000000"


@register.simple_tag(takes_context=True)
def details(context: dict[str, Any], event: AuditEvent) -> SafeString:
    """Written here and not as a template: a page has fifty of them with a dozen values each.

    Where the event has a page of its own, which says the rest, only what this one event says of itself.
    """
    names = _names(get_language() or "")
    own_page = context.get("opens") and not context.get("plain")
    rest = () if own_page else _lines(event, names, links=not context.get("plain"))
    lines = "".join((*rest, *_said(event)))
    if not lines:
        return SafeString("")
    return SafeString(
        f'<details class="words"><summary>{names["details"]}</summary><dl class="defs-list">{lines}</dl></details>'
    )


@register.simple_tag
def event_time(event: AuditEvent, opens: object = None) -> SafeString:
    """When it was, to the second; a link to its own page where that opens."""
    shown = f'<time class="mono" datetime="{event.at.isoformat()}">{exact(event.at)}</time>'
    return SafeString(f'<a href="{_address().replace(_NONE, str(event.uid))}">{shown}</a>' if opens else shown)


@register.simple_tag(takes_context=True)
def tab(context: dict[str, Any], name: str, text: object) -> SafeString:
    """A link to one of the trail's rooms; it knows whether it is the one shown."""
    match = getattr(context.get("request"), "resolver_match", None)
    here = match is not None and match.view_name == name
    current = SafeString(' aria-current="page"') if here else ""
    return format_html('<a href="{}"{}>{}</a>', reverse(name), current, text)


@register.filter
def hex(value: bytes | memoryview | None) -> str:
    """Bytes as one reads them out."""
    return bytes(value or b"").hex()


@register.filter
def moment(text: str) -> datetime:
    """A time as PostgreSQL writes it in JSON."""
    return datetime.fromisoformat(text)


@register.filter
def last_day(moment: datetime) -> str:
    """Of a period that ends with this moment, which is not in it."""
    return day(moment - timedelta(seconds=1))


@register.filter
def spelled(value: Any) -> str:
    """A value of an event's detail: lists with commas, pairs as before and after."""
    match value:
        case dict():
            return ", ".join(f"{name}: {spelled(one)}" for name, one in value.items())
        case list():
            return ", ".join(spelled(one) for one in value)
    return str(localize(value))


@register.simple_tag
def could_kind(kind: str) -> str:
    """What a right is of, in words."""
    words = {"site": _("the whole site"), "project": _("project"), "dataset": _("dataset"), "token": _("token")}
    return words.get(kind, kind)


@register.simple_tag
def could_role(one: Could) -> str:
    """The role's name; of a token, what it is good for."""
    known = {str(role.value): role.label for role in (*Role, *SiteRole) if role.value}
    return str(known.get(one.role) or one.role or ", ".join(one.rights))


@register.simple_tag
def cell(value: Any) -> str:
    """A value of a report as one reads it."""
    match value:
        case bool():
            return _("yes") if value else _("no")
        case datetime():
            return exact(value)
        case None | "":
            return "–"
    return str(value)


@lru_cache(10)
def _names(_language: str) -> dict[str, str]:
    """What the parts of every event are called."""
    said = {
        "details": _("Details"), "event": _("Event"), "about": _("About"), "through": _("Through"),
        "written": _("Written by"), "correlation": _("Correlation"),
    }  # fmt: skip
    return {name: conditional_escape(word) for name, word in said.items()}


def _lines(event: AuditEvent, names: dict[str, str], *, links: bool) -> Iterator[str]:
    """What every event has."""
    yield _line(names["event"], str(event.uid))
    if event.subject_id:
        yield _line(names["about"], f"{event.subject_type} {event.subject_id}")
    yield f"<dt>{names['through']}</dt><dd>{escape(str(event.door))}</dd>"
    yield _line(names["written"], event.db_role)
    yield _line(names["correlation"], _correlation(event.correlation) if links else event.correlation)


def _said(event: AuditEvent) -> Iterator[str]:
    """What only this kind of event has."""
    for name, value in event.said.items():
        yield f'<dt class="mono">{escape(name)}</dt><dd class="mono">{escape(str(localize(value)))}</dd>'


def _line(name: str, value: str) -> str:
    """`name` is escaped already."""
    return f'<dt>{name}</dt><dd class="mono">{conditional_escape(value)}</dd>'


def _correlation(value: str) -> SafeString:
    """A link to all that happened in the same call."""
    return format_html('<a href="?correlation={}">{}</a>', quote(value), value)


@cache
def _address() -> str:
    """Asked for once: a page has fifty, and finding out takes longer than filling in."""
    return reverse("audit:event", args=[_NONE])
