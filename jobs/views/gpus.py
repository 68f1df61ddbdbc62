"""The GPUs of a job on its page: the small pictures that are always there, and the line of a moment."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBadRequest, JsonResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from access.numbers import whole
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from jobs.services import reading, shapes
from jobs.services.gpus import moments, showing
from projects import tables


@login_required
@require_safe
def strip(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """The small pictures, fetched again while the job runs."""
    job = shapes.LIGHT.fetch(request.user, Permission.JOB_VIEW, pk=pk)
    return render(request, "jobs/_gpus.html", {"job": job, "gpu_lines": showing.shown(job).lines})


@login_required
@require_GET
def csv(request: SignedInRequest, pk: UUID) -> StreamingHttpResponse:
    """The readings of each GPU, of the whole run once it is over; that somebody took them is recorded."""
    job = shapes.LIGHT.fetch(request.user, Permission.JOB_VIEW, pk=pk)
    trail.record(Action.REPORT_READ, by=request.user, project=job.project, about=job, table="gpus")
    head = [
        "GPU", _("use now (%)") if job.is_open else _("mean use (%)"), _("highest use (%)"), _("active (%)"),
        _("longest idle (seconds)"), _("memory (MiB)"), _("memory there is (MiB)"), _("power (W)"),
        _("temperature (°C)"),
    ]  # fmt: skip
    return tables.response(f"bancada-{job.pk}-gpus.csv", head, map(_readings, showing.shown(job).lines))


def _readings(line: showing.Line) -> list[Any]:
    card = line.card
    active = card.active_share if card else None
    kept = [card and card.most, None if active is None else round(100 * active, 1), card and card.longest_idle]
    return [line.name, line.now, *kept, line.memory, line.memory_total, line.power, line.temperature]


@login_required
@require_safe
def moment(request: SignedInRequest, pk: str) -> HttpResponse:
    """The line of the output that was written at a moment (`at`, unix seconds)."""
    job = reading.fetch(request.user, pk)
    at = whole(request.GET.get("at", ""), digits=10)
    if at is None:
        return HttpResponseBadRequest("at: unix seconds")
    try:
        found = moments.line_at(job=job, by=request.user, at=datetime.fromtimestamp(at, UTC))
    except reading.ReaderDown:
        return JsonResponse({"state": "away"})
    if found is None:
        return JsonResponse({"state": "none"})
    return JsonResponse({"state": "ok", "line": found.line, "offset": found.offset, "stamp": found.stamp})
