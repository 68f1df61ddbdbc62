"""Note that there is something to tell: a row in the transaction of what happened, one of a kind for a job."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Case, Exists, F, OuterRef, Subquery, When
from django.utils import timezone

from jobs.models import Job, Kind, Notice, Phase, Run
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
    """Note which running jobs have used 80 % of their time; how many. Of an array the task that runs longest counts."""
    now = timezone.now()
    told = Exists(Notice.objects.filter(job=OuterRef("pk"), kind=Kind.TIME))
    tasks = Run.objects.filter(handover__job=OuterRef("pk"), ended_at=None, started_at__isnull=False)
    first = Subquery(tasks.order_by("started_at").values("started_at")[:1])
    rows = Job.objects.filter(phase=Phase.ACCEPTED, state=State.RUNNING, time_limit_minutes__gte=SHORTEST)
    rows = rows.exclude(told).annotate(clock=Case(When(options__has_key="array", then=first), default=F("started_at")))
    late = [job for job in rows.only("time_limit_minutes", "owner", "source") if _is_late(job, now)]
    for job in late:
        note(job, Kind.TIME)
    return len(late)


def _is_late(job: Job, now: datetime) -> bool:
    clock, minutes = getattr(job, "clock"), job.time_limit_minutes or 0  # noqa: B009 - of the query
    return clock is not None and clock + timedelta(minutes=SHARE * minutes) <= now
