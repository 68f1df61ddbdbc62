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
from jobs.models import GpuSummary, Job, Phase
from jobs.services.gpus.places import hosts_of, where

log = structlog.get_logger(__name__)
SETTLED = timedelta(seconds=20)  # after an end, so that the last readings are there
TRIED_FOR = timedelta(days=3)  # after an end; then nothing will come any more
AT_A_TIME = 50
PATIENT = 30.0  # seconds a question may take here


def keep_summaries() -> int:
    """Those of jobs that ended and have none yet; how many were kept. Away: another time."""
    if not settings.PROMETHEUS_URL:
        return 0
    source, kept = Prometheus(settings.PROMETHEUS_URL, PATIENT), 0
    for job in _due():
        try:
            kept += keep(job, source)
        except Away as why:
            log.info("metrics do not answer", why=str(why))
            break
    return kept


def _due() -> list[Job]:
    now = timezone.now()
    rows = Job.objects.filter(phase=Phase.ENDED, ended_at__gt=now - TRIED_FOR, ended_at__lt=now - SETTLED)
    rows = rows.filter(started_at__isnull=False, slurm_job_id__isnull=False, gpu_summary=None).exclude(node_list="")
    return list(rows.defer("script", "environment").order_by("ended_at")[:AT_A_TIME])


def keep(job: Job, source: Prometheus) -> bool:
    """Write this one's down. False where it ran nowhere."""
    place = hosts_of(job)
    if place is None:
        return False
    cards = cards_of(place, source) if where(job) else []
    rows = [_row(one) for one in sums(place, cards, source)]
    held = job.allocated_gpus or job.total_gpus
    use = GpuUse.of(place.end - place.start, held, rows)
    kept = {"seconds": use.seconds, "gpus": held, "cards": rows, "active_share": use.active_share}
    GpuSummary.objects.get_or_create(job=job, defaults=kept | {"hosts": host_sums(place, source)})
    return True


def _row(one: Sum) -> dict[str, Any]:
    found = dataclasses.asdict(one)
    return found | found.pop("card")
