"""What a job that is over used of what it asked for, beside the person's last ones of the same name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from access.compiled import Fixed
from jobs import gpu_use
from jobs.models import GpuSummary, Job, Run, TaskSummary
from jobs.services.gpus.places import last_run
from jobs.shares import Beside, Shares, beside, share

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

LAST = 10  # jobs of the same name that one is compared with
_OF_RUN = ("cpus", "cpu_seconds", "peak_memory_mb", "started_at", "ended_at")


def _named(owner: int, name: str, upto: UUID) -> QuerySet[Job]:
    """This job and the last ones of its name before it, each with what is kept of it and its last run's numbers."""
    runs = Run.objects.filter(handover__job=OuterRef("pk"), array_task=None)
    last = runs.order_by("-handover__attempt", "-restart_count")
    facts = {f"run_{field}": Subquery(last.values(field)[:1]) for field in _OF_RUN}
    rows = Job.objects.filter(owner=owner, name=name, pk__lte=upto, started_at__isnull=False, ended_at__isnull=False)
    kept = (f"gpu_summary__{field}" for field in ("seconds", "gpus", "cards", "hosts", "active_share"))
    return rows.annotate(**facts).select_related("gpu_summary").only("memory_mb", *kept).order_by("-pk")[: LAST + 1]


def _summary(job: UUID) -> QuerySet[GpuSummary]:
    return GpuSummary.objects.filter(job=job)


NAMED, SUMMARY = Fixed(_named), Fixed(_summary)


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What a job that is over used: of GPUs, of each node (cluster.metrics.host_sums.Sums), beside earlier ones."""

    use: gpu_use.GpuUse
    advice: list[StrOrPromise]
    hosts: Mapping[str, Mapping[str, float]]
    compared: list[Beside]


def kept(job: Job, task: int | None = None) -> GpuSummary | TaskSummary | None:
    """What is kept of a job, or of the newest run of a task of its array."""
    if task is None:
        return SUMMARY.first(job=job.pk)
    run = last_run(job, task)
    return of_task(run) if run else None


def of_task(run: Run) -> TaskSummary | None:
    """The same of a task's run."""
    return TaskSummary.objects.filter(run=run).first() if run.ended_at else None


def report(job: Job, kept: GpuSummary | TaskSummary) -> Report:
    """Told of what was kept; a task stands beside no other."""
    others = compared(job) if isinstance(kept, GpuSummary) else []
    return Report(kept.use, gpu_use.advise(kept.use), kept.hosts, others)


def compared(job: Job) -> list[Beside]:
    """Each measure that this job and at least two of the person's last ten of its name have."""
    rows = NAMED.all(owner=job.owner_id, name=job.name, upto=job.pk) if job.owner_id else []
    if not rows or rows[0].pk != job.pk:
        return []
    own, *others = map(shares_of, rows)
    return list(beside(own, others))


def shares_of(row: Any) -> Shares:
    """Of a row of NAMED: by Slurm's accounting, else by the readings of its nodes."""
    kept = getattr(row, "gpu_summary", None)
    hosts = list(kept.hosts.values()) if kept else []
    seconds = (row.run_ended_at - row.run_started_at).total_seconds() if row.run_ended_at and row.run_started_at else 0
    cpus = [one["cpu"] for one in hosts if "cpu" in one]
    busy = row.run_cpu_seconds / seconds if row.run_cpu_seconds is not None and seconds > 0 else None
    peak = max((one["job_memory_most"] for one in hosts if "job_memory_most" in one), default=None)
    return Shares(
        active=kept.active_share if kept else None,
        gpu_memory=kept.use.memory_share if kept else None,
        cpus=share(busy if busy is not None else sum(cpus) if cpus else None, row.run_cpus),
        memory=share(row.run_peak_memory_mb if row.run_peak_memory_mb is not None else peak, row.memory_mb),
    )
