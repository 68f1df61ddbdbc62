"""An upload that is getting its name, or has got it: so that whoever asks again hears the same."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models import Project


class Upload(models.Model):
    """One row from the first `finish` on. `beat_at`: when who is at work on it said so last, None where nobody is."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=32)  # hex digits
    path = models.TextField()  # as shown
    size = models.BigIntegerField()
    asked_at = models.DateTimeField()
    beat_at = models.DateTimeField(null=True)
    checked = models.BigIntegerField(default=0)  # bytes that were read
    digest = models.CharField(max_length=64, blank=True)  # SHA-256 in hex, once all were
    stamp = models.CharField(max_length=100, blank=True)  # by which the door knows the file they were of
    refusal = models.CharField(max_length=20, blank=True)  # of files.answers: why it did not get its name
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["project", "user", "name"], name="one_upload_of_a_name"),)
        indexes = (models.Index(fields=["user", "asked_at"], name="uploads_of_person"),)

    def __str__(self) -> str:
        return f"{self.project_id} · {self.user_id} · {self.name}"
