"""All projects as an operator's table reads them: filtered, sorted by one column, paged by key."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime
from functools import cache
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from access.compiled import Fixed
from jobs.models import Job
from jobs.services.leaving import RUNNING
from projects import reads
from projects.models import Membership, Project, ProjectState

SORTS = {"title": "title", "code": "code", "members": "members", "jobs": "unfinished", "opened": "created_at"}


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """Which projects, and in which order: a name of SORTS, "-" before it for the other way."""

    q: str = ""
    state: str = ""
    trouble: bool = False
    sort: str = "title"


def first(asked: Asked, most: int) -> list[Project]:
    """The first so many rows. Where nothing is filtered Django writes the statement once for each order."""
    if asked != Asked(sort=asked.sort):
        return list(page(asked)[:most])
    return _first(asked.sort, most).all(now=timezone.now())


@cache
def _first(sort: str, most: int) -> Fixed[Project]:
    return Fixed(lambda now: page(Asked(sort=sort), now=now)[:most])


def page(asked: Asked, after: str = "", *, now: datetime | None = None) -> QuerySet[Project]:
    """The rows after this cursor; each with `members`, `pis`, `unfinished` jobs and `running`."""
    plain = Project.objects.select_related("enforcement").defer("enforcement__seen", "enforcement__differences")
    rows = _filtered(plain, asked).annotate(
        members=_count(Membership.objects.active(now)),
        unfinished=_count(Job.objects.open()),
        running=_count(Job.objects.open().filter(state__in=RUNNING)),
        pis=reads.pis_of(now),
    )
    field, down = SORTS[asked.sort.removeprefix("-")], asked.sort.startswith("-")
    value = _value(field, after)
    if value is not None:
        beyond = {f"{field}__{'lt' if down else 'gt'}": value[0]}
        rows = rows.filter(Q(**beyond) | Q(**{field: value[0]}, pk__gt=value[1]))
    order = F(field).desc() if down else F(field).asc()
    return rows.order_by(order, "pk")


def cursor(asked: Asked, row: Any) -> str:
    """Where the page after this row begins."""
    value = getattr(row, SORTS[asked.sort.removeprefix("-")])
    return json.dumps([value.isoformat() if isinstance(value, datetime) else value, row.pk])


def _value(field: str, after: str) -> tuple[Any, int] | None:
    """What a cursor says; one that says nothing is none."""
    try:
        value, pk = json.loads(after)
        if field == "created_at":
            value = parse_datetime(value)
        kinds = {"title": str, "code": str, "members": int, "unfinished": int, "created_at": datetime}
        if isinstance(value, str) and "\x00" in value.encode().decode():
            return None
        return (value, pk) if isinstance(value, kinds[field]) and 0 < int(pk) < 2**62 else None
    except (ValueError, TypeError):
        return None


def _filtered(rows: QuerySet[Project], asked: Asked) -> QuerySet[Project]:
    if asked.q:
        texts = Q(code__icontains=asked.q) | Q(title__icontains=asked.q) | Q(organization__icontains=asked.q)
        rows = rows.filter(texts | Q(pk__in=_led_by(asked.q)))
    if asked.state:
        rows = rows.filter(state=asked.state)
    return rows.filter(_absent()) if asked.trouble else rows


def with_something_absent() -> QuerySet[Project]:
    """Projects that take work and do not work all the way."""
    return Project.objects.filter(_absent(), state=ProjectState.ACTIVE)


def _absent() -> Q:
    one = [Q(**{f"enforcement__ticks__{name}__ok": False}) for name in ("login", "files", "allocation", "queue")]
    return one[0] | one[1] | one[2] | one[3]


def _led_by(words: str) -> QuerySet[Any]:
    rows = Membership.objects.active().filter(role="pi")
    return rows.filter(Q(user__username=words) | Q(user__display_name__icontains=words)).values("project")


def _count(rows: Any) -> Coalesce:
    """How many of these each project has."""
    counted = rows.filter(project=OuterRef("pk")).order_by().values("project").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)
