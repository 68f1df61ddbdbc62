"""How a project's programs print their numbers, where that is no JSON."""

from __future__ import annotations

from django.db import models

from projects.models import Project


class MetricPattern(models.Model):
    """One a project: "epoch {epoch} loss {loss}" (jobs.curves.pattern); "" for none."""

    project = models.OneToOneField(Project, on_delete=models.PROTECT, primary_key=True, related_name="+")
    text = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return self.text
