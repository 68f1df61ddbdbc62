"""One job: its page, the part of it that lives, and its output."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from access import gate
from access.compiled import Fixed
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit.identities import name_all
from audit.models import AuditEvent
from jobs import reasons
from jobs.models import Job, Run
from jobs.states import State

EVENTS = 100


def _whole(pk: UUID) -> QuerySet[Job]:
    """With what its page says of others: their names."""
    others = ("project", "owner", "allocation", "cancel_asked_by")
    unused = ("idempotency_key", "environment", "project__partitions", "owner__password", "cancel_asked_by__password")
    return Job.objects.filter(pk=pk).select_related(*others).defer(*unused)


def _runs(job: UUID) -> QuerySet[Run]:
    rows = Run.objects.filter(handover__job=job).select_related("handover")
    return rows.order_by("handover__attempt", "restart_count").only(
        "restart_count", "started_at", "ended_at", "node_list", "handover__stderr_path"
    )


WHOLE = gate.Listing(_whole, most=1)
RUNS = Fixed(_runs)


def _job(request: SignedInRequest, pk: UUID, permission: Permission = Permission.JOB_VIEW) -> Job:
    return WHOLE.fetch(request.user, permission, pk=pk)


def _context(request: SignedInRequest, job: Job) -> dict[str, Any]:
    return {
        "job": job,
        "project": job.project,
        "runs": RUNS.all(job=job.pk),
        "reason": reasons.explain(job.reason) if job.state in (State.WAITING, State.HELD, State.REQUEUED) else None,
        "can_cancel": job.is_open
        and job.cancel_asked_at is None
        and gate.can(job, request.user, Permission.JOB_CANCEL),
        "now": timezone.now(),
    }


def _can_read(request: SignedInRequest, job: Job) -> bool:
    """Content is not metadata: every role in a project brings it, the auditor's role on the site does not."""
    only_metadata = gate.site_can(request.user, Permission.JOB_VIEW) and not gate.site_can(
        request.user, Permission.LOG_READ
    )
    return not only_metadata or gate.can(job, request.user, Permission.LOG_READ)


@login_required
def detail(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """The job page."""
    job = _job(request, pk)
    tab = request.GET.get("tab", "output")
    context = _context(request, job) | {"tab": tab if tab in ("output", "request", "events") else "output"}
    context["can_read"] = _can_read(request, job)
    if context["tab"] == "events":
        context["events"] = name_all(AuditEvent.objects.about("job", job.pk).order_by("-pk")[:EVENTS])
    return render(request, "jobs/detail.html", context)


@login_required
def live(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """The part that htmx fetches again after a hint."""
    job = _job(request, pk)
    shown = request.htmx.current_url or ""
    context = _context(request, job) | {"beside": "tab=" not in shown or "tab=output" in shown}
    return render(request, "jobs/_live_again.html", context)
