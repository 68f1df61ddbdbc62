"""How much a project may use: allocations, what is held of them by jobs under way, and what was used."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from access.permissions import Permission
from projects.models import Project


class AllocationQuerySet(models.QuerySet["Allocation"]):
    """Reads of allocations."""

    def current(self) -> AllocationQuerySet:
        """Within their period today (UTC)."""
        today = timezone.now().date()
        return self.filter(Q(ends_on=None) | Q(ends_on__gte=today), starts_on__lte=today)


class Allocation(models.Model):
    """What a project may use in a period; one QOS in Slurm. None means no limit. GPU-minutes, minutes, counts."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="allocations")
    code = models.CharField(_("code"), max_length=31)
    title = models.CharField(_("title"), max_length=120)
    qos = models.CharField(_("QOS"), max_length=60, unique=True)
    starts_on = models.DateField(_("from"))
    ends_on = models.DateField(_("until"), null=True, blank=True)
    gpus_at_once = models.PositiveIntegerField(_("GPUs at once"), null=True, blank=True)
    gpu_minutes = models.PositiveBigIntegerField(_("GPU-minutes"), null=True, blank=True)
    longest_minutes = models.PositiveIntegerField(_("longest run"), null=True, blank=True)
    jobs_submitted = models.PositiveIntegerField(_("jobs queued and running"), null=True, blank=True)
    used_gpu_minutes = models.PositiveBigIntegerField(_("used"), default=0)
    is_default = models.BooleanField(_("default"), default=False)

    objects = AllocationQuerySet.as_manager()

    gate_scope, gate_owner, gate_view = "project", "", Permission.PROJECT_VIEW

    class Meta:
        ordering = ("-is_default", "code")
        constraints = (
            models.UniqueConstraint(fields=["project", "code"], name="one_allocation_per_code"),
            models.UniqueConstraint(fields=["project"], condition=Q(is_default=True), name="one_default_allocation"),
        )

    def __str__(self) -> str:
        return self.title


class Hold(models.Model):
    """What one job under way has committed of an allocation: its largest possible GPU-minutes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    allocation = models.ForeignKey(Allocation, on_delete=models.CASCADE, related_name="holds")
    reference = models.CharField(max_length=64, unique=True)  # the job's id; quotas knows no jobs
    gpus = models.PositiveIntegerField()
    gpu_minutes = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    released_at = models.DateTimeField(null=True)
    used_gpu_minutes = models.PositiveBigIntegerField(default=0)

    class Meta:
        indexes = (models.Index(fields=["allocation"], name="hold_open", condition=Q(released_at=None)),)

    def __str__(self) -> str:
        return f"{self.reference}: {self.gpu_minutes} GPU-minutes"
