"""The GPUs as the nodes' agents last showed them, and who used one outside the queue."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.compiled import Fixed
from cluster.models.picture import Cluster

IDLE = 2  # % of utilisation up to which a card does nothing
IDLE_AFTER = timedelta(minutes=5)  # before a page calls it idle
RECENT = 60  # readings that are kept for a small chart
EVERY = 15  # seconds between two of them
OLD_AFTER = timedelta(seconds=90)
HOT = 85  # degrees Celsius
NOTICE_AFTER = timedelta(minutes=5)  # of use outside the queue, before somebody is told


class Gpu(models.Model):
    """One card: what it does now, for which jobs, since when it is idle. % and MiB and W; None: not to be read."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="gpus")
    node_name = models.CharField(_("node"), max_length=80)
    index = models.PositiveSmallIntegerField()
    model = models.CharField(max_length=96, blank=True)
    state = models.CharField(max_length=10)  # ok, lost, hung, error
    utilization = models.FloatField(null=True)
    memory_mib = models.FloatField(null=True)
    memory_total_mib = models.FloatField(null=True)
    power_watts = models.FloatField(null=True)
    power_limit_watts = models.FloatField(null=True)
    temperature = models.FloatField(null=True)
    throttled = ArrayField(models.CharField(max_length=10), default=list)  # power, thermal, hardware, other
    faults = ArrayField(models.CharField(max_length=20), default=list)  # ecc, remap, xid 79: what makes it fail
    mig = models.BooleanField(default=False)
    slurm_jobs = ArrayField(models.BigIntegerField(), default=list)  # by number, as the node says
    strangers = models.JSONField(default=list)  # [{"pid", "uid", "mib"}]: processes of no job
    idle_since = models.DateTimeField(null=True)
    recent = ArrayField(models.SmallIntegerField(null=True), default=list)  # % of the last quarter of an hour
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ("node_name", "index")
        constraints = (models.UniqueConstraint(fields=["cluster", "node_name", "index"], name="one_row_per_gpu"),)

    def __str__(self) -> str:
        return f"{self.node_name} GPU {self.index}"

    @property
    def is_old(self) -> bool:
        """Whether what is shown is not the present."""
        return timezone.now() - self.seen_at > OLD_AFTER

    @property
    def is_failing(self) -> bool:
        """Lost, silent, or with errors that do not go away."""
        return self.state != "ok" or bool(self.faults)

    @property
    def is_hot(self) -> bool:
        """Too warm, or held down because of it."""
        return (self.temperature or 0) >= HOT or "thermal" in self.throttled

    @property
    def is_outside(self) -> bool:
        """In use outside the queue."""
        return bool(self.strangers)

    @property
    def idle_for(self) -> timedelta | None:
        """How long it was seen to do nothing, up to the last look, where that is long enough to say so."""
        idle = self.seen_at - self.idle_since if self.idle_since else None
        return idle if idle and idle >= IDLE_AFTER else None


class OutsideUse(models.Model):
    """One person's use of one card outside the queue, from the first look that saw it to the last."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    node_name = models.CharField(max_length=80)
    index = models.PositiveSmallIntegerField()
    uid = models.BigIntegerField(null=True)  # null: the node could not say
    most_mib = models.FloatField(default=0)
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-began_at",)
        constraints = (
            models.UniqueConstraint(
                fields=["cluster", "node_name", "index", "uid"], name="one_open_outside_use", nulls_distinct=False,
                condition=Q(ended_at=None),
            ),
        )  # fmt: skip
        indexes = (models.Index(fields=["began_at"], name="outside_began"),)

    def __str__(self) -> str:
        return f"{self.node_name} GPU {self.index} · {self.uid}"

    @property
    def seconds(self) -> float:
        """How long it went on; a clock that was put back makes it none, not less."""
        return max(0.0, ((self.ended_at or self.seen_at) - self.began_at).total_seconds())


# what several pages show whole
GPUS = Fixed(lambda: Gpu.objects.all())
