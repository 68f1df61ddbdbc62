"""What a project asks for beyond what it has: a new allocation, more of one, or a longer one."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from access.permissions import Permission
from projects.models import Project, Request
from quotas.models.allocation import Allocation, FundingSource


class Kind(models.TextChoices):
    """What is asked for."""

    NEW = "new", _("a new allocation")
    MORE = "more", _("more of an allocation")
    LONGER = "longer", _("a longer period")


class AllocationRequest(Request):
    """One request. Each amount is the whole that is wanted afterwards, not the difference; None or empty: not asked.

    Amounts are Allocation's own, in its units. `no_limit` names those that are to be limited no more (quotas.lifting).
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="allocation_requests")
    allocation = models.ForeignKey(Allocation, on_delete=models.PROTECT, null=True, blank=True, related_name="requests")
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    title = models.CharField(_("title"), max_length=120, blank=True)
    funding = models.ForeignKey(FundingSource, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    gpus_at_once = models.PositiveIntegerField(_("GPUs at once"), null=True, blank=True)
    gpu_minutes = models.PositiveBigIntegerField(_("GPU-minutes"), null=True, blank=True)
    longest_minutes = models.PositiveIntegerField(_("longest run"), null=True, blank=True)
    jobs_submitted = models.PositiveIntegerField(_("jobs queued and running"), null=True, blank=True)
    jobs_running = models.PositiveIntegerField(_("jobs running"), null=True, blank=True)
    gpus_by_type = models.JSONField(_("GPUs at once, by type"), default=dict, blank=True)
    gpu_minutes_by_type = models.JSONField(_("GPU-minutes, by type"), default=dict, blank=True)
    partitions = ArrayField(models.CharField(max_length=60), verbose_name=_("partitions"), default=list, blank=True)
    no_limit = ArrayField(models.CharField(max_length=60), verbose_name=_("no limit of"), default=list, blank=True)
    starts_on = models.DateField(_("from"), null=True, blank=True)
    ends_on = models.DateField(_("until"), null=True, blank=True)

    AMOUNTS = (
        "gpu_minutes", "gpus_at_once", "gpu_minutes_by_type", "gpus_by_type", "longest_minutes", "jobs_submitted",
        "jobs_running", "partitions",
    )  # fmt: skip

    # a request stands in the project's trail whole, so whoever reads that may read it: both sides, and the auditor
    gate_scope, gate_owner, gate_view = "project", "", Permission.TRAIL_READ

    class Meta:
        ordering = ("-asked_at",)
        constraints = (
            models.CheckConstraint(
                condition=Q(kind=Kind.NEW) | Q(allocation__isnull=False), name="request_names_its_allocation"
            ),
        )

    def __str__(self) -> str:
        return f"{self.project.code}: {self.get_kind_display()}"


class Comment(models.Model):
    """Something said about a request by either side."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    request = models.ForeignKey(AllocationRequest, on_delete=models.CASCADE, related_name="comments")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)
    text = models.TextField(_("comment"), max_length=4000)

    class Meta:
        ordering = ("at",)

    def __str__(self) -> str:
        return self.text[:60]
