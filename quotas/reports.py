"""What was used, added up for a page, a report or a forecast: by person, type, month, allocation, funding source."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.db.models.functions import TruncMonth
from django.utils import timezone

from projects.models import Project
from quotas.models import Allocation, FundingSource, Usage
from quotas.services.limits import within

RECENT = 28  # days over which the pace is measured


@dataclasses.dataclass(frozen=True, slots=True)
class Pace:
    """How fast an allocation is used: GPU-minutes a day lately; `until`: when it is gone, None: not before its end.

    `left`: whole days from its end back to that day; None where it has no end, or lasts.
    """

    per_day: float
    until: date | None
    as_of: datetime | None
    left: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """One line of a report: hours of GPU and CPU, jobs, people; of jobs outside the portal alone; how fresh it is."""

    label: str
    gpu_hours: float
    cpu_hours: float
    jobs: int
    people: int = 0
    outside_hours: float = 0.0
    name: str = ""
    as_of: datetime | None = None

    @property
    def said(self) -> str:
        """What to call it."""
        return self.name or self.label


def pace(allocation: Allocation, *, free: int | None) -> Pace:
    """At the rate of the last four weeks (or since it began, where that is shorter)."""
    today = timezone.now().date()
    since = max(allocation.starts_on, today - timedelta(days=RECENT))
    rows = within(allocation).filter(day__gte=since)
    return paced(allocation, rows.aggregate(sum=Sum("gpu_seconds"))["sum"] or 0, free=free)


def paced(allocation: Allocation, seconds: int, *, free: int | None) -> Pace:
    """The same from the GPU-seconds of that time, where they are known already."""
    today = timezone.now().date()
    since = max(allocation.starts_on, today - timedelta(days=RECENT))
    per_day = seconds / 60 / max(1, (today - since).days + 1)
    lasts = None if free is None or not per_day else today + timedelta(days=min(36_500, int(free / per_day)))
    ends = allocation.ends_on
    if lasts is None or (ends is not None and lasts >= ends):
        return Pace(per_day, None, allocation.used_as_of)
    return Pace(per_day, lasts, allocation.used_as_of, (ends - lasts).days if ends else None)


def by_person(rows: QuerySet[Usage]) -> list[Part]:
    """Who used it, most first."""
    found = _sums(rows.values("login").annotate(name=Max("user__display_name"))).order_by("-gpu", "login")
    return [dataclasses.replace(_part(row["login"], row), name=row["name"] or "") for row in found]


def by_type(rows: QuerySet[Usage]) -> list[Part]:
    """By GPU type; "" are jobs without one."""
    found = _sums(rows.values("gpu_type")).order_by("-gpu", "gpu_type")
    return [_part(row["gpu_type"], row) for row in found]


Months: TypeAlias = Sequence[tuple[date, str, Part]]


def by_month(rows: QuerySet[Usage]) -> Months:
    """(first of the month, GPU type, part), in order of time."""
    grouped = rows.annotate(month=TruncMonth("day")).values("month", "gpu_type")
    found = _sums(grouped).order_by("month", "gpu_type")
    return [(row["month"], row["gpu_type"], _part(row["gpu_type"], row)) for row in found]


def total(people: Sequence[Part]) -> Part:
    """All of it, from its parts by person: a job is one person's."""
    return Part(
        "", sum(one.gpu_hours for one in people), sum(one.cpu_hours for one in people), sum(one.jobs for one in people),
        len(people), sum(one.outside_hours for one in people),
        as_of=max((one.as_of for one in people if one.as_of), default=None),
    )  # fmt: skip


_SUMS = {
    "gpu": Sum("gpu_seconds"), "cpu": Sum("cpu_seconds"), "jobs": Count("job", distinct=True),
    "outside": Sum("gpu_seconds", filter=Q(is_outside=True)), "fresh": Max("as_of"),
}  # fmt: skip


def _sums(rows: Any) -> Any:
    return rows.annotate(**_SUMS).order_by()


def _part(label: str, sums: dict[str, Any]) -> Part:
    hours = {name: (sums[name] or 0) / 3600 for name in ("gpu", "cpu", "outside")}
    return Part(
        label, hours["gpu"], hours["cpu"], sums["jobs"], outside_hours=hours["outside"], as_of=sums["fresh"]
    )  # fmt: skip


def of_allocation(allocation: Allocation) -> QuerySet[Usage]:
    """What counts for it: the days of its period."""
    return within(allocation)


def of_funding(source: FundingSource, rows: QuerySet[Usage] | None = None) -> QuerySet[Usage]:
    """What its allocations used within its own period (of these rows)."""
    rows = Usage.objects.all() if rows is None else rows
    rows = rows.filter(allocation__funding=source, day__gte=source.starts_on)
    return rows.filter(day__lte=source.ends_on) if source.ends_on else rows


def of_month(project: Project, month: date, rows: QuerySet[Usage] | None = None) -> QuerySet[Usage]:
    """One calendar month (UTC) of a project (of these rows)."""
    rows = Usage.objects.all() if rows is None else rows
    first = month.replace(day=1)
    return rows.filter(project=project, day__gte=first, day__lte=last_of(first))


def last_of(month: date) -> date:
    """The last day of the month that begins then."""
    return (month + timedelta(days=32)).replace(day=1) - timedelta(days=1)
