"""What cluster administrators want of Slurm: a node out of service or back, a maintenance window."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from cluster.models.picture import Cluster


class Change(models.TextChoices):
    """What becomes of a node."""

    DRAIN = "drain", _("take out of service")
    RESUME = "resume", _("put back into service")


class NodeChange(models.Model):
    """One node to be drained or resumed: asked for at a door, done by the worker that may speak to Slurm."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    node_name = models.CharField(max_length=80)
    change = models.CharField(max_length=10, choices=Change.choices)
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    asked_at = models.DateTimeField(default=timezone.now)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    next_try_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True)
    words = models.CharField(max_length=300, blank=True)  # Slurm's, where it would not

    class Meta:
        ordering = ("asked_at",)
        constraints = (
            models.UniqueConstraint(
                fields=["cluster", "node_name"], name="one_open_node_change", condition=Q(done_at=None)
            ),
        )

    def __str__(self) -> str:
        return f"{self.node_name} {self.change}"


class Maintenance(models.Model):
    """A window in which nodes take no jobs: a reservation in Slurm, a banner here. No nodes: all of them."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="windows")
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("until"))
    node_names = ArrayField(models.CharField(max_length=80), default=list, blank=True)
    reason_en = models.CharField(_("what is done, in English"), max_length=200)
    reason_pt = models.CharField(_("what is done, in Portuguese"), max_length=200)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    cancelled_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(default=timezone.now)
    in_slurm = models.BooleanField(null=True)  # what Slurm has: null, not looked yet
    words = models.CharField(max_length=300, blank=True)

    PREFIX = "bancada-"  # of their names in Slurm: the site's own have others

    class Meta:
        ordering = ("starts_at",)
        constraints = (
            models.CheckConstraint(condition=Q(ends_at__gt=models.F("starts_at")), name="window_ends_later"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The reservation's, in Slurm."""
        return f"{self.PREFIX}{self.pk}"

    @property
    def reason(self) -> str:
        """What is done, in the reader's language."""
        return self.reason_pt if (get_language() or "").startswith("pt") else self.reason_en

    @property
    def is_wanted(self) -> bool:
        """Whether Slurm should have it now."""
        return self.cancelled_at is None and self.ends_at > timezone.now()

    def is_now(self, now: datetime) -> bool:
        """Whether it is under way."""
        return self.starts_at <= now < self.ends_at
