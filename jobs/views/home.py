"""Home: what runs, what waits and why, what is left, what needs me."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from cluster.models import NODES
from jobs.models import Job
from jobs.states import State
from quotas import panels

RECENT = timedelta(hours=24)
NEEDS_A_LOOK = (State.FAILED, State.OUT_OF_MEMORY, State.TIMEOUT, State.NODE_FAILURE, State.REFUSED, State.LOST)


def _over(owner: int, since: datetime) -> QuerySet[Job]:
    rows = Job.objects.lines()
    return rows.filter(owner=owner, ended_at__gte=since).order_by("-ended_at")


UNDER_WAY = gate.Listing(lambda owner: Job.objects.lines().filter(owner=owner).open().order_by("-pk"), most=200)
OVER = gate.Listing(_over, most=20)


@login_required
@require_safe
def home(request: SignedInRequest) -> HttpResponse:
    """The person's own bench."""
    me = request.user
    under_way = UNDER_WAY.allowing(me, Permission.JOB_VIEW, owner=me.pk)
    over = OVER.allowing(me, Permission.JOB_VIEW, owner=me.pk, since=timezone.now() - RECENT)
    lines = panels.of_person(me)
    running = [job for job in under_way if job.state in (State.RUNNING, State.ENDING, State.SUSPENDED)]
    return render(
        request,
        "jobs/home.html",
        {
            "running": running,
            "waiting": [job for job in under_way if job not in running],
            "over": over,
            "needs": [job for job in over if job.state in NEEDS_A_LOOK],
            "running_gpus": sum(job.allocated_gpus for job in running),
            "counts": {"active_jobs": len(under_way)},
            "allocations": lines,
            "tight": [line for line in lines if line.is_tight and line.may_ask],
            "nodes": NODES.all(),
            "now": timezone.now(),
        },
    )
