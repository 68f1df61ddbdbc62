"""Which line of an output was written at a moment, by the times its own lines carry."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings

from accounts.models import User
from jobs.models import Job
from jobs.services import reading

DAY = timedelta(hours=20)  # a run as long as this has a time of day twice: then the date must stand beside it


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A line (from 1), the byte where it was found, and the time as it stands there."""

    line: int
    offset: int
    stamp: str


def line_at(*, job: Job, by: User, at: datetime, stream: str = "stdout") -> Line | None:
    """The first line of that second, else of that minute; None where the lines carry no times. Raises ReaderDown."""
    span = ((job.ended_at or at) - job.started_at) if job.started_at else timedelta(0)
    for stamp in stamps(at, with_date=span >= DAY):
        found = reading.find(job=job, by=by, stream=stream, query=stamp, limit=1)
        if found.matches:
            line, offset = found.matches[0]
            return Line(line, offset, stamp.rstrip(":"))
    return None


def stamps(at: datetime, *, with_date: bool) -> Iterator[str]:
    """How programs write this moment, the nearest first: in the site's time, then in UTC."""
    zones = (at.astimezone(ZoneInfo(settings.TIME_ZONE)), at.astimezone(UTC))
    dates = ("%Y-%m-%d ", "%Y-%m-%dT") if with_date else ("",)
    for form in ("%H:%M:%S", "%H:%M:"):
        yield from dict.fromkeys(local.strftime(date + form) for local in zones for date in dates)
