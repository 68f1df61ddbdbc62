"""The cluster as one picture: a row each for the cluster, its partitions and its nodes, and how old each part is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.compiled import Fixed

STALE_AFTER = timedelta(seconds=90)


class Cluster(models.Model):
    """One Slurm cluster and when each part of its picture was last seen."""

    name = models.CharField(_("name"), max_length=40, unique=True)
    slurm_version = models.CharField(_("Slurm release"), max_length=20, blank=True)
    simulated = models.BooleanField(_("simulated GPUs"), default=False)
    jobs_seen_at = models.DateTimeField(null=True)
    nodes_seen_at = models.DateTimeField(null=True)
    partitions_seen_at = models.DateTimeField(null=True)
    accounting_seen_at = models.DateTimeField(null=True)
    answering_since = models.DateTimeField(null=True)  # slurmctld's first good answer after a silence; null: silent now
    last_error = models.CharField(max_length=300, blank=True)
    # the site's own: {"name", "starts_at", "ends_at" (ISO), "nodes", "users", "accounts"}; for whom is shown to nobody
    reservations = models.JSONField(default=list)

    def __str__(self) -> str:
        return self.name

    @property
    def age_seconds(self) -> float | None:
        """Age of the picture of jobs, in seconds; None before the first look."""
        return None if self.jobs_seen_at is None else (timezone.now() - self.jobs_seen_at).total_seconds()

    @property
    def unreachable(self) -> bool:
        """Whether Slurm did not answer the last time."""
        return self.answering_since is None

    @property
    def stale(self) -> bool:
        """Whether the picture is too old to be called the present."""
        return self.jobs_seen_at is None or timezone.now() - self.jobs_seen_at > STALE_AFTER

    @property
    def kept(self) -> list[Kept]:
        """Reservations under way and to come, the first one first."""
        found = [
            Kept(
                one["name"],
                datetime.fromisoformat(one["starts_at"]),
                datetime.fromisoformat(one["ends_at"]),
                one["nodes"],
                one.get("users", []),
                one.get("accounts", []),
            )
            for one in self.reservations
        ]
        return sorted((one for one in found if one.ends_at > timezone.now()), key=lambda one: (one.starts_at, one.name))


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """Nodes the site keeps for somebody for a time."""

    name: str
    starts_at: datetime
    ends_at: datetime
    nodes: Sequence[str]
    users: Sequence[str] = ()
    accounts: Sequence[str] = ()

    def is_for(self, login: str, account: str) -> bool:
        """Whether Slurm lets this user's jobs under this account in: where both are named, both must fit."""
        return bool(self.users or self.accounts) and _lets(self.users, login) and _lets(self.accounts, account)


def _lets(names: Sequence[str], name: str) -> bool:
    """No names: everybody. Names behind a "-": everybody else."""
    shut = [one for one in names if one.startswith("-")]
    return f"-{name}" not in shut if shut else not names or name in names


class Partition(models.Model):
    """One partition: its limits, and per GPU type how many GPUs one node and all nodes have."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="partitions")
    name = models.CharField(_("partition"), max_length=60)
    state = models.CharField(max_length=20)
    node_names = ArrayField(models.CharField(max_length=80), default=list)
    gpu_types = models.JSONField(default=dict)  # {"a100": {"per_node": 4, "total": 8}}
    max_time_minutes = models.PositiveIntegerField(null=True)
    default_time_minutes = models.PositiveIntegerField(null=True)
    max_nodes = models.PositiveIntegerField(null=True)
    cpus_per_node = models.PositiveIntegerField(default=0)  # of its largest node
    memory_mb_per_node = models.PositiveBigIntegerField(default=0)
    allowed_accounts = ArrayField(models.CharField(max_length=60), default=list)
    allowed_qos = ArrayField(models.CharField(max_length=60), default=list)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=["cluster", "name"], name="one_partition_per_name"),)

    def __str__(self) -> str:
        return self.name

    @property
    def node_count(self) -> int:
        """How many nodes it has."""
        return len(self.node_names)


class Node(models.Model):
    """One node as Slurm last described it."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    name = models.CharField(_("node"), max_length=80)
    states = ArrayField(models.CharField(max_length=30), default=list)
    cpus = models.PositiveIntegerField(default=0)
    cpus_allocated = models.PositiveIntegerField(default=0)
    memory_mb = models.PositiveBigIntegerField(default=0)
    memory_allocated_mb = models.PositiveBigIntegerField(default=0)
    gpu_types = models.JSONField(default=dict)  # {"a100": 4}
    gpus_allocated = models.PositiveIntegerField(default=0)
    partition_names = ArrayField(models.CharField(max_length=60), default=list)
    reason = models.CharField(max_length=300, blank=True)
    reason_since = models.DateTimeField(null=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=["cluster", "name"], name="one_node_per_name"),)

    def __str__(self) -> str:
        return self.name

    @property
    def gpus(self) -> int:
        """All its GPUs."""
        return sum(self.gpu_types.values())

    @property
    def out_of_service(self) -> bool:
        """Down, draining or not answering: its free GPUs are not to be had."""
        return bool({"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "NOT_RESPONDING", "MAINT"} & set(self.states))


# what several pages show whole
NODES = Fixed(lambda: Node.objects.all())
PARTITIONS = Fixed(lambda: Partition.objects.all())
