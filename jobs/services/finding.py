"""Jobs found by who asked, on what, when, and by any text that people gave them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from access.ids import first_at
from jobs.models import Job


def first_of(day: date) -> UUID:
    """Ids sort by time: the lowest of a day's, on the site's clock."""
    return first_at(timezone.make_aware(datetime.combine(day, datetime.min.time())).timestamp())


def after(day: date) -> UUID:
    """The lowest of the next day's; behind all of them where there is no next day."""
    return first_of(day + timedelta(days=1)) if day < date.max else UUID(int=2**128 - 1)


def saying(text: str) -> Q:
    """In the name it was asked for by, the one people gave it since, or their note; a whole number is Slurm's."""
    if text.isascii() and text.isdigit() and len(text) < 18:
        return Q(slurm_job_id=int(text))
    return Q(name__icontains=text) | Q(alias__icontains=text) | Q(note__icontains=text)


def narrowed(
    rows: QuerySet[Job], *, owner: str = "", gpu_type: str = "", text: str = "", since: date | None = None,
    until: date | None = None,
) -> QuerySet[Job]:  # fmt: skip
    """By what is given; both days count as whole."""
    wanted = {
        "owner_login": owner, "gpu_type": gpu_type, "pk__gte": since and first_of(since),
        "pk__lt": until and after(until),
    }  # fmt: skip
    rows = rows.filter(**{name: value for name, value in wanted.items() if value})
    return rows.filter(saying(text)) if text else rows
