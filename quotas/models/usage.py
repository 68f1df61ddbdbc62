"""What jobs have committed and used: holds of jobs under way, and usage by day as Slurm's accounting says."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from access.ids import uuid7
from projects.models import Project
from quotas.models.allocation import Allocation


class Hold(models.Model):
    """What one job under way has committed of an allocation: its largest possible GPU-minutes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    allocation = models.ForeignKey(Allocation, on_delete=models.CASCADE, related_name="holds")
    reference = models.CharField(max_length=64, unique=True)  # the job's id; quotas knows no jobs
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    gpu_type = models.CharField(max_length=40, blank=True, default="")
    gpus = models.PositiveIntegerField()  # the most it can run on at once
    gpu_minutes = models.PositiveBigIntegerField()
    tasks = models.PositiveIntegerField(default=1)  # of an array: Slurm counts each as a job
    created_at = models.DateTimeField(default=timezone.now)
    released_at = models.DateTimeField(null=True)
    used_gpu_minutes = models.PositiveBigIntegerField(default=0)

    class Meta:
        indexes = (models.Index(fields=["allocation"], name="hold_open", condition=Q(released_at=None)),)

    def __str__(self) -> str:
        return f"{self.reference}: {self.gpu_minutes} GPU-minutes"


class Usage(models.Model):
    """What one run of a job used on one day (UTC): GPU- and CPU-seconds of one GPU type ("" where it had none).

    Source: Slurm's AllocTRES and times of every run, requeued ones included; a run under way counts up to `as_of`.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="usage")
    allocation = models.ForeignKey(Allocation, on_delete=models.SET_NULL, null=True, related_name="usage")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    login = models.CharField(max_length=150)
    job = models.CharField(max_length=64)  # references: quotas knows no jobs
    run = models.CharField(max_length=64)
    is_outside = models.BooleanField(default=False)
    partition = models.CharField(max_length=60, blank=True)
    day = models.DateField()
    gpu_type = models.CharField(max_length=40, blank=True)
    gpu_seconds = models.PositiveBigIntegerField(default=0)
    cpu_seconds = models.PositiveBigIntegerField(default=0)
    as_of = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "day", "gpu_type"], name="one_usage_row_per_run_day_type"),
        )
        indexes = (
            models.Index(fields=["allocation", "day"], name="usage_of_allocation"),
            models.Index(fields=["project", "day"], name="usage_of_project"),
        )

    def __str__(self) -> str:
        return f"{self.job} {self.day}: {self.gpu_seconds} GPU-seconds"
