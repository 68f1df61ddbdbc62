"""What a job did with its GPUs and nodes, kept for ever when the series are gone."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from jobs.gpu_use import GpuUse
from jobs.models.handover import Run
from jobs.models.job import Job


class Kept(models.Model):
    """One run: a row a card in `cards` (see cluster.metrics.sums.Sum), a row a node in `hosts`.

    What ran without GPUs has one, too, without cards. `hosts`: see cluster.metrics.host_sums.Sums.
    """

    kept_at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField()
    gpus = models.PositiveIntegerField()  # held
    cards = models.JSONField(default=list)
    hosts = models.JSONField(default=dict)  # by node: CPUs, memory, waiting, files, storage, network
    active_share = models.FloatField(null=True)  # of the GPU-hours it held; null: too little was read

    class Meta:
        abstract = True

    @property
    def use(self) -> GpuUse:
        """The same, to be told."""
        return GpuUse.of(self.seconds, self.gpus, self.cards)


class GpuSummary(Kept):
    """Of a job's last run."""

    job = models.OneToOneField(Job, on_delete=models.PROTECT, primary_key=True, related_name="gpu_summary")

    def __str__(self) -> str:
        return f"{self.job}"


class TaskSummary(Kept):
    """Of a run of one task of an array."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="summary")

    def __str__(self) -> str:
        return f"{self.run}"
