"""Reports to keep or print: a funding source over its own period, and a project month by month."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from projects import tables
from projects.models import Project
from quotas import outside_queue, panels, reports
from quotas.models import Allocation, FundingSource, Usage
from quotas.reports import Part
from quotas.views.one import TABLES, month_cells, month_head

FIRST_YEAR = 2000
OUTSIDE = "outside-queue"  # the table of what no job used


def _source(request: SignedInRequest, code: str, pk: int) -> FundingSource:
    titles = Allocation.objects.filter(funding=OuterRef("pk")).order_by("code").values("title")
    rows = FundingSource.objects.select_related("project").annotate(titles=ArraySubquery(titles))
    return gate.fetch(rows, request.user, Permission.PROJECT_VIEW, project__code=code, pk=pk)


@login_required
@require_GET
def funding(request: SignedInRequest, code: str, pk: int) -> HttpResponse:
    """What a funding source was spent on, with the words its publications need."""
    source = _source(request, code, pk)
    beyond = outside_queue.part(request.user, source.starts_on, source.ends_on)
    context = _context(reports.of_funding(source), beyond) | {"source": source, "project": source.project}
    return render(request, "quotas/report_funding.html", context)


@login_required
@require_GET
def funding_csv(request: SignedInRequest, code: str, pk: int, table: str) -> StreamingHttpResponse:
    """One of its tables; that somebody took it is recorded."""
    source = _source(request, code, pk)
    days, name = (source.starts_on, source.ends_on), f"funding-{source.pk}"
    return _csv(request, source.project, reports.of_funding(source), table, about=source, name=name, days=days)


@login_required
@require_GET
def month(request: SignedInRequest, code: str, year: int, number: int) -> HttpResponse:
    """One page of one month of a project."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_VIEW, code=code)
    first = _first(year, number)
    last = reports.last_of(first)
    following = last + timedelta(days=1)
    rows = Allocation.objects.filter(project=project, starts_on__lt=following)
    context = _context(reports.of_month(project, first), outside_queue.part(request.user, first, last)) | {
        "project": project, "first": first, "last": last,
        "before": (first - timedelta(days=1)).replace(day=1),
        "after": following if following <= timezone.now().date() else None,
        "lines": [line for line in panels.panels(rows) if (line.allocation.ends_on or following) >= first],
    }  # fmt: skip
    return render(request, "quotas/report_month.html", context)


@login_required
@require_GET
def month_csv(request: SignedInRequest, code: str, year: int, number: int, table: str) -> StreamingHttpResponse:
    """One of its tables; that somebody took it is recorded."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_VIEW, code=code)
    first = _first(year, number)
    rows, days = reports.of_month(project, first), (first, reports.last_of(first))
    return _csv(request, project, rows, table, about=project, name=f"{first:%Y-%m}", days=days)


def _first(year: int, number: int) -> date:
    """The first of that month. Raises NotFound for one that is none, or lies ahead."""
    if FIRST_YEAR <= year <= timezone.now().year and 1 <= number <= 12:
        return date(year, number, 1)
    raise NotFound(Permission.PROJECT_VIEW, "quotas.report", {"month": f"{year}-{number}"})


def _context(rows: QuerySet[Usage], beyond: outside_queue.Part | None) -> dict[str, Any]:
    people = reports.by_person(rows)
    return {
        "people": people, "months": reports.by_month(rows), "total": reports.total(people), "now": timezone.now(),
        "outside_queue": beyond,
    }  # fmt: skip


def _csv(
    request: SignedInRequest, project: Project, rows: QuerySet[Usage], table: str, *, about: Any, name: str,
    days: tuple[date, date | None],
) -> StreamingHttpResponse:  # fmt: skip
    if table not in (*TABLES, OUTSIDE):
        raise NotFound(Permission.PROJECT_VIEW, "quotas.report", {"table": table})
    trail.record(Action.REPORT_READ, by=request.user, about=about, project=project, table=table, report=name)
    file = f"bancada-{project.code}-{name}-{table}.csv"
    if table == "months":
        return tables.response(file, month_head(), month_cells(reports.by_month(rows)))
    if table == OUTSIDE:
        beyond = outside_queue.part(request.user, *days)
        return tables.response(file, outside_queue.head(beyond), outside_queue.cells(beyond))
    head = [_("login"), _("name"), _("GPU-hours"), _("CPU-hours"), _("jobs"), _("GPU-hours outside the portal")]
    return tables.response(file, head, _people(reports.by_person(rows)))


def _people(parts: Sequence[Part]) -> Iterator[list[Any]]:
    for one in parts:
        hours = (one.gpu_hours, one.cpu_hours, one.outside_hours)
        gpu, cpu, outside = (round(value, 2) for value in hours)
        yield [one.label, one.name, gpu, cpu, one.jobs, outside]
