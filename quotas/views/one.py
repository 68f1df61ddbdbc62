"""One allocation: how it stands, who used it and what they may, by month and type; its tables as CSV."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from audit import trail
from audit.actions import Action
from projects import tables
from projects.models import Project
from quotas import panels, reads, reports, standing, words
from quotas.models import Allocation, Share
from quotas.panels import Panel, Person

TABLES = ("people", "months", "shares")


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One person: what they used of the allocation, and their share (None: none)."""

    person: Person
    share: Share | None

    @property
    def percent(self) -> int | None:
        """Used and committed in percent of the share; None where it has no GPU-hours."""
        limit = self.share.gpu_minutes if self.share else None
        return 100 * (self.person.used + self.person.committed) // limit if limit else None


def rights(user: User, **named: Permission) -> dict[str, Exists]:
    """Annotations that say of rows of a project what the person may do there: no query of their own."""
    here = Project.objects.filter(pk=OuterRef("project"))
    return {name: Exists(gate.allowing(here, user, permission)) for name, permission in named.items()}


def _fetch(request: SignedInRequest, code: str, allocation: str) -> Any:
    """With `may_manage` and `may_operate`."""
    may = rights(request.user, may_manage=Permission.MEMBER_MANAGE, may_operate=Permission.PROJECT_MANAGE)
    rows = Allocation.objects.select_related("project", "project__enforcement", "funding").annotate(**may)
    return gate.fetch(rows, request.user, Permission.PROJECT_VIEW, project__code=code, code=allocation)


@login_required
@require_GET
def one(request: SignedInRequest, code: str, allocation: str) -> HttpResponse:
    """The page."""
    row = _fetch(request, code, allocation)
    [line] = panels.panels(Allocation.objects.filter(pk=row.pk), request.user, with_days=True)
    context: dict[str, Any] = {
        "project": row.project, "allocation": row, "line": line, "people": people(line),
        "months": reports.by_month(reports.of_allocation(row)), "standing": standing.of(row.project),
        "may_manage": row.may_manage, "may_operate": row.may_operate,
    }  # fmt: skip
    return render(request, "quotas/one.html", context)


def people(line: Panel) -> Sequence[Line]:
    """Whoever used it or has a share of it, most used first."""
    shares = {row.user.username: row for row in line.allocation.shares.select_related("user")}
    known = {one.login for one in line.people}
    others = [Person(login, row.user.name, 0) for login, row in sorted(shares.items()) if login not in known]
    return [Line(person, shares.get(person.login)) for person in (*line.people, *others)]


@login_required
@require_GET
def one_csv(request: SignedInRequest, code: str, allocation: str, table: str) -> StreamingHttpResponse:
    """One of its tables; that somebody took it is recorded."""
    row = _fetch(request, code, allocation)
    if table not in TABLES:
        raise NotFound(Permission.PROJECT_VIEW, "quotas.allocation", {"table": table})
    trail.record(Action.REPORT_READ, by=request.user, about=row, project=row.project, table=table)
    name = f"bancada-{row.project.code}-{row.code}-{table}.csv"
    if table == "months":
        return tables.response(name, month_head(), month_cells(reports.by_month(reports.of_allocation(row))))
    [line] = panels.panels(Allocation.objects.filter(pk=row.pk))
    head = [_("login"), _("name"), _("GPU-hours used"), _("GPU-hours committed"), *map(str, _share_names())]
    return tables.response(name, head, _people_cells(members(line) if table == "shares" else people(line)))


def members(line: Panel) -> Sequence[Line]:
    """Whoever may spend it now, by name, with what they used and their share, if any."""
    known = {one.person.login: one for one in people(line)}
    return [
        known.get(user.username) or Line(Person(user.username, user.name, 0), None)
        for user in reads.spenders(line.allocation)
    ]


def _share_names() -> list[str]:
    return [
        _("share: GPUs at once"), _("share: GPU-hours"), _("share: longest run, hours"),
        _("share: jobs queued and running"), _("share: jobs running"), _("share: GPUs at once, by type"),
        _("share: GPU-hours, by type"),
    ]  # fmt: skip


def _people_cells(lines: Sequence[Line]) -> Iterator[list[Any]]:
    for one in lines:
        limits = Share.whole(one.share)
        in_hours = [words.cell(name, limits[name]) for name in (*Share.LIMITS, *Share.BY_TYPE)]
        person = one.person
        yield [person.login, person.name, round(person.used / 60, 2), round(person.committed / 60, 2), *in_hours]


def month_head() -> list[str]:
    """Columns of a table by month and type."""
    return [_("month"), _("GPU type"), _("GPU-hours"), _("CPU-hours"), _("jobs")]


def month_cells(months: reports.Months) -> Iterator[list[Any]]:
    """Rows of a table by month and type."""
    for month, gpu_type, part in months:
        yield [f"{month:%Y-%m}", gpu_type, round(part.gpu_hours, 2), round(part.cpu_hours, 2), part.jobs]
