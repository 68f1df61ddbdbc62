"""Lists: the datasets a person may find, what waits for a steward, and the register of processing."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from datasets import reports
from datasets.models import Agreement, Dataset, DatasetUse, Grant, GrantRequest
from projects.models import Membership, Project, RequestState

MOST = 200


@login_required
@require_GET
def datasets(request: SignedInRequest) -> HttpResponse:
    """What the person may see, or find and ask for."""
    context = {
        "rows": found(request.user, _q(request))[:MOST], "q": _q(request),
        "can_report": gate.site_can(request.user, Permission.INCIDENT_VIEW),
    }  # fmt: skip
    return render(request, "datasets/list.html", context)


@login_required
@require_GET
def datasets_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """The same as a table, all of it; that somebody took it is recorded."""
    return reports.datasets_csv(found(request.user, _q(request)), by=request.user)


def _q(request: SignedInRequest) -> str:
    return request.GET.get("q", "").replace("\x00", "")[:64]


def found(me: User, q: str) -> QuerySet[Any]:
    """What the person may see or find, by these words; with `may_view` and `is_permitted`."""
    rows = gate.allowing(Dataset.objects.select_related("project", "steward"), me, Permission.DATASET_FIND)
    if q:
        rows = rows.filter(Q(name__icontains=q) | Q(code__icontains=q) | Q(description__icontains=q))
    mine = Membership.objects.active().filter(user=me).values("project")
    own = Dataset.objects.filter(pk=OuterRef("pk"))
    permitted = Grant.objects.in_force().filter(Q(project__in=mine) | Q(user=me), dataset=OuterRef("pk"))
    may_view = Exists(gate.allowing(own, me, Permission.DATASET_VIEW))
    return rows.annotate(may_view=may_view, is_permitted=Exists(permitted))


@login_required
@require_GET
def stewardship(request: SignedInRequest) -> HttpResponse:
    """What a steward has to answer, which permissions end soon, and who used the data lately."""
    me = request.user
    theirs = gate.allowing(Dataset.objects.all(), me, Permission.DATASET_STEWARD)
    asked, uses = _asked(theirs), DatasetUse.objects.filter(dataset__in=theirs.values("pk"))
    given = [wish.grant for wish in asked if not wish.is_open]
    context: dict[str, Any] = {
        "rows": list(theirs.select_related("project")),
        "requests": [wish for wish in asked if wish.is_open],
        "ending": sorted(given, key=lambda grant: grant.ends_on)[:20],
        "uses": list(uses.select_related("dataset", "project", "user", "version")[:50]),
        "now": timezone.now(),
    }
    return render(request, "datasets/stewardship.html", context)


def _asked(theirs: QuerySet[Dataset]) -> list[Any]:
    """Open requests, the oldest first, and those whose permission is in force: one query for both."""
    given = Grant.objects.in_force().values("request")
    rows = GrantRequest.objects.filter(Q(state=RequestState.OPEN) | Q(pk__in=given), dataset__in=theirs.values("pk"))
    names = ("dataset", "project", "user", "asked_by", "grant__dataset", "grant__project", "grant__user")
    return list(rows.select_related(*names).order_by("asked_at")[:MOST])


@login_required
@require_GET
def processing(request: SignedInRequest) -> HttpResponse:
    """The register of processing (LGPD art. 37), to read and to print."""
    context = {"rows": reports.processing(request.user), "now": timezone.now()}
    return render(request, "datasets/processing.html", context)


@login_required
@require_GET
def processing_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """The same as a table; that somebody took it is recorded."""
    return reports.processing_csv(request.user)


@login_required
@require_GET
def of_project(request: SignedInRequest, code: str) -> HttpResponse:
    """The part of a project's page that says which data it has, and which it may use."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code)
    rows = Dataset.objects.filter(Q(project=project) | Q(pk__in=_used_in(project))).order_by("name").distinct()
    until = Grant.objects.in_force().filter(project=project, dataset=OuterRef("pk")).order_by("-ends_on")
    shown = list(rows.annotate(until=Subquery(until.values("ends_on")[:1]))[:MOST])
    may_lead = gate.can(project, request.user, Permission.PROJECT_LEAD)
    agreements = list(Agreement.objects.filter(project=project)[:20])
    context = {"project": project, "rows": shown, "may_lead": may_lead, "agreements": agreements}
    return render(request, "datasets/_of_project.html", context)


def _used_in(project: Project) -> Any:
    return Grant.objects.in_force().filter(project=project).values("dataset")


@login_required
@require_GET
def waiting(request: SignedInRequest) -> HttpResponse:
    """The part of home that says which requests wait for this person's answer; nothing where none does."""
    theirs = gate.allowing(Dataset.objects.all(), request.user, Permission.DATASET_STEWARD)
    asked = GrantRequest.objects.filter(dataset__in=theirs.values("pk"), state=RequestState.OPEN)
    rows = list(asked.exclude(asked_by=request.user).select_related("dataset", "project", "user")[:20])
    return render(request, "datasets/_waiting.html", {"rows": rows}) if rows else HttpResponse(status=204)
