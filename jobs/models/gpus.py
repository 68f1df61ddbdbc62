"""What a job did with its GPUs and nodes, kept for ever when the series are gone."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from jobs.gpu_use import GpuUse
from jobs.models.job import Job


class GpuSummary(models.Model):
    """One job's last run: a row a card in `cards` (see cluster.metrics.sums.Sum), a row a node in `hosts`.

    A job without GPUs has one, too, without cards. `hosts`: see cluster.metrics.host_sums.Sums.
    """

    job = models.OneToOneField(Job, on_delete=models.PROTECT, primary_key=True, related_name="gpu_summary")
    kept_at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField()
    gpus = models.PositiveIntegerField()  # held
    cards = models.JSONField(default=list)
    hosts = models.JSONField(default=dict)  # by node: CPUs, memory, waiting, files, storage, network
    active_share = models.FloatField(null=True)  # of the GPU-hours it held; null: too little was read

    def __str__(self) -> str:
        return f"{self.job}"

    @property
    def use(self) -> GpuUse:
        """The same, to be told."""
        return GpuUse.of(self.seconds, self.gpus, self.cards)
