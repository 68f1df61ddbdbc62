"""How many jobs of a person the end of a membership would act on (jobs.services.left_behind does, as it said)."""

from __future__ import annotations

import dataclasses

from django.db.models import Count, Q

from accounts.models import User
from jobs.models import Job
from jobs.states import State
from projects.models import Project

RUNNING = (State.RUNNING, State.ENDING, State.SUSPENDED)


@dataclasses.dataclass(frozen=True, slots=True)
class Touched:
    """How many jobs of the person in the project run, and how many wait or are on their way to Slurm."""

    running: int
    queued: int


def touched(project: Project, user: User) -> Touched:
    """What each choice would act on now."""
    jobs = Job.objects.filter(project=project, owner=user).open()
    running = Q(state__in=RUNNING)
    return Touched(**jobs.aggregate(running=Count("pk", running), queued=Count("pk", ~running)))
