"""The evidence of what was handed to Slurm, what ran there, and the intents still to be carried out."""

from __future__ import annotations

import secrets

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from access.ids import uuid7
from cluster.models import Cluster
from jobs.models.job import Job


def new_token() -> str:
    """The secret of one attempt: 128 random bits in hex, in Slurm's comment as "bancada:<token>"."""
    return secrets.token_hex(16)


class HandoverOutcome(models.TextChoices):
    """How one attempt to hand a job over ended, as far as we know."""

    TRYING = "trying", "trying"
    ACCEPTED = "accepted", "accepted"
    REFUSED = "refused", "refused"
    NOT_SENT = "not_sent", "not sent"
    UNKNOWN = "unknown", "unknown"
    ABSENT = "absent", "absent"  # both slurmctld and slurmdbd answered, and neither has it
    CANCELLED = "cancelled", "cancelled"


class Handover(models.Model):
    """One attempt: the row, not Slurm's comment, is the evidence. `web` may only read it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="handovers")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    attempt = models.PositiveSmallIntegerField(default=1)
    token = models.CharField(max_length=32, default=new_token, unique=True)
    outcome = models.CharField(max_length=10, choices=HandoverOutcome.choices, default=HandoverOutcome.TRYING)
    began_at = models.DateTimeField(default=timezone.now)
    looked_at = models.DateTimeField(null=True)  # last complete look for the token (both answered)
    error = models.CharField(max_length=500, blank=True)
    error_code = models.IntegerField(null=True)
    slurm_job_id = models.PositiveBigIntegerField(null=True)
    array_task = models.PositiveIntegerField(null=True)
    submit_time = models.DateTimeField(null=True)
    uid = models.PositiveBigIntegerField(null=True)
    run_submit_time = models.DateTimeField(null=True)  # of its latest run: Slurm moves it at every requeue
    working_directory = models.CharField(max_length=500, blank=True)
    stdout_path = models.CharField(max_length=500, blank=True)
    stderr_path = models.CharField(max_length=500, blank=True)
    accepted_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)
    ticket = models.TextField(blank=True)  # signed permission to read this attempt's output
    notes_ticket = models.TextField(blank=True)  # the same for what it wrote down at its start, and for its metrics
    folder_ticket = models.TextField(blank=True)  # and for metrics.jsonl in its working directory
    ticket_expires_at = models.DateTimeField(null=True)
    ticket_restart_count = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["job", "attempt"], name="one_handover_per_attempt"),
            models.UniqueConstraint(
                fields=["cluster", "slurm_job_id", "array_task", "submit_time", "uid"],
                name="one_handover_per_slurm_job",
                nulls_distinct=False,
                condition=Q(slurm_job_id__isnull=False),
            ),
        )
        indexes = (
            models.Index(fields=["outcome"], name="handover_open", condition=Q(outcome__in=["trying", "unknown"])),
            models.Index(fields=["cluster", "slurm_job_id"], name="handover_slurm_id"),
        )

    def __str__(self) -> str:
        return f"{self.job} · {self.attempt}"

    @property
    def comment(self) -> str:
        """What Slurm carries for this attempt."""
        return f"bancada:{self.token}"


class Run(models.Model):
    """One start of a handed-over job: a requeue makes a new one. Memory in MB."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    handover = models.ForeignKey(Handover, on_delete=models.PROTECT, related_name="runs")
    array_task = models.PositiveIntegerField(null=True)
    restart_count = models.PositiveIntegerField(default=0)
    own_id = models.PositiveBigIntegerField(null=True)  # of a task: the number nodes and metrics know it by
    slurm_states = ArrayField(models.CharField(max_length=30), default=list)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    node_list = models.CharField(max_length=500, blank=True)
    cpus = models.PositiveIntegerField(default=0)
    memory_mb = models.PositiveBigIntegerField(default=0)
    gpus = models.PositiveIntegerField(default=0)
    gpu_types = models.JSONField(default=dict)
    exit_code = models.IntegerField(null=True)
    exit_signal = models.IntegerField(null=True)
    cpu_seconds = models.FloatField(null=True)  # of all its steps, by the accounting
    peak_memory_mb = models.FloatField(null=True)  # of its largest task, sampled
    measured_at = models.DateTimeField(null=True)
    # of a task of an array
    ticket = models.TextField(blank=True)  # signed permission to read its output
    metrics = models.JSONField(default=dict)  # {"loss": {"last": 0.4, "best": 0.3}} out of its output
    metrics_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("restart_count",)
        indexes = (
            models.Index(
                fields=["ended_at"], name="run_unmeasured", condition=Q(measured_at=None, ended_at__isnull=False)
            ),
        )
        constraints = (
            models.UniqueConstraint(
                fields=["handover", "array_task", "restart_count"], name="one_run_per_start", nulls_distinct=False
            ),
        )

    def __str__(self) -> str:
        return f"{self.handover} · {self.restart_count}"


class IntentKind(models.TextChoices):
    """What is to be done in Slurm; only the worker does it."""

    CANCEL = "cancel", "cancel"  # somebody asked for the job to end
    DISCARD = "discard", "discard"  # a held duplicate or a held job nobody wants
    ADOPT = "adopt", "adopt"  # the token was found: take the job as ours and release it
    RESUBMIT = "resubmit", "resubmit"  # neither daemon has it: hand it over again
    RELEASE = "release", "release"  # accepted and recorded, still held
    HOLD = "hold", "hold"  # its owner has left the project, which wants queued jobs held
    # what people ask for beside the end
    HOLD_ASKED = "hold_asked", "hold in queue"
    LET_GO = "let_go", "release"
    REQUEUE = "requeue", "requeue"
    EXTEND = "extend", "change the time limit"  # detail: {"minutes"}
    AT_ONCE = "at_once", "change how many tasks run at once"  # detail: {"number"}
    END_TASKS = "end_tasks", "cancel tasks"  # detail: {"tasks"}


OF_DOORS = (
    IntentKind.CANCEL, IntentKind.HOLD_ASKED, IntentKind.LET_GO, IntentKind.REQUEUE, IntentKind.EXTEND,
    IntentKind.AT_ONCE, IntentKind.END_TASKS,
)  # fmt: skip


ONLY_CANCEL = (
    "IF current_user = 'web' THEN RAISE EXCEPTION 'a door may only ask for what a person may ask'; END IF; RETURN NEW;"
)


class Intent(models.Model):
    """One thing to be done about a job, with the evidence for it; written by doors and the follower."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="intents")
    handover = models.ForeignKey(Handover, on_delete=models.PROTECT, null=True, related_name="intents")
    kind = models.CharField(max_length=10, choices=IntentKind.choices)
    detail = models.JSONField(default=dict)
    slurm_job_id = models.PositiveBigIntegerField(null=True)
    submit_time = models.DateTimeField(null=True)
    uid = models.PositiveBigIntegerField(null=True)
    asked_at = models.DateTimeField(default=timezone.now)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True)
    result = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["job", "kind", "slurm_job_id"],
                name="one_open_intent",
                nulls_distinct=False,
                condition=Q(done_at=None),
            ),
        )
        indexes = (models.Index(fields=["next_try_at"], name="intent_open", condition=Q(done_at=None)),)
        triggers = (
            pgtrigger.Trigger(
                name="doors_only_cancel",
                operation=pgtrigger.Insert,
                when=pgtrigger.Before,
                # a stolen web process may ask for what a person may ask, and name no job of Slurm by number
                condition=~pgtrigger.Q(new__kind__in=[kind.value for kind in OF_DOORS])
                | pgtrigger.Q(new__slurm_job_id__isnull=False),
                func=ONLY_CANCEL,
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.job}"
