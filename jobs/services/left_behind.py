"""What becomes of the jobs of somebody who is no member any more: as the membership's end said. Intents only."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from audit import trail
from audit.actions import Action
from cluster.models import Cluster
from jobs import bells
from jobs.models import Intent, IntentKind, Job, Phase
from jobs.states import State
from projects.models import Membership, OnEnd

WAITING = (State.WAITING, State.REQUEUED)


def follow_memberships(cluster: Cluster) -> int:
    """Intend the end, or the holding, of what people left behind; how many jobs are touched. Said twice, done once."""
    touched = 0
    for job in _left_behind(cluster):
        ended = _ended(job)
        if ended is not None and ended.on_end == OnEnd.CANCEL:
            touched += _cancel(job, ended)
        elif ended is not None and ended.on_end == OnEnd.HOLD and job.state in WAITING:
            touched += _hold(job, ended)
    if touched:
        bells.ring(bells.CARRY_OUT)
    return touched


def _left_behind(cluster: Cluster) -> Iterable[Job]:
    """Open jobs whose owner is not a member now. Those of people who never were have nothing that says what to do."""
    members = Membership.objects.active().filter(project=OuterRef("project"), user=OuterRef("owner"))
    rows = Job.objects.open().filter(cluster=cluster, owner__isnull=False, cancel_asked_at=None)
    return rows.exclude(Exists(members)).select_related("project").defer("script", "environment")


def _ended(job: Job) -> Membership | None:
    rows = Membership.objects.filter(project=job.project, user=job.owner, ends_at__lte=timezone.now())
    return rows.select_related("ended_by").order_by("-ends_at").first()


@transaction.atomic
def _cancel(job: Job, ended: Membership) -> int:
    asked = Job.objects.filter(pk=job.pk, cancel_asked_at=None)
    if not asked.update(cancel_asked_at=timezone.now(), cancel_asked_by=ended.ended_by):
        return 0
    Intent.objects.get_or_create(job=job, kind=IntentKind.CANCEL, done_at=None, defaults={"asked_by": ended.ended_by})
    trail.record(
        Action.JOB_CANCEL_ASKED, by=ended.ended_by, about=job, project=job.project, why="its owner has left the project"
    )
    return 1


def _hold(job: Job, ended: Membership) -> int:
    """Once for each time somebody leaves: what an administrator releases afterwards stays released."""
    if job.phase != Phase.ACCEPTED or job.intents.filter(kind=IntentKind.HOLD, asked_at__gte=ended.ends_at).exists():
        return 0
    Intent.objects.create(job=job, kind=IntentKind.HOLD, asked_by=ended.ended_by)
    return 1
