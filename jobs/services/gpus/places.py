"""Where and when a job ran, as the metrics know it: by our own rows alone, never by what a label says."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from cluster.metrics.charts import Where
from jobs.models import Job, Run
from slurm.text import hosts


def held(job: Job, task: int | None, *, without_gpus: bool = False) -> tuple[Where | None, datetime | None]:
    """Where a job, or a task of its array, ran, and when it ended; None where it did not start, or held no GPU."""
    if task is None:
        return hosts_of(job) if without_gpus else where(job), job.ended_at
    run = last_run(job, task)
    if run is None:
        return None, None
    return hosts_of_task(run) if without_gpus else of_task(run), run.ended_at


def where(job: Job) -> Where | None:
    """Its number, nodes and span (unix seconds); None before it started, and for what runs without GPUs."""
    return hosts_of(job) if job.gpus or job.allocated_gpus else None


def hosts_of(job: Job) -> Where | None:
    """The same, with GPUs or without."""
    if job.slurm_job_id is None or job.started_at is None or not job.node_list:
        return None
    return _span(job.slurm_job_id, job.node_list, job.started_at, job.ended_at)


def of_task(run: Run) -> Where | None:
    """The same of one task of an array, which nodes know by a number of its own."""
    return hosts_of_task(run) if run.gpus else None


def hosts_of_task(run: Run) -> Where | None:
    """The same, with GPUs or without."""
    if run.own_id is None or run.started_at is None or not run.node_list:
        return None
    return _span(run.own_id, run.node_list, run.started_at, run.ended_at)


def _span(number: int, nodes: str, start: datetime, end: datetime | None) -> Where:
    """Until now where it runs; never before its start, whatever the clocks of slurmctld and of the portal say."""
    until = max(end or timezone.now(), start)
    return Where(number, tuple(hosts(nodes)), start.timestamp(), until.timestamp())


def last_run(job: Job, task: int) -> Run | None:
    """The task's newest."""
    rows = Run.objects.filter(handover__job=job, array_task=task)
    return rows.order_by("-handover__attempt", "-restart_count").first()
