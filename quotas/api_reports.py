"""The API of what was used: by person, type and month, of a project, an allocation, a funding source; who pays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query, Router, Status
from pydantic import Field

from access import gate
from access.permissions import Permission
from access.typed import Text
from projects.api_schemas import Asking
from projects.models import Project
from quotas import outside_queue, reports, services
from quotas.api import fetch, me, source
from quotas.api_asking import FundingChange, FundingIn, FundingOut, UsageOut, usage_out
from quotas.models import FundingSource, Usage

router = Router()
Month = Annotated[str, Field(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")]


class Which(Asking):
    """Of which allocation (its code), funding source (its number) or month (2026-01); none: the whole project."""

    allocation: Text | None = Field(None, max_length=31)
    funding: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    month: Month | None = None


@router.get("/{code}/usage", response=UsageOut, operation_id="usage")
def usage(request: HttpRequest, code: str, which: Query[Which]) -> dict[str, Any]:
    """GPU-hours, CPU-hours and jobs by person, and by month and GPU type; what no job used in the same days."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code)
    rows, days = Usage.objects.filter(project=project), list[tuple[date, date | None]]()
    for part, its_days in _parts(request, project, which):
        rows &= part
        days.append(its_days)
    first, last = max((one for one, _ in days), default=None), min((one for _, one in days if one), default=None)
    beyond = outside_queue.part(me(request), first, last)
    return usage_out(reports.by_person(rows), reports.by_month(rows), beyond)


def _parts(
    request: HttpRequest, project: Project, which: Which
) -> Iterator[tuple[QuerySet[Usage], tuple[date, date | None]]]:
    """The rows of each part that was asked for, and its days."""
    if which.allocation is not None:
        row = fetch(request, Permission.PROJECT_VIEW, project.code, which.allocation)
        yield reports.of_allocation(row), (row.starts_on, row.ends_on)
    paid_by = source(project, which.funding)
    if paid_by is not None:
        yield reports.of_funding(paid_by), (paid_by.starts_on, paid_by.ends_on)
    if which.month is not None:
        year, month = which.month.split("-")
        first = date(int(year), int(month), 1)
        yield reports.of_month(project, first), (first, reports.last_of(first))


@router.get("/{code}/funding", response=list[FundingOut], operation_id="funding")
def funding(request: HttpRequest, code: str) -> list[FundingSource]:
    """Who pays for the project's allocations."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code)
    return list(project.funding_sources.all())


@router.post("/{code}/funding", response={201: FundingOut}, operation_id="add_funding")
def add(request: HttpRequest, code: str, body: FundingIn) -> Status[FundingSource]:
    """A new funding source."""
    project = gate.fetch(Project.objects, request.user, Permission.MEMBER_MANAGE, code=code)
    return Status(201, services.add_funding(project=project, by=me(request), **body.dict()))


@router.patch("/{code}/funding/{int:pk}", response=FundingOut, operation_id="change_funding")
def change(request: HttpRequest, code: str, pk: int, body: FundingChange) -> FundingSource:
    """Correct one."""
    rows = FundingSource.objects.select_related("project")
    row = gate.fetch(rows, request.user, Permission.MEMBER_MANAGE, project__code=code, pk=pk)
    fields = body.dict(exclude_unset=True)
    if not fields:
        raise ValidationError({"body": _("Say what is to be another.")})
    return services.change_funding(source=row, by=me(request), **fields)
