"""The API of what was used: by person, type and month, of a project, an allocation, a funding source; who pays."""

from __future__ import annotations

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
from quotas import reports, services
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
    """GPU-hours, CPU-hours and jobs by person, and by month and GPU type."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code)
    rows = _rows(request, project, which)
    return usage_out(reports.by_person(rows), reports.by_month(rows))


def _rows(request: HttpRequest, project: Project, which: Which) -> QuerySet[Usage]:
    rows = Usage.objects.filter(project=project)
    if which.allocation is not None:
        rows &= reports.of_allocation(fetch(request, Permission.PROJECT_VIEW, project.code, which.allocation))
    paid_by = source(project, which.funding)
    if paid_by is not None:
        rows = reports.of_funding(paid_by, rows)
    if which.month is not None:
        year, month = which.month.split("-")
        rows = reports.of_month(project, date(int(year), int(month), 1), rows)
    return rows


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
