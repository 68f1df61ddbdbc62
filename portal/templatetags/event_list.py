"""The rows of a table of events, put together by hand: a page has fifty, with a dozen values each folded away.

Every text that is not ours is escaped where it is taken in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

from audit.models import AuditEvent
from portal.templatetags.ui import exact, outcome

register = template.Library()
_NOBODY = "00000000-0000-0000-0000-000000000000"


@register.simple_tag
def event_rows(
    events: Iterable[AuditEvent], whole: object = False, opens: object = False, plain: object = False
) -> SafeString:
    """A table's body. `whole`: with addresses; `opens`: the event's own page too; `plain`: no filters."""
    names, own_page, portal = _names(get_language() or ""), bool(opens and not plain), escape(_("the portal"))
    return SafeString("".join(_row(event, names, whole, opens, own_page, plain, portal) for event in events))


def _row(event: AuditEvent, names: dict[str, str], whole: Any, opens: Any, own_page: bool, plain: Any, by: str) -> str:
    who = escape(event.actor_name) if event.actor_name else by
    address = event.address if whole else None
    about = event.subject_name or event.subject_id
    sub = f'<span class="sub">{escape(about)}</span>' if about else ""
    return (
        f'<tr><td class="nowrap">{_time(event, opens)}</td>'
        f'<td>{who}<span class="sub mono">{escape(str(event.door) if address is None else address)}</span></td>'
        f'<td><span class="name">{escape(event.get_action_display())}</span>'
        f'<div class="event__about">{sub}{_details(event, names, own_page, links=not plain)}</div></td>'
        f"<td>{escape(event.project_code) or '–'}</td>"
        f"<td>{outcome(event.outcome, event.get_outcome_display())}</td></tr>\n"
    )


def _time(event: AuditEvent, opens: object) -> str:
    """When it was, to the second; a link to its own page where that opens."""
    shown = f'<time class="mono" datetime="{event.at.isoformat()}">{exact(event.at)}</time>'
    return f'<a href="{_address().replace(_NOBODY, str(event.uid))}">{shown}</a>' if opens else shown


def _details(event: AuditEvent, names: dict[str, str], own_page: bool, *, links: bool) -> str:
    """Where the event has a page of its own, which says the rest, only what this one event says of itself."""
    rest = () if own_page else _lines(event, names, links=links)
    lines = "".join((*rest, *_said(event)))
    if not lines:
        return ""
    return f'<details class="words"><summary>{names["details"]}</summary><dl class="defs-list">{lines}</dl></details>'


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
    return reverse("audit:event", args=[_NOBODY])
