"""What runs used, read from Slurm's accounting soon after their end and kept with them. By the follower."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from access.compiled import update_all
from cluster.models import Cluster
from jobs import bells
from jobs.models import Job, Run
from slurm.contract import Gateway, Used

SOON = timedelta(seconds=5)  # after an end: slurmdbd has the steps by then
PATIENCE = timedelta(minutes=2)  # after which what is not measured never will be
LAST = timedelta(days=1)
AT_ONCE = 500
Number = tuple[int, int | None]  # Slurm's number and array task


def measure(gateway: Gateway, cluster: Cluster) -> int:
    """Keep what the runs that ended lately used; how many. Costs slurmdbd one call, and none where nothing waits."""
    now = timezone.now()
    runs = _waiting(cluster, now)
    if not runs:
        return 0
    since = min(run.started_at or now for run in runs) - timedelta(minutes=5)
    found = _by_number(gateway.used(since=since, job_ids={run.handover.slurm_job_id or 0 for run in runs}))
    measured = [run for run in runs if _put(run, found, now)]
    update_all(measured, ("cpu_seconds", "peak_memory_mb", "measured_at"))
    tell({run.handover.job_id for run in measured})
    return len(measured)


def _waiting(cluster: Cluster, now: datetime) -> list[Run]:
    rows = Run.objects.filter(measured_at=None, ended_at__gt=now - LAST, ended_at__lt=now - SOON)
    rows = rows.filter(handover__cluster=cluster, handover__slurm_job_id__isnull=False)
    return list(rows.select_related("handover").order_by("ended_at")[:AT_ONCE])


def _by_number(used: Sequence[Used]) -> dict[Number, list[Used]]:
    """All runs of one number, the first one first."""
    found: dict[Number, list[Used]] = defaultdict(list)
    for one in sorted(used, key=lambda one: one.submit_time):
        found[one.job_id, one.array_task].append(one)
    return found


def _put(run: Run, found: dict[Number, list[Used]], now: datetime) -> bool:
    """What this run used (not saved), or that nobody knows; False where it is worth asking again."""
    since = (run.handover.submit_time or now) - timedelta(seconds=1)  # Slurm gives numbers again
    own = [one for one in found.get((run.handover.slurm_job_id or 0, run.array_task), ()) if one.submit_time >= since]
    one = own[min(run.restart_count, len(own) - 1)] if own else None
    if (one is None or one.peak_memory_mb is None) and now - (run.ended_at or now) < PATIENCE:
        return False
    run.measured_at = now
    if one is not None:
        run.cpu_seconds, run.peak_memory_mb = one.cpu_seconds, one.peak_memory_mb
    return True


def tell(jobs: set[UUID]) -> None:
    """Open pages of these jobs look again."""
    if jobs:
        Job.objects.filter(pk__in=jobs).update(change=F("change") + 1)
        bells.hint(Job.objects.filter(pk__in=jobs).values_list("pk", "change"))
