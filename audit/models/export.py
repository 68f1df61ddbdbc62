"""What somebody asked to be written out of the trail: the worker's queue, and the proof of what was given."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from audit.models.seal import Checkpoint

KEPT = timedelta(days=14)


class Form(models.TextChoices):
    """In which shape."""

    JSONL = "jsonl", _("evidence (JSON lines)")
    BUNDLE = "bundle", _("signed bundle with the verifier")
    CSV = "csv", _("table (CSV), to be read")
    OCSF = "ocsf", _("OCSF (JSON lines)")
    ECS = "ecs", _("ECS (JSON lines)")


class State(models.TextChoices):
    """How far it is."""

    WAITING = "waiting", _("waiting")
    WRITING = "writing", _("being written")
    SIGNING = "signing", _("waiting for the signature")
    READY = "ready", _("ready")
    STREAMED = "streamed", _("downloaded at once")
    FAILED = "failed", _("failed")
    GONE = "gone", _("file deleted after its time")


OPEN = (State.WAITING, State.WRITING, State.SIGNING)
SUFFIX = {Form.JSONL: "jsonl", Form.BUNDLE: "zip", Form.CSV: "csv", Form.OCSF: "ocsf.jsonl", Form.ECS: "ecs.jsonl"}


class ExportQuerySet(models.QuerySet["Export"]):
    """Reads of exports."""

    def of(self, project_id: int | None) -> ExportQuerySet:
        """Those of one project's own trail; None: all of them."""
        return self if project_id is None else self.filter(project_id=project_id)

    def open(self) -> ExportQuerySet:
        """What the worker has still to do, the oldest first."""
        return self.filter(state__in=OPEN).order_by("id")


class Export(models.Model):
    """One export: `wanted` is the filter, `after` < record <= `last` the range, `whole` whether addresses show.

    `done`, `written`, `count` say how far the worker is: records looked at, bytes that are safely on the disk, events
    written out whole. They move together, in one statement, after the bytes are there.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    form = models.CharField(max_length=10, choices=Form)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    asked_by_id = models.BigIntegerField(null=True)
    asked_at = models.DateTimeField(default=timezone.now)
    project_id = models.BigIntegerField(null=True)
    project_code = models.CharField(_("project"), max_length=40, blank=True)
    whole = models.BooleanField(default=False)
    # as which guest it was asked for (audit.GuestAuditor); empty: by a role
    guests = ArrayField(models.BigIntegerField(), default=list, blank=True)
    language = models.CharField(max_length=10, blank=True)  # of who asked: the notice speaks it
    wanted = models.JSONField(default=dict)
    checkpoint = models.ForeignKey(Checkpoint, on_delete=models.PROTECT)
    after = models.BigIntegerField(default=0)
    last = models.BigIntegerField()
    done = models.BigIntegerField(default=0)
    written = models.BigIntegerField(default=0)
    count = models.BigIntegerField(default=0)
    size = models.BigIntegerField(null=True)
    digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the file that is downloaded
    manifest = models.TextField(blank=True)  # what the sealer signs, byte for byte
    signature = models.CharField(max_length=128, blank=True)
    key_id = models.CharField(max_length=16, blank=True)
    public_key = models.TextField(blank=True)  # the sealer's, PEM
    error = models.CharField(max_length=300, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    finished_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)  # the notice went out
    expires_at = models.DateTimeField(null=True)

    objects = ExportQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=["project_id", "-id"], name="export_project"),
            models.Index(fields=["id"], name="export_open", condition=Q(state__in=OPEN)),
        )

    def __str__(self) -> str:
        return f"{self.form} {self.id}"

    @property
    def is_open(self) -> bool:
        """Whether it is still being made."""
        return self.state in OPEN

    @property
    def is_there(self) -> bool:
        """Whether its file can be fetched."""
        return self.state == State.READY

    @property
    def records(self) -> int:
        """How many records its range covers."""
        return self.last - self.after

    @property
    def percent(self) -> int:
        """How far it is written."""
        return 100 if not self.records else min(100, 100 * max(0, self.done - self.after) // self.records)

    @property
    def file_name(self) -> str:
        """As it is downloaded: says what it is and up to where."""
        of = f"-{self.project_code}" if self.project_code else ""
        return f"bancada-trail{of}-{self.after + 1}-{self.last}.{SUFFIX[Form(self.form)]}"

    @property
    def path(self) -> Path:
        """Where the finished file lies."""
        return Path(settings.EXPORTS_FOLDER) / f"{self.id}.{SUFFIX[Form(self.form)]}"

    @property
    def part(self) -> Path:
        """Where it is being written."""
        return Path(settings.EXPORTS_FOLDER) / f"{self.id}.part"

    @property
    def asked_for(self) -> dict[str, Any]:
        """The filter, without what is empty."""
        return {name: value for name, value in self.wanted.items() if value not in (None, "")}
