"""The trail is told what Slurm is about to be told, before it is: Slurm shares no transaction with our rows.

Whoever dies between has told, and the next pass goes on. The same steps tried again are not told again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from django.db import transaction

from audit import trail
from audit.actions import Action
from projects.models import Project
from quotas.models import Allocation, Enforcement
from quotas.services import seen
from slurm.steps import Step


@transaction.atomic
def before(projects: Sequence[Project], steps: Sequence[Step]) -> None:
    """One event for each project whose part of the steps is another than was told last."""
    owners = qos_owners(projects)
    for project in projects:
        if mine := of(project, steps, owners):
            _tell(project, mine)


def _tell(project: Project, steps: Sequence[Step]) -> None:
    lines = [seen.step_line(step) for step in steps]
    mark = hashlib.sha256(json.dumps([project.change, lines], sort_keys=True).encode()).hexdigest()
    row, _new = Enforcement.objects.select_for_update().get_or_create(project=project)
    if row.told == mark:
        return
    row.told = mark
    row.save(update_fields=["told"])
    trail.record(Action.LIMITS_APPLIED, about=project, project=project, steps=[seen.in_trail(line) for line in lines])


def qos_owners(projects: Sequence[Project]) -> dict[str, int]:
    """QOS name -> project id."""
    return dict(Allocation.objects.filter(project__in=projects).values_list("qos", "project_id"))


def of(project: Project, steps: Sequence[Step], owners: Mapping[str, int]) -> list[Step]:
    """The steps that are about this project."""
    return [step for step in steps if step.account == project.slurm_account or owners.get(step.qos) == project.pk]
