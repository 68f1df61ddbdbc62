"""What the worker does for the cluster's picture: the GPUs as Prometheus has them, and who uses one past the queue."""

from __future__ import annotations

import structlog
from celery import shared_task
from django.conf import settings

from audit import context
from cluster import services
from cluster.metrics.prometheus import Away
from cluster.models import Cluster
from cluster.services import operating, outside

log = structlog.get_logger(__name__)


@shared_task(name="default.look_at_gpus")
def look_at_gpus() -> None:
    """Keep the picture of the GPUs up; where Prometheus does not answer it grows old, and says so."""
    cluster = Cluster.objects.filter(name=settings.CLUSTER_NAME).first()
    if cluster is None or not settings.PROMETHEUS_URL:
        return
    with context.coming_from("task"):
        try:
            services.look_at_gpus(cluster)
        except Away as why:
            log.info("metrics do not answer", why=str(why))
            return
        outside.tell()


@shared_task(name="slurm.operate")
def operate() -> None:
    """What cluster administrators asked of nodes and windows."""
    with context.coming_from("task"):
        operating.carry_out()
