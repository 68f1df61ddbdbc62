"""How a project's storage grows, from one measurement a day: kept by the worker, read by the project's page."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from access.compiled import insert_all
from files.client import Census
from projects.models import Project
from storage.models import Measure

WEEK = timedelta(days=7)
KEPT = timedelta(days=400)


def waiting() -> Project | None:
    """A project that takes work and has no measurement of today."""
    today = Measure.objects.filter(project=OuterRef("pk"), day=_today(), uid=None)
    rows = Project.objects.filter(~Exists(today), archived_at=None)
    return rows.order_by("pk").first()


def _today() -> date:
    return timezone.now().date()


@transaction.atomic
def keep(project: Project, census: Census | None) -> None:
    """Write today's measurement down, None where there is none; what is older than KEPT goes."""
    now = timezone.now()
    shares = census.shares if census else []
    total = sum(one.bytes for one in shares) if census else None
    rows = [(None, total, sum(one.files for one in shares)), *((one.uid, one.bytes, one.files) for one in shares)]
    Measure.objects.filter(project=project, day=now.date()).delete()
    same = {"project": project, "day": now.date(), "at": now, "is_cut": bool(census and census.cut)}
    insert_all([Measure(uid=uid, bytes=size, files=files, **same) for uid, size, files in rows])
    Measure.objects.filter(project=project, day__lt=now.date() - KEPT).delete()


@dataclasses.dataclass(frozen=True, slots=True)
class Growth:
    """From the day `since` to the measurement `at`: bytes more (or fewer) in all, and by uid."""

    since: date
    at: datetime
    more: int
    by_uid: dict[int, int]

    @property
    def is_more(self) -> bool:
        """Whether it grew at all."""
        return self.more > 0

    @property
    def fewer(self) -> int:
        """How much less there is than before."""
        return -self.more

    @property
    def fastest(self) -> tuple[int, int] | None:
        """(uid, bytes more) of who grew most; None where nobody did."""
        uid, more = max(self.by_uid.items(), key=lambda one: one[1], default=(0, 0))
        return (uid, more) if more > 0 else None


def of(project: Project) -> Growth | None:
    """Over the week before the last good measurement, or what there is of it; None before the second one."""
    whole = Measure.objects.filter(project=project, uid=None, bytes__isnull=False, is_cut=False)
    last = whole.order_by("-day").first()
    first = whole.filter(day__gte=last.day - WEEK, day__lt=last.day).order_by("day").first() if last else None
    if last is None or first is None:
        return None
    rows = Measure.objects.filter(project=project, day__in=[first.day, last.day])
    return _between(first, last, rows)


def _between(first: Measure, last: Measure, rows: Iterable[Measure]) -> Growth:
    by_uid: dict[int, int] = {}
    for row in rows:
        if row.uid is not None:
            sign = 1 if row.day == last.day else -1
            by_uid[row.uid] = by_uid.get(row.uid, 0) + sign * (row.bytes or 0)
    return Growth(first.day, last.at, (last.bytes or 0) - (first.bytes or 0), by_uid)


def told(project: Project) -> dict[str, Any] | None:
    """The same as the API tells it, who grew most first."""
    found = of(project)
    if found is None:
        return None
    rows = project.memberships.filter(user__uid_number__in=found.by_uid).values_list(
        "user__uid_number", "user__username"
    )
    logins = dict(rows)
    ordered = sorted(found.by_uid.items(), key=lambda one: -one[1])
    people = [{"uid": uid, "login": logins.get(uid), "bytes": more} for uid, more in ordered]
    return {"since": found.since, "at": found.at, "bytes": found.more, "people": people}
