"""An event of the trail in full, as every page of events folds it away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from django import template
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from audit.models import AuditEvent

register = template.Library()
_PLAIN, _MONO = SafeString(""), SafeString(' class="mono"')


@register.simple_tag(takes_context=True)
def details(context: dict[str, Any], event: AuditEvent) -> SafeString:
    """Written here and not as a template: a page has fifty of them with a dozen values each."""
    lines = format_html_join("", "<dt{}>{}</dt><dd{}>{}</dd>", _lines(event, links=not context.get("plain")))
    return format_html(
        '<details class="words"><summary>{}</summary><dl class="defs-list">{}</dl></details>', _("Details"), lines
    )


def _lines(event: AuditEvent, *, links: bool) -> Iterator[tuple[SafeString, object, SafeString, object]]:
    yield _PLAIN, _("Event"), _MONO, event.uid
    if event.subject_id:
        yield _PLAIN, _("About"), _MONO, f"{event.subject_type} {event.subject_id}"
    yield _PLAIN, _("Through"), _PLAIN, event.door
    yield _PLAIN, _("Written by"), _MONO, event.db_role
    yield _PLAIN, _("Correlation"), _MONO, _correlation(event.correlation) if links else event.correlation
    for name, value in event.detail.items():
        yield _MONO, name, _MONO, localize(value)


def _correlation(value: str) -> SafeString:
    """A link to all that happened in the same call."""
    return format_html('<a href="?correlation={}">{}</a>', quote(value), value)
