"""A person's signed pass to a project's files, for minutes: asked for by the door, signed by the worker."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from projects.models import Project

SPARE = timedelta(seconds=20)  # a pass that ends sooner is not begun with


class FilePassQuerySet(models.QuerySet["FilePass"]):
    """Reads of passes."""

    def asked(self) -> FilePassQuerySet:
        """Those the worker has not answered yet."""
        return self.filter(Q(answered_at=None) | Q(answered_at__lt=F("asked_at")))


class FilePass(models.Model):
    """One row a person and project. `web` writes when it was asked for, and nothing else; `slurm` answers."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True)
    ticket = models.TextField(blank=True)  # "" where it was refused
    rights = models.CharField(max_length=2, blank=True)  # r, rw
    expires_at = models.DateTimeField(null=True)
    refusal = models.CharField(max_length=300, blank=True)  # English, translated where shown

    objects = FilePassQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["project", "user"], name="one_pass_per_person_and_project"),)
        indexes = (
            models.Index(
                fields=["asked_at"],
                name="pass_asked",
                condition=Q(answered_at=None) | Q(answered_at__lt=F("asked_at")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.project_id} · {self.user_id} · {self.rights}"

    def counts(self, now: datetime, *, write: bool) -> bool:
        """Whether it can be used now, for this."""
        good = bool(self.ticket) and self.expires_at is not None and now + SPARE < self.expires_at
        return good and (not write or self.rights == "rw")

    @property
    def is_waiting(self) -> bool:
        """Asked for, and not answered yet."""
        return self.answered_at is None or self.answered_at < self.asked_at
