"""Note that there is something to tell: a row in the transaction of what happened, one of a kind for a job."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef
from django.utils import timezone

from jobs.models import Job, Kind, Notice, Phase
from jobs.states import State

SHARE = 0.8  # of the time limit
SHORTEST = 10  # minutes of time limit below which that would come too late to act


def note(job: Job, kind: Kind) -> None:
    """Once, whatever happens to the job later; nobody is told of a job that came around the portal."""
    if job.owner_id is not None and not job.is_outside:
        Notice.objects.bulk_create([Notice(user_id=job.owner_id, job=job, kind=kind)], ignore_conflicts=True)


def of_end(job: Job) -> Kind:
    """Whether it failed or just ended: who cancelled a job knows."""
    return Kind.ENDED if job.state in (State.COMPLETED, State.CANCELLED) else Kind.FAILED


def look_at_clock() -> int:
    """Note which running jobs have used 80 % of their time; how many. An array's tasks have clocks of their own."""
    now = timezone.now()
    told = Exists(Notice.objects.filter(job=OuterRef("pk"), kind=Kind.TIME))
    rows = Job.objects.filter(phase=Phase.ACCEPTED, state=State.RUNNING, started_at__isnull=False)
    rows = rows.filter(time_limit_minutes__gte=SHORTEST).exclude(options__has_key="array").exclude(told)
    late = [job for job in rows.only("started_at", "time_limit_minutes", "owner", "source") if _is_late(job, now)]
    for job in late:
        note(job, Kind.TIME)
    return len(late)


def _is_late(job: Job, now: datetime) -> bool:
    minutes = job.time_limit_minutes or 0
    return job.started_at is not None and job.started_at + timedelta(minutes=SHARE * minutes) <= now
