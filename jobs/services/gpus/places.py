"""Where and when a job ran, as the metrics know it: by our own rows alone, never by what a label says."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from cluster.metrics.charts import Where
from jobs.models import Job
from slurm.text import hosts


def where(job: Job, now: datetime | None = None) -> Where | None:
    """Its number, nodes and span (unix seconds); None before it started, and for what runs without GPUs."""
    if job.slurm_job_id is None or job.started_at is None or not job.node_list or not (job.gpus or job.allocated_gpus):
        return None
    end = job.ended_at or now or timezone.now()
    return Where(job.slurm_job_id, tuple(hosts(job.node_list)), job.started_at.timestamp(), end.timestamp())
