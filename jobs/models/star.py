"""A job that a person wants to find again."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from jobs.models.job import Job


class Star(models.Model):
    """One a person and job; nobody else sees it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="stars")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["user", "job"], name="one_star_each"),)

    def __str__(self) -> str:
        return f"{self.user} · {self.job}"
