"""Filters of the list of jobs that a person keeps under a name."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class SavedView(models.Model):
    """`query` is the address' part behind the question mark."""

    MOST = 12  # a person

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=["user", "name"], name="one_view_per_name"),)

    def __str__(self) -> str:
        return self.name
