"""What a job said it uses: which version, by which permission, for what; and when it ran."""

from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from access.ids import uuid7
from datasets.models.dataset import Dataset
from datasets.models.grant import Access, Grant
from datasets.models.version import DatasetVersion
from datasets.models.words import Purpose
from projects.models import Project


class DatasetUse(models.Model):
    """One dataset of one job. The job's own room writes when it started and ended; the rest is never changed."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.UUIDField()  # a reference: datasets knows no jobs
    job_name = models.CharField(max_length=64)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="uses")
    version = models.ForeignKey(DatasetVersion, on_delete=models.PROTECT, related_name="uses")
    grant = models.ForeignKey(Grant, on_delete=models.PROTECT, related_name="uses")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    purpose = models.CharField(max_length=12, choices=Purpose.choices)
    access = models.CharField(max_length=5, choices=Access.choices)
    declared_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=["job", "dataset"], name="one_use_per_job_and_dataset"),
            models.CheckConstraint(
                condition=Q(ended_at=None) | Q(started_at=None) | Q(ended_at__gte=F("started_at")),
                name="use_ends_after_start",
            ),
        )
        indexes = (
            models.Index(fields=["dataset", "-id"], name="use_dataset"),
            models.Index(fields=["project", "-id"], name="use_project"),
        )
        triggers = (
            pgtrigger.Protect(
                name="use_is_fixed",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange(
                    "job", "dataset", "version", "grant", "project", "user", "purpose", "access", "declared_at"
                ),
            ),
        )

    def __str__(self) -> str:
        return f"{self.job_name}: {self.dataset.code}"
