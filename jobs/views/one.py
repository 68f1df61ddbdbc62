"""One job: its page, the part of it that lives, and its output."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit.models import AuditEvent
from jobs import reasons
from jobs.models import Job, Run
from jobs.states import State

EVENTS = 100


def _job(request: SignedInRequest, pk: str, permission: Permission = Permission.JOB_VIEW) -> Job:
    rows = Job.objects.select_related("project", "owner", "allocation", "cluster", "cancel_asked_by")
    return gate.fetch(rows, request.user, permission, pk=pk)


def _context(request: SignedInRequest, job: Job) -> dict[str, Any]:
    return {
        "job": job,
        "project": job.project,
        "runs": list(
            Run.objects.filter(handover__job=job)
            .select_related("handover")
            .order_by("handover__attempt", "restart_count")
        ),
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
def detail(request: SignedInRequest, pk: str) -> HttpResponse:
    """The job page."""
    job = _job(request, pk)
    tab = request.GET.get("tab", "output")
    context = _context(request, job) | {"tab": tab if tab in ("output", "request", "events") else "output"}
    context["can_read"] = _can_read(request, job)
    if context["tab"] == "events":
        context["events"] = AuditEvent.objects.about("job", job.pk).order_by("-pk")[:EVENTS]
    return render(request, "jobs/detail.html", context)


@login_required
def live(request: SignedInRequest, pk: str) -> HttpResponse:
    """The part that htmx fetches again after a hint."""
    job = _job(request, pk)
    shown = request.htmx.current_url or ""
    context = _context(request, job) | {"beside": "tab=" not in shown or "tab=output" in shown}
    return render(request, "jobs/_live_again.html", context)
