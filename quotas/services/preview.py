"""What a change would do before anybody confirms it: the steps Slurm would be told, from what was last seen there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from django.db import transaction

from projects.models import Project
from quotas.services import seen
from quotas.services.wanted import wanted
from slurm.plan import plan
from slurm.steps import Step

T = TypeVar("T")


class _Undone(Exception):
    """Ends the trial."""


def tried(change: Callable[[], object], look: Callable[[], T]) -> T:
    """What `look` finds once `change` was made; then everything is as it was, the trail too. Raises what they raise."""
    found: list[T] = []
    try:
        with transaction.atomic():
            change()
            found.append(look())
            raise _Undone
    except _Undone:
        return found[0]


def steps(project: Project) -> Sequence[Step]:
    """What Slurm would be told of this project as it stands now (within a trial: after the change)."""
    fresh = Project.objects.get(pk=project.pk)
    return plan(wanted([fresh]), seen.of(fresh)).steps
