"""What a project may use in a period, who pays for it, and how members divide it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.permissions import Permission
from projects.models import Project, code_validator


class FundingSource(models.Model):
    """Who pays: an agency's process over its own period, and what publications must say of it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="funding_sources")
    agency = models.CharField(_("agency"), max_length=80)
    number = models.CharField(_("process number"), max_length=60)
    starts_on = models.DateField(_("from"))
    ends_on = models.DateField(_("until"), null=True, blank=True)
    acknowledgement = models.TextField(_("acknowledgement"), max_length=2000, blank=True)

    gate_scope, gate_owner, gate_view = "project", "", Permission.PROJECT_VIEW

    class Meta:
        ordering = ("agency", "number")
        constraints = (
            models.UniqueConstraint(fields=["project", "agency", "number"], name="one_funding_source_per_number"),
            models.CheckConstraint(
                condition=Q(ends_on=None) | Q(ends_on__gte=F("starts_on")), name="funding_ends_after_start"
            ),
        )

    def __str__(self) -> str:
        return f"{self.agency} {self.number}"


class AllocationQuerySet(models.QuerySet["Allocation"]):
    """Reads of allocations."""

    def current(self) -> AllocationQuerySet:
        """In force today (UTC)."""
        return self.in_force(timezone.now().date())

    def in_force(self, today: date) -> AllocationQuerySet:
        """Within their period on that day, and not closed."""
        return self.filter(Q(ends_on=None) | Q(ends_on__gte=today), starts_on__lte=today, closed_at=None)


class Allocation(models.Model):
    """What a project may use in a period; one QOS in Slurm. None means no limit. GPU-minutes, minutes, counts.

    The same per GPU type under `gpus_by_type` and `gpu_minutes_by_type`. `partitions` empty: all of the project's.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="allocations")
    code = models.CharField(_("code"), max_length=31, validators=[code_validator])
    title = models.CharField(_("title"), max_length=120)
    funding = models.ForeignKey(
        FundingSource, on_delete=models.PROTECT, null=True, blank=True, related_name="allocations"
    )
    qos = models.CharField(_("QOS"), max_length=60, unique=True)
    starts_on = models.DateField(_("from"))
    ends_on = models.DateField(_("until"), null=True, blank=True)
    gpus_at_once = models.PositiveIntegerField(_("GPUs at once"), null=True, blank=True)
    gpu_minutes = models.PositiveBigIntegerField(_("GPU-minutes"), null=True, blank=True)
    longest_minutes = models.PositiveIntegerField(_("longest run"), null=True, blank=True)
    jobs_submitted = models.PositiveIntegerField(_("jobs queued and running"), null=True, blank=True)
    jobs_running = models.PositiveIntegerField(_("jobs running"), null=True, blank=True)
    gpus_by_type = models.JSONField(_("GPUs at once, by type"), default=dict, blank=True)
    gpu_minutes_by_type = models.JSONField(_("GPU-minutes, by type"), default=dict, blank=True)
    partitions = ArrayField(models.CharField(max_length=60), verbose_name=_("partitions"), default=list, blank=True)
    deny_on_limit = models.BooleanField(_("refuse at once what can never start"), default=False)
    is_shared = models.BooleanField(default=False)  # some member has a share; else nobody need look
    closed_at = models.DateTimeField(null=True, blank=True)
    used_gpu_minutes = models.PositiveBigIntegerField(_("used"), default=0)
    used_as_of = models.DateTimeField(null=True, blank=True)
    is_default = models.BooleanField(_("default"), default=False)
    warned_level = models.PositiveSmallIntegerField(default=0)  # 75, 90 or 100 percent: who can act was told of it
    mailed_level = models.PositiveSmallIntegerField(default=0)  # and had the mail, where the site sends any

    objects = AllocationQuerySet.as_manager()

    gate_scope, gate_owner, gate_view = "project", "", Permission.PROJECT_VIEW

    class Meta:
        ordering = ("-is_default", "code")
        constraints = (
            models.UniqueConstraint(fields=["project", "code"], name="one_allocation_per_code"),
            models.UniqueConstraint(fields=["project"], condition=Q(is_default=True), name="one_default_allocation"),
            models.CheckConstraint(
                condition=Q(ends_on=None) | Q(ends_on__gte=F("starts_on")), name="allocation_ends_after_start"
            ),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def is_open(self) -> bool:
        """Whether a job may spend it today (UTC)."""
        today = timezone.now().date()
        return self.closed_at is None and self.starts_on <= today and (self.ends_on is None or today <= self.ends_on)


class Share(models.Model):
    """What one member may use of an allocation, on each partition; None means as much as the allocation gives."""

    allocation = models.ForeignKey(Allocation, on_delete=models.CASCADE, related_name="shares")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    gpus_at_once = models.PositiveIntegerField(_("GPUs at once"), null=True, blank=True)
    gpu_minutes = models.PositiveBigIntegerField(_("GPU-minutes"), null=True, blank=True)
    longest_minutes = models.PositiveIntegerField(_("longest run"), null=True, blank=True)
    jobs_submitted = models.PositiveIntegerField(_("jobs queued and running"), null=True, blank=True)
    jobs_running = models.PositiveIntegerField(_("jobs running"), null=True, blank=True)

    gpus_by_type = models.JSONField(_("GPUs at once, by type"), default=dict, blank=True)
    gpu_minutes_by_type = models.JSONField(_("GPU-minutes, by type"), default=dict, blank=True)

    LIMITS = ("gpus_at_once", "gpu_minutes", "longest_minutes", "jobs_submitted", "jobs_running")
    BY_TYPE = ("gpus_by_type", "gpu_minutes_by_type")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["allocation", "user"], name="one_share_per_person"),)

    def __str__(self) -> str:
        return f"{self.user} · {self.allocation}"

    @classmethod
    def whole(cls, limits: Mapping[str, Any] | Share | None) -> dict[str, Any]:
        """All limits of a share, given some of them, a row or none: None, or no type, where there is none."""
        given = vars(limits) if isinstance(limits, Share) else limits or {}
        return {name: given.get(name) for name in cls.LIMITS} | {name: given.get(name) or {} for name in cls.BY_TYPE}
