"""At the end of a job a summary of its GPUs and nodes is kept, once, whatever becomes of Prometheus."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.utils import timezone

from cluster.metrics.charts import cards_of
from cluster.metrics.host_sums import host_sums
from cluster.metrics.prometheus import Away, Prometheus
from cluster.metrics.sums import Sum, sums
from jobs.gpu_use import GpuUse
from jobs.models import GpuSummary, Job, Phase, Run, TaskSummary
from jobs.services.gpus.places import hosts_of, hosts_of_task

log = structlog.get_logger(__name__)
SETTLED = timedelta(seconds=20)  # after an end, so that the last readings are there
TRIED_FOR = timedelta(days=3)  # after an end; then nothing will come any more
AT_A_TIME = 50
PATIENT = 30.0  # seconds a question may take here


def keep_summaries() -> int:
    """Those of jobs and tasks that ended and have none yet; how many were kept. Away: another time."""
    if not settings.PROMETHEUS_URL:
        return 0
    source, kept = Prometheus(settings.PROMETHEUS_URL, PATIENT), 0
    due: list[Job | Run] = [*_due(), *_due_tasks()]
    for one in due:
        try:
            kept += keep(one, source)
        except Away as why:
            log.info("metrics do not answer", why=str(why))
            break
    return kept


def _due() -> list[Job]:
    """The tasks of an array have a summary each, and it none."""
    rows = Job.objects.filter(phase=Phase.ENDED, slurm_job_id__isnull=False, gpu_summary=None, **_settled())
    rows = rows.exclude(node_list="").exclude(options__has_key="array")
    return list(rows.defer("script", "environment").order_by("ended_at")[:AT_A_TIME])


def _due_tasks() -> list[Run]:
    rows = Run.objects.filter(array_task__isnull=False, own_id__isnull=False, summary=None, **_settled())
    return list(rows.exclude(node_list="").order_by("ended_at")[:AT_A_TIME])


def _settled() -> dict[str, Any]:
    now = timezone.now()
    return {"started_at__isnull": False, "ended_at__gt": now - TRIED_FOR, "ended_at__lt": now - SETTLED}


def keep(one: Job | Run, source: Prometheus) -> bool:
    """Write this one's down. False where it ran nowhere."""
    place = hosts_of(one) if isinstance(one, Job) else hosts_of_task(one)
    if place is None:
        return False
    held = one.gpus if isinstance(one, Run) else one.allocated_gpus or one.total_gpus
    rows = [_row(card) for card in sums(place, cards_of(place, source) if held else [], source)]
    use = GpuUse.of(place.end - place.start, held, rows)
    kept: dict[str, Any] = {"seconds": use.seconds, "gpus": held, "cards": rows, "active_share": use.active_share}
    kept["hosts"] = host_sums(place, source)
    if isinstance(one, Job):
        GpuSummary.objects.get_or_create(job=one, defaults=kept)
    else:
        TaskSummary.objects.get_or_create(run=one, defaults=kept)
    return True


def _row(one: Sum) -> dict[str, Any]:
    found = dataclasses.asdict(one)
    return found | found.pop("card")
