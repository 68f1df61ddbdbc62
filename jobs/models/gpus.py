"""What the GPUs of a job did, kept for ever when the series are gone."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from jobs.gpu_use import GpuUse
from jobs.models.job import Job


class GpuSummary(models.Model):
    """One job's GPUs over its last run: a row a card in `cards` (see cluster.metrics.sums.Sum)."""

    job = models.OneToOneField(Job, on_delete=models.PROTECT, primary_key=True, related_name="gpu_summary")
    kept_at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField()
    gpus = models.PositiveIntegerField()  # held
    cards = models.JSONField(default=list)
    active_share = models.FloatField(null=True)  # of the GPU-hours it held; null: too little was read

    def __str__(self) -> str:
        return f"{self.job}"

    @property
    def use(self) -> GpuUse:
        """The same, to be told."""
        return GpuUse.of(self.seconds, self.gpus, self.cards)
