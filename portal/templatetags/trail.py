"""What pages of the trail say: values, moments, rights and their kinds."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.urls import reverse
from django.utils.formats import localize
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from access.roles import Role, SiteRole
from audit.could import Could
from portal.templatetags.ui import day, exact

register = template.Library()


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
