"""One state of a dataset on shared storage, with the manifest a job made of it."""

from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.ids import uuid7
from datasets.models.dataset import Dataset
from projects.models.project import folder_validator

label_validator = RegexValidator(
    r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,30}\Z", _("Use letters, digits and . _ - , 31 at most.")
)


class DatasetVersion(models.Model):
    """A label and a path, never changed once given. The manifest has a line a file: digest, bytes, name."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="versions")
    label = models.CharField(_("version"), max_length=31, validators=[label_validator])
    path = models.CharField(_("path on shared storage"), max_length=300, validators=[folder_validator])
    note = models.CharField(_("what is new"), max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    manifest_job = models.UUIDField(null=True, blank=True)  # a reference: datasets knows no jobs
    manifest = models.TextField(blank=True)
    manifest_digest = models.CharField(max_length=64, blank=True)
    files = models.PositiveBigIntegerField(null=True, blank=True)
    size = models.PositiveBigIntegerField(null=True, blank=True)  # bytes
    measured_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at",)
        constraints = (
            models.UniqueConstraint(fields=["dataset", "label"], name="one_version_per_label"),
            models.CheckConstraint(
                condition=Q(manifest_digest="") | Q(files__isnull=False, size__isnull=False, measured_at__isnull=False),
                name="manifest_is_whole",
            ),
        )
        triggers = (
            pgtrigger.Protect(
                name="version_is_fixed",
                operation=pgtrigger.Update,
                condition=pgtrigger.AnyChange("label", "path", "dataset"),
            ),
            pgtrigger.Protect(
                name="manifest_is_fixed",
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition(
                    "OLD.manifest_digest <> '' AND (OLD.manifest_digest, OLD.manifest, OLD.files, OLD.size)"
                    " IS DISTINCT FROM (NEW.manifest_digest, NEW.manifest, NEW.files, NEW.size)"
                ),
            ),
        )

    def __str__(self) -> str:
        return f"{self.dataset.code}@{self.label}"
