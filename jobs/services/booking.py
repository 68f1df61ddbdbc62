"""Book what runs used: each run when it ends, those under way once a minute."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from cluster.models import Cluster
from jobs.models import Phase, Run
from quotas import services as quotas

AT_A_TIME = 500  # runs of one transaction


def book(runs: Iterable[Run]) -> None:
    """What these (loaded with their hand-over and job) used so far."""
    started = [_facts(run, run.started_at) for run in runs if run.started_at is not None]
    for first in range(0, len(started), AT_A_TIME):
        quotas.book(started[first : first + AT_A_TIME], now=timezone.now())


def book_under_way(cluster: Cluster) -> None:
    """Those that run now, so that what is left of an allocation is a minute old at most."""
    rows = Run.objects.filter(handover__cluster=cluster, ended_at=None, handover__job__phase=Phase.ACCEPTED)
    book(_whole(rows))


def book_jobs(job_ids: Iterable[object]) -> None:
    """All runs of these jobs."""
    book(_whole(Run.objects.filter(handover__job__in=list(job_ids))))


def book_runs(pks: Iterable[UUID]) -> None:
    """These; of the tasks of an array, each when it ends."""
    if pks := list(pks):
        book(_whole(Run.objects.filter(pk__in=pks)))


def _whole(rows: QuerySet[Run]) -> QuerySet[Run]:
    return rows.select_related("handover__job").defer("handover__job__script", "handover__job__environment")


def _facts(run: Run, started_at: datetime) -> quotas.RunFacts:
    job = run.handover.job
    return quotas.RunFacts(
        run=str(run.pk), job=str(job.pk), project_id=job.project_id, allocation_id=job.allocation_id,
        user_id=job.owner_id, login=job.owner_login, is_outside=job.is_outside, partition=job.partition,
        started_at=started_at, ended_at=run.ended_at, gpus=run.gpus, gpu_types=run.gpu_types, cpus=run.cpus,
    )  # fmt: skip
