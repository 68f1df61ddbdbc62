"""The GPUs of a job on its page: the small pictures that are always there, and the line of a moment."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from jobs.models import Job
from jobs.services import reading
from jobs.services.gpus import moments, showing


@login_required
@require_safe
def strip(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """The small pictures, fetched again while the job runs."""
    rows = Job.objects.select_related("project").defer("script", "environment")
    job = gate.fetch(rows, request.user, Permission.JOB_VIEW, pk=pk)
    return render(request, "jobs/_gpus.html", {"job": job, "gpu_lines": showing.shown(job).lines})


@login_required
@require_safe
def moment(request: SignedInRequest, pk: str) -> HttpResponse:
    """The line of the output that was written at a moment (`at`, unix seconds)."""
    job = reading.fetch(request.user, pk)
    text = request.GET.get("at", "")
    if not text.isdigit() or len(text) > 10:
        return HttpResponseBadRequest("at: unix seconds")
    try:
        found = moments.line_at(job=job, by=request.user, at=datetime.fromtimestamp(int(text), UTC))
    except reading.ReaderDown:
        return JsonResponse({"state": "away"})
    if found is None:
        return JsonResponse({"state": "none"})
    return JsonResponse({"state": "ok", "line": found.line, "offset": found.offset, "stamp": found.stamp})
