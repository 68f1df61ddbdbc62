"""An event of the trail in full, as every page of events folds it away."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
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


@register.simple_tag(takes_context=True)
def details(context: dict[str, Any], event: AuditEvent) -> SafeString:
    """Written here and not as a template: a page has fifty of them with a dozen values each."""
    names = _names(get_language() or "")
    links, opens = not context.get("plain"), bool(context.get("opens"))
    lines = "".join(_lines(event, names, links=links, opens=opens))
    return SafeString(
        f'<details class="words"><summary>{names["details"]}</summary><dl class="defs-list">{lines}</dl></details>'
    )


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


def _lines(event: AuditEvent, names: dict[str, str], *, links: bool, opens: bool) -> Iterator[str]:
    yield _line(names["event"], _page(event) if opens else event.uid)
    if event.subject_id:
        yield _line(names["about"], f"{event.subject_type} {event.subject_id}")
    yield f"<dt>{names['through']}</dt><dd>{conditional_escape(event.door)}</dd>"
    yield _line(names["written"], event.db_role)
    yield _line(names["correlation"], _correlation(event.correlation) if links else event.correlation)
    for name, value in event.said.items():
        shown = conditional_escape(localize(value))
        yield f'<dt class="mono">{conditional_escape(name)}</dt><dd class="mono">{shown}</dd>'


def _line(name: str, value: Any) -> str:
    """`name` is escaped already."""
    return f'<dt>{name}</dt><dd class="mono">{conditional_escape(value)}</dd>'


def _page(event: AuditEvent) -> SafeString:
    """A link to the event's own page."""
    return format_html('<a href="{}">{}</a>', reverse("audit:event", args=[event.uid]), event.uid)


def _correlation(value: str) -> SafeString:
    """A link to all that happened in the same call."""
    return format_html('<a href="?correlation={}">{}</a>', quote(value), value)
