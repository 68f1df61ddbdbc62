"""What becomes of a person's jobs when they leave a project: cancelled at once by the door, held by the worker."""

from __future__ import annotations

import contextlib
import dataclasses

from django.db import transaction
from django.db.models import Count, Q

from accounts.models import User
from jobs.models import Job
from jobs.services.asking import AlreadyOver, cancel
from jobs.states import State
from projects import services as projects
from projects.models import Membership, OnEnd, Project

RUNNING = (State.RUNNING, State.ENDING, State.SUSPENDED)


@dataclasses.dataclass(frozen=True, slots=True)
class Touched:
    """How many jobs of the person in the project run, and how many wait or are on their way to Slurm."""

    running: int
    queued: int


def touched(project: Project, user: User) -> Touched:
    """What each choice would act on now."""
    jobs = Job.objects.filter(project=project, owner=user).open()
    return Touched(
        **jobs.aggregate(running=Count("pk", Q(state__in=RUNNING)), queued=Count("pk", ~Q(state__in=RUNNING)))
    )


@transaction.atomic
def remove_member(*, membership: Membership, by: User, on_end: str, why: str = "") -> None:
    """End a membership; where all jobs are to be cancelled, that is asked for in the same transaction.

    Raises what projects.services.remove_member does.
    """
    projects.remove_member(membership=membership, by=by, on_end=on_end, why=why)
    if on_end == OnEnd.CANCEL:
        for job in Job.objects.filter(project=membership.project_id, owner=membership.user_id).open().defer("script"):
            _cancel(job, by)


def _cancel(job: Job, by: User) -> None:
    """What ended meanwhile, or can only be ended where it came from, stops nobody from leaving."""
    with contextlib.suppress(AlreadyOver):
        cancel(job=job, by=by)
