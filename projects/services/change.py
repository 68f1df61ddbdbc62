"""A project under change: one at a time, and Slurm hears of it."""

from __future__ import annotations

from django.db.models import F

from access import bells
from projects.models import Project

APPLY = "slurm.apply_limits"  # the worker's task that brings Slurm's accounts up to date


def lock(project: Project) -> Project:
    """The project as it stands now; whoever else changes it waits until this transaction ends."""
    return Project.objects.select_for_update().get(pk=project.pk)


def touched(project: Project) -> None:
    """Something changed that Slurm must hear of: counted in this transaction, the worker woken after it."""
    Project.objects.filter(pk=project.pk).update(change=F("change") + 1)
    bells.ring(APPLY)
