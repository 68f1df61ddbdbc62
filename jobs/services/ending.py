"""When jobs that run must have ended, by their time limits: who waits for room is told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from jobs.models import Job

MOST = 2000  # looked at; a refusal need not wait for more


def ends(references: Sequence[str]) -> dict[str, datetime]:
    """Of the jobs behind these references of holds, those that run and have a limit."""
    rows = Job.objects.filter(pk__in=[UUID(name) for name in references[:MOST]], ended_at=None)
    rows = rows.filter(started_at__isnull=False).only("started_at", "ended_at", "time_limit_minutes")
    return {str(job.pk): job.ends_by for job in rows if job.ends_by is not None}
