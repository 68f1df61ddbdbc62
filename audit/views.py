"""The trail, read: newest first, filtered; a read of it is an event itself."""

from __future__ import annotations

from datetime import datetime, time
from functools import cache
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_safe

from access import gate
from access.compiled import Fixed
from access.errors import NotFound
from access.permissions import Permission
from audit import trail
from audit.actions import Action, Outcome
from audit.identities import name_all, numbers_of
from audit.models import AuditEvent

PAGE = 50
# what the list can be narrowed by, and how
_FIELDS = {
    "who": "actor_id__in", "action": "action", "outcome": "outcome", "project": "project_code",
    "project_id": "project_id", "correlation": "correlation", "since": "at__gte", "until": "at__lte",
    "before": "pk__lt",
}  # fmt: skip


@login_required
@require_safe
def events(request: HttpRequest) -> HttpResponse:
    """The whole trail, for whoever may read it; a project's own is `jobs.views.project.trail`."""
    if not gate.site_can(request.user, Permission.TRAIL_READ):
        raise NotFound(Permission.TRAIL_READ, "audit.auditevent", {})
    return page(request)


def page(request: HttpRequest, *, project: Any = None) -> HttpResponse:
    """One page of the trail, or of a project's, filtered as asked; recorded as a read of it."""
    asked = _asked(request)
    found = name_all(_found(asked, project))
    trail.record(Action.TRAIL_READ, by=request.user, project=project, filter={k: v for k, v in asked.items() if v})
    context = asked | {
        "project_row": project,
        "events": found[:PAGE],
        "older": found[PAGE - 1].pk if len(found) > PAGE else None,
        "actions": Action.choices,
        "outcomes": Outcome.choices,
    }
    return render(request, "audit/_table.html" if request.htmx else "audit/list.html", context)  # type: ignore[attr-defined]


def _asked(request: HttpRequest) -> dict[str, Any]:
    get = request.GET.get
    return {
        "who": get("who", "")[:64].replace("\x00", ""),
        "action": get("action") if get("action") in Action.values else "",
        "outcome": get("outcome") if get("outcome") in Outcome.values else "",
        "project": get("project", "")[:40].replace("\x00", ""),
        "correlation": get("correlation", "")[:64].replace("\x00", ""),
        "since": _day(get("since", "")),
        "until": _day(get("until", "")),
        "before": int(get("before", "0")) if get("before", "").isdigit() and len(get("before", "")) < 18 else None,
    }


def _day(text: str) -> str:
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    return day.isoformat() if day else ""


def _found(asked: dict[str, Any], project: Any) -> list[AuditEvent]:
    """One more than a page."""
    values = {name: asked[name] for name in _FIELDS if asked.get(name)}
    values |= {"project_id": project.pk} if project else {}
    for name, at in (("since", time.min), ("until", time.max)):
        if name in values:
            values[name] = _local(values[name], at)
    if "who" in values:  # by number, which is what the index knows, and how many there are differs
        return list(_narrowed(**values | {"who": numbers_of(values["who"])}))
    return _listing(frozenset(values)).all(**values)


@cache
def _listing(_names: frozenset[str]) -> Fixed[AuditEvent]:
    """The list by these filters, whatever their values."""
    return Fixed(_narrowed, kept=False)


def _narrowed(**values: Any) -> QuerySet[AuditEvent]:
    rows = AuditEvent.objects.filter(**{_FIELDS[name]: value for name, value in values.items()})
    return rows.order_by("-pk")[: PAGE + 1]


def _local(day: str, at: time) -> datetime:
    return timezone.make_aware(datetime.combine(datetime.fromisoformat(day), at))
