"""The trail, read: newest first, searched; a read of it is an event itself."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_safe

from access import gate
from access.compiled import Fixed
from access.errors import NotFound
from access.numbers import whole
from access.permissions import Permission
from audit import trail
from audit.actions import Action, Outcome
from audit.identities import name_all
from audit.models import AuditEvent, AuditSeal, Checkpoint, EventQuerySet
from audit.services import desk, scope, unseen
from audit.services.searching import Search

PAGE = 50
NEAR = 100  # events of the same call shown beside one
WORDS = {"who": 64, "project": 40, "dataset": 60, "job": 64, "address": 45, "correlation": 64}  # longest of each
MORE = ("dataset", "job", "address")  # folded away until one is asked for
_NEWEST = Fixed(lambda: AuditEvent.objects.order_by("-pk")[: PAGE + 1], kept=False)


@login_required
@require_safe
def events(request: HttpRequest) -> HttpResponse:
    """The trail, for whoever may read it or a part of it; a project's own is `jobs.views.project.trail`."""
    return page(request, may=scope.readable_by(request.user))


def page(request: HttpRequest, *, project: Any = None, may: scope.Scope | None = None) -> HttpResponse:
    """One page of what `may` be read, or of a project's trail, filtered as asked; recorded as a read of it."""
    asked = asked_of(request)
    whole = may.whole if may is not None else gate.site_can(request.user, Permission.TRAIL_READ)
    if not whole:
        asked["address"] = ""  # an address is for those who read everything
    found = _found(asked, project, may)
    told = {name: value for name, value in asked.items() if value}
    trail.record(Action.TRAIL_READ, by=request.user, project=project, filter=told)
    context = asked | {
        "project_row": project,
        "events": found[:PAGE],
        "older": found[PAGE - 1].pk if len(found) > PAGE else None,
        "actions": Action,
        "outcomes": Outcome,
        "whole": whole,
        "scope": may,
        "opens": may is not None,
        "guest": may is not None and not may.whole,
        "more_asked": any(asked[name] for name in MORE),
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "audit/_table.html", context)
    query = query_of(asked)  # one's filters are offered where none is in force
    context |= {"saved": desk.kept(request.user) if may and not query else [], "query": query}
    context |= _taking_out(project)
    return render(request, "audit/list.html", context)


def _taking_out(project: Any) -> dict[str, Any]:
    """Where what is seen can be exported, and what is not seen."""
    within = ("projects:trail_new_export", [project.code]) if project is not None else ("audit:new_export", [])
    return {"export_url": reverse(within[0], args=within[1]), "gaps": unseen.gaps()}


def asked_of(request: HttpRequest) -> dict[str, Any]:
    """What the address asks for; anything that is no filter counts as not asked."""
    get = request.GET.get
    words = {name: get(name, "").replace("\x00", "").strip()[:most] for name, most in WORDS.items()}
    return words | {
        "action": get("action") if get("action") in Action.values else "",
        "outcome": get("outcome") if get("outcome") in Outcome.values else "",
        "since": _day(get("since", "")),
        "until": _day(get("until", "")),
        "before": whole(get("before", ""), digits=17),
    }


def query_of(asked: dict[str, Any]) -> str:
    """The same as an address has it, from the newest on."""
    return urlencode({name: value for name, value in asked.items() if value and name != "before"})


def _day(text: str) -> str:
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    return day.isoformat() if day else ""


def _found(asked: dict[str, Any], project: Any, may: scope.Scope | None) -> list[AuditEvent]:
    """One more than a page."""
    if may is not None and may.whole and not any(asked.values()):
        return name_all(_NEWEST.all())
    facts = {name: asked[name] for name in (*WORDS, "action", "outcome")}
    since = _local(asked["since"]) if asked["since"] else None
    until = _local(asked["until"]) + timedelta(days=1) if asked["until"] else None
    search = Search(**facts, since=since, until=until)
    return search.found(_rows(project, may), before=asked["before"], most=PAGE + 1)


def _rows(project: Any, may: scope.Scope | None) -> EventQuerySet:
    if project is not None:
        return AuditEvent.objects.filter(project_id=project.pk)
    return may.events() if may is not None else AuditEvent.objects.none()


def _local(day: str) -> datetime:
    return timezone.make_aware(datetime.combine(datetime.fromisoformat(day), time.min))


@login_required
@require_safe
def event(request: HttpRequest, uid: UUID) -> HttpResponse:
    """One event with all its fields, its seal, and what happened in the same call."""
    may = scope.readable_by(request.user)
    row = _sealed(may.events().filter(uid=uid)).first()
    if row is None:
        raise NotFound(Permission.TRAIL_READ, "audit.auditevent", {"uid": str(uid)})
    near = may.events().filter(correlation=row.correlation).order_by("pk")
    shown = list(near[:NEAR]) if row.correlation else []
    name_all([row, *shown])
    trail.record(Action.TRAIL_READ, by=request.user, filter={"event": str(uid)})
    context = {"event": row, "near": [one for one in shown if one.pk != row.pk], "whole": may.whole, "opens": True}
    return render(request, "audit/event.html", context)


def _sealed(rows: EventQuerySet) -> QuerySet[AuditEvent]:
    """With the seal (seq, digest, chain) and the first checkpoint over it, in one statement."""
    seal = AuditSeal.objects.filter(event_id=OuterRef("pk"))
    signed = Checkpoint.objects.filter(seq__gte=OuterRef("seq")).order_by("seq", "id")
    return rows.annotate(
        seq=Subquery(seal.values("seq")),
        digest=Subquery(seal.values("digest")),
        chain=Subquery(seal.values("chain")),
    ).annotate(signed=Subquery(signed.values(facts=JSONObject(seq="seq", at="at", key="key_id"))[:1]))
