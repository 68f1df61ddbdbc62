"""The request of a job and how it stands now."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from uuid import UUID

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Q
from django.db.models.functions import Upper
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from access.permissions import Permission
from cluster.models import Cluster
from jobs.options import Options
from jobs.states import NEXT, OPEN, Phase, State, View, view
from projects.models import Project
from quotas.models import Allocation

_NONE = "00000000-0000-0000-0000-000000000000"


@cache
def _address() -> str:
    """Asked for once: a list has many, and finding out takes longer than filling in."""
    return reverse("jobs:detail", args=[_NONE])


# what a line of a list shows of a job
LINE = (
    "project", "source", "created_at", "name", "alias", "note", "partition", "gpu_type", "gpus", "nodes", "cpus",
    "time_limit_minutes", "archived_at", "options", "task_counts", "planned_at",
    "owner", "owner_login", "phase", "state", "reason", "slurm_job_id", "started_at", "ended_at", "node_list",
    "allocated_gpus", "exit_code", "exit_signal", "cancel_asked_by", "project__code", "project__title",
)  # fmt: skip


class Source(models.TextChoices):
    """Who asked Slurm for it."""

    PORTAL = "portal", _("portal")
    OUTSIDE = "outside", _("outside the portal")


class JobQuerySet(models.QuerySet["Job"]):
    """Reads of jobs."""

    def open(self) -> JobQuerySet:
        """Not over: asked for, being handed over, waiting or running."""
        return self.filter(phase__in=OPEN)

    def with_names(self) -> JobQuerySet:
        """With what a list shows of its relations, and without what it does not show."""
        own = [field.attname for field in Job._meta.concrete_fields if field.name not in ("script", "environment")]
        names = ("project__code", "project__title", "owner__username", "owner__display_name", "allocation__code",
                 "allocation__title")  # fmt: skip
        return self.select_related("project", "owner", "allocation").only(*own, *names)

    def lines(self, person: str = "") -> JobQuerySet:
        """With what a line of a list shows, and no more: half of the columns, the names of project and `person`."""
        names = (f"{person}__username", f"{person}__display_name") if person else ()
        return self.select_related("project", *([person] if person else [])).only(*LINE, *names)

    def before(self, cursor: UUID | str | None) -> JobQuerySet:
        """The page after this id, newest first (keyset: ids sort by time)."""
        return (self.filter(pk__lt=cursor) if cursor else self).order_by("-pk")


class Job(models.Model):
    """One request for work and how it stands. GPUs, CPUs and memory (MB) are per node; time in minutes; times UTC."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="jobs")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="jobs")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs", null=True)
    owner_login = models.CharField(max_length=64)  # as Slurm knows the person
    allocation = models.ForeignKey(Allocation, on_delete=models.PROTECT, related_name="jobs", null=True)
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.PORTAL)
    created_at = models.DateTimeField(_("asked for"), default=timezone.now)

    # the request: never changed once made
    name = models.CharField(_("name"), max_length=64)
    partition = models.CharField(_("partition"), max_length=60)
    gpu_type = models.CharField(_("GPU type"), max_length=40, blank=True)
    gpus = models.PositiveIntegerField(_("GPUs per node"), default=0)
    nodes = models.PositiveIntegerField(_("nodes"), default=1)
    cpus = models.PositiveIntegerField(_("CPUs per node"), default=1)
    memory_mb = models.PositiveBigIntegerField(_("memory per node"), default=0)
    time_limit_minutes = models.PositiveIntegerField(_("time limit"), null=True)
    script = models.TextField(_("script"), blank=True)
    environment = models.JSONField(default=dict)
    datasets = models.JSONField(default=list)  # each {"code", "version", "path", "variable"}, as it was permitted
    options = models.JSONField(default=dict)  # jobs.options.Options, without what was not asked for
    digest = models.CharField(max_length=64)  # SHA-256 of the canonical request
    idempotency_key = models.CharField(max_length=100, null=True)

    # how it stands: written by the worker and the follower only
    # of an array, how many tasks are in each state: {"total": 100, "running": 8, "waiting": 92}
    task_counts = models.JSONField(default=dict)
    phase = models.CharField(max_length=12, choices=Phase.choices, default=Phase.REQUESTED)
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.HANDING)
    slurm_states = ArrayField(models.CharField(max_length=30), default=list)
    reason = models.CharField(_("reason"), max_length=200, blank=True)  # Slurm's word
    refusal = models.TextField(blank=True)  # Slurm's words where it refused
    slurm_job_id = models.PositiveBigIntegerField(_("number in Slurm"), null=True)
    accepted_at = models.DateTimeField(null=True)
    planned_at = models.DateTimeField(null=True)  # while it waits: when Slurm means to start it
    started_at = models.DateTimeField(_("started"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    node_list = models.CharField(max_length=500, blank=True)
    allocated_gpus = models.PositiveIntegerField(default=0)
    exit_code = models.IntegerField(null=True)
    exit_signal = models.IntegerField(null=True)
    seen_at = models.DateTimeField(null=True)  # when Slurm last spoke of it
    change = models.PositiveBigIntegerField(default=0)  # grows with each change: the "seq" of hints

    # what people call it and asked for since: the door's own fields
    alias = models.CharField(_("name"), max_length=64, blank=True)  # shown instead of the name it was asked for by
    note = models.CharField(_("note"), max_length=500, blank=True)
    archived_at = models.DateTimeField(null=True)  # not in lists unless asked for
    cancel_asked_at = models.DateTimeField(null=True)
    cancel_asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    objects = JobQuerySet.as_manager()

    gate_scope, gate_owner, gate_view = "project", "owner", Permission.JOB_VIEW

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["owner", "idempotency_key"], name="one_job_per_idempotency_key"),
        )
        indexes = (
            models.Index(fields=["project", "-id"], name="job_project"),
            models.Index(fields=["owner", "-id"], name="job_owner"),
            models.Index(fields=["project", "state", "-id"], name="job_project_state"),
            models.Index(fields=["owner", "-ended_at"], name="job_owner_ended", condition=Q(ended_at__isnull=False)),
            models.Index(fields=["project", "phase"], name="job_open", condition=Q(phase__in=[p.value for p in OPEN])),
            models.Index(fields=["id"], name="job_requested", condition=Q(phase=Phase.REQUESTED.value)),
            models.Index(fields=["slurm_job_id", "cluster"], name="job_number"),
            models.Index(fields=["owner_login", "-id"], name="job_login"),
            models.Index(fields=["gpu_type", "-id"], name="job_gpu"),
            # any part of what people call it, of three letters or more (jobs.services.finding)
            GinIndex(
                *(OpClass(Upper(name), "gin_trgm_ops") for name in ("name", "alias", "note")),
                name="job_words",
                fastupdate=False,  # what waits to be put in is read by every search, and the planner shuns the index
            ),
            # which jobs wait for this one
            GinIndex(
                fields=["options"],
                name="job_after",
                opclasses=["jsonb_path_ops"],
                condition=Q(options__has_key="after"),
            ),
        )
        triggers = (
            pgtrigger.FSM(
                name="phases",
                field="phase",
                transitions=[(a.value, b.value) for a, after in NEXT.items() for b in after],
            ),
            pgtrigger.Protect(
                name="request_is_fixed",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange(
                    "digest", "script", "idempotency_key", "created_at", "source", "datasets", "options"
                ),
            ),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """The job's page."""
        return _address().replace(_NONE, str(self.pk))

    @property
    def called(self) -> str:
        """What people call it."""
        return self.alias or self.name

    @property
    def view(self) -> View:
        """Its state as a page draws it."""
        return view(self.state)

    @property
    def is_open(self) -> bool:
        """Whether it may still change by itself."""
        return self.phase in OPEN

    @property
    def total_gpus(self) -> int:
        """GPUs asked for on all nodes; of an array, by one task."""
        return self.gpus * self.nodes

    @property
    def asked(self) -> Options:
        """Its options, as they were asked for."""
        return Options.of(self.options)

    @property
    def is_array(self) -> bool:
        """Whether it is an array asked for here: one job of many tasks."""
        return "array" in self.options

    @property
    def is_outside(self) -> bool:
        """Whether it came to Slurm around the portal."""
        return self.source == Source.OUTSIDE

    def elapsed_seconds(self, now: datetime | None = None) -> float | None:
        """Seconds since its start, or from start to end; None before the start."""
        if self.started_at is None:
            return None
        return max(0.0, ((self.ended_at or now or timezone.now()) - self.started_at).total_seconds())

    @property
    def ends_by(self) -> datetime | None:
        """When its time limit ends it, while it runs."""
        if self.started_at is None or self.ended_at or not self.time_limit_minutes:
            return None
        return self.started_at + timedelta(minutes=self.time_limit_minutes)
