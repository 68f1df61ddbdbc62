"""What was used, added up for a page, a report or a forecast: by person, type, month, allocation, funding source."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime, timedelta

from django.db.models import Count, Max, QuerySet, Sum
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
    """One line of a report: hours of GPU and CPU, jobs, people."""

    label: str
    gpu_hours: float
    cpu_hours: float
    jobs: int
    people: int = 0
    outside_hours: float = 0.0


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
    return _parts(rows.values("login"), "login")


def by_type(rows: QuerySet[Usage]) -> list[Part]:
    """By GPU type; "" are jobs without one."""
    return _parts(rows.values("gpu_type"), "gpu_type")


def by_month(rows: QuerySet[Usage]) -> list[tuple[date, str, Part]]:
    """(first of the month, GPU type, part), in order of time."""
    grouped = rows.annotate(month=TruncMonth("day")).values("month", "gpu_type")
    found = _sums(grouped).order_by("month", "gpu_type")
    return [(row["month"], row["gpu_type"], _part(row["gpu_type"], row)) for row in found]


def total(rows: QuerySet[Usage]) -> Part:
    """All of it."""
    sums = rows.aggregate(**_SUMS, people=Count("login", distinct=True))
    return dataclasses.replace(_part("", sums), people=sums["people"], outside_hours=_outside(rows))


def _outside(rows: QuerySet[Usage]) -> float:
    return (rows.filter(is_outside=True).aggregate(sum=Sum("gpu_seconds"))["sum"] or 0) / 3600


_SUMS = {
    "gpu": Sum("gpu_seconds"), "cpu": Sum("cpu_seconds"), "jobs": Count("job", distinct=True),
}  # fmt: skip


def _sums(rows):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return rows.annotate(**_SUMS).order_by()


def _parts(rows, label: str) -> list[Part]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    found = _sums(rows).order_by("-gpu", label)
    return [_part(row[label], row) for row in found]


def _part(label: str, sums: dict[str, int | None]) -> Part:
    return Part(label, (sums["gpu"] or 0) / 3600, (sums["cpu"] or 0) / 3600, sums["jobs"] or 0)


def of_allocation(allocation: Allocation) -> QuerySet[Usage]:
    """What counts for it: the days of its period."""
    return within(allocation)


def of_funding(source: FundingSource) -> QuerySet[Usage]:
    """What its allocations used within its own period."""
    rows = Usage.objects.filter(allocation__funding=source, day__gte=source.starts_on)
    return rows.filter(day__lte=source.ends_on) if source.ends_on else rows


def of_month(project: Project, month: date) -> QuerySet[Usage]:
    """One calendar month (UTC) of a project."""
    first = month.replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return Usage.objects.filter(project=project, day__gte=first, day__lt=following)


def as_of(rows: QuerySet[Usage]) -> datetime | None:
    """How fresh the newest of it is."""
    return rows.aggregate(at=Max("as_of"))["at"]
