"""What Slurm knows of a project: what was applied last, what was seen last, and where the two differ."""

from __future__ import annotations

from django.db import models

from projects.models import Project


class Enforcement(models.Model):
    """One row a project, written by the worker alone. Compared with Project.change it says what is still to be done.

    `seen` is {"account": bool, "qos": {name: {...}}, "people": {login: {partition: {...}}}} as slurmdbd listed it;
    `differences` the lines of the drift page; `ticks` what was verified of login, files, allocation and queue.
    """

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="enforcement", primary_key=True)
    change_applied = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True)  # of what was wanted when it was applied
    told = models.CharField(max_length=64, blank=True)  # digest of the steps whose event stands in the trail
    applied_at = models.DateTimeField(null=True, blank=True)
    looked_at = models.DateTimeField(null=True, blank=True)  # at its people's logins, its group and folder
    checked_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True)
    seen = models.JSONField(default=dict)
    differences = models.JSONField(default=list)
    ticks = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.project_id}: {self.change_applied}"
