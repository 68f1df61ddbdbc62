"""Note that a job has ended and that its output is to be looked into: the row is the queue."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils import timezone

from jobs import bells
from jobs.models import Job, Phase, Report


def due(jobs: Iterable[Job]) -> None:
    """Of those that are over, in one statement; a job that ran again is looked into again."""
    now = timezone.now()
    rows = [Report(job=job, due_at=now) for job in jobs if job.phase == Phase.ENDED]
    if rows:
        Report.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["job"], update_fields=["due_at", "read_at"]
        )
        bells.ring(bells.LOOK_BACK)
