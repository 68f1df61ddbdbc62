"""Home: what runs, what waits and why, what is left, what needs me."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from cluster.models import Node
from jobs.models import Job
from jobs.states import State
from quotas import reads

RECENT = timedelta(hours=24)
NEEDS_A_LOOK = (State.FAILED, State.OUT_OF_MEMORY, State.TIMEOUT, State.NODE_FAILURE, State.REFUSED, State.LOST)


@login_required
def home(request: SignedInRequest) -> HttpResponse:
    """The person's own bench."""
    mine: Any = gate.allowing(Job.objects.filter(owner=request.user).with_names(), request.user, Permission.JOB_VIEW)
    under_way = list(mine.open().order_by("-pk")[:200])
    over = list(mine.filter(ended_at__gte=timezone.now() - RECENT).order_by("-ended_at")[:20])
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
            "allocations": reads.of_person(request.user),
            "nodes": list(Node.objects.all()),
            "now": timezone.now(),
        },
    )
