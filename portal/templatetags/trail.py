"""An event of the trail in full, as every page of events folds it away."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from django import template
from django.utils.formats import localize
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from audit.models import AuditEvent

register = template.Library()


@register.simple_tag(takes_context=True)
def details(context: dict[str, Any], event: AuditEvent) -> SafeString:
    """Written here and not as a template: a page has fifty of them with a dozen values each."""
    names = _names(get_language() or "")
    lines = "".join(_lines(event, names, links=not context.get("plain")))
    return SafeString(
        f'<details class="words"><summary>{names["details"]}</summary><dl class="defs-list">{lines}</dl></details>'
    )


@lru_cache(10)
def _names(_language: str) -> dict[str, str]:
    """What the parts of every event are called."""
    said = {
        "details": _("Details"), "event": _("Event"), "about": _("About"), "through": _("Through"),
        "written": _("Written by"), "correlation": _("Correlation"),
    }  # fmt: skip
    return {name: conditional_escape(word) for name, word in said.items()}


def _lines(event: AuditEvent, names: dict[str, str], *, links: bool) -> Iterator[str]:
    yield _line(names["event"], event.uid)
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


def _correlation(value: str) -> SafeString:
    """A link to all that happened in the same call."""
    return format_html('<a href="?correlation={}">{}</a>', quote(value), value)
