"""The trail, read: newest first, filtered; a read of it is an event itself."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_safe

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from audit import trail
from audit.actions import Action, Outcome
from audit.identities import name_all, numbers_of
from audit.models import AuditEvent, EventQuerySet

PAGE = 50


@login_required
@require_safe
def events(request: HttpRequest) -> HttpResponse:
    """The whole trail, for whoever may read it; a project's own is `jobs.views.project.trail`."""
    if not gate.site_can(request.user, Permission.TRAIL_READ):
        raise NotFound(Permission.TRAIL_READ, "audit.auditevent", {})
    return page(request, AuditEvent.objects.all())


def page(request: HttpRequest, rows: EventQuerySet, *, project: Any = None) -> HttpResponse:
    """One page of these events, filtered as asked; recorded as a read of the trail."""
    asked = _asked(request)
    found = name_all(_filtered(rows, asked).before(asked["before"])[: PAGE + 1])
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


def _filtered(rows: EventQuerySet, asked: dict[str, Any]) -> EventQuerySet:
    exact = {"action": "action", "outcome": "outcome", "project_code": "project"}
    rows = rows.filter(**{field: asked[name] for field, name in exact.items() if asked[name]})
    if asked["who"]:  # by number, which is what the index knows
        rows = rows.filter(actor_id__in=numbers_of(asked["who"]))
    if asked["correlation"]:
        rows = rows.filter(correlation=asked["correlation"])
    if asked["since"]:
        rows = rows.filter(at__gte=_local(asked["since"], time.min))
    if asked["until"]:
        rows = rows.filter(at__lte=_local(asked["until"], time.max))
    return rows


def _local(day: str, at: time) -> datetime:
    return timezone.make_aware(datetime.combine(datetime.fromisoformat(day), at))
