"""The curves of a job as a part of its page, those of two laid over each other, and the project's pattern."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST, require_safe

from access import gate
from access.numbers import whole
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from jobs.curves import BadPattern, Curves
from jobs.models import Job
from jobs.services import metrics, reading
from jobs.views.repeating import told_apart
from projects import tables
from projects.models import Project

EXAMPLE = "epoch {epoch} loss {loss}"


@login_required
@require_safe
def part(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """Fetched by the job's page once it is there; nothing where there are no curves."""
    job = reading.fetch(request.user, pk)
    return render(request, "jobs/_curves.html", {"job": job, **_context(request, [job])})


@login_required
@require_safe
def of_task(request: SignedInRequest, pk: UUID, number: int) -> HttpResponse:
    """The same of one task of an array, on its page."""
    job = reading.fetch(request.user, pk)
    context = {"job": job, "task": number, **_context(request, [job], number)}
    return render(request, "jobs/_curves.html", context)


@login_required
@require_safe
def together(request: SignedInRequest) -> HttpResponse:
    """Those of two jobs in one drawing each."""
    jobs = [reading.fetch(request.user, request.GET.get(name, "")) for name in ("a", "b")]
    return render(request, "jobs/_curves.html", _context(request, jobs))


@login_required
@require_GET
def csv(request: SignedInRequest, pk: UUID) -> HttpResponse | StreamingHttpResponse:
    """The points as they are drawn, with `b` those of a second job too, with `task` of one of an array; recorded."""
    task, other = whole(request.GET.get("task", ""), digits=7), request.GET.get("b", "")
    jobs = [reading.fetch_to_take(request.user, one) for one in (pk, other) if one]
    try:
        found = [(job, metrics.of(job=job, by=request.user, task=task).curves) for job in jobs]
    except reading.ReaderDown:
        return HttpResponse(status=503, headers={"Retry-After": "2"})
    for job in dict.fromkeys(jobs):
        trail.record(Action.REPORT_READ, by=request.user, project=job.project, about=job, table="curves")
    head = [_("job"), _("number"), _("value"), _("counted by"), _("at"), _("reading")]
    return tables.response(f"bancada-{pk}-curves.csv", head, _points(found))


def _points(found: list[tuple[Job, Curves]]) -> Iterator[list[Any]]:
    for job, drawn in found:
        for curve in drawn.curves.values():
            about = [job.called, job.slurm_job_id, curve.name, drawn.counted_by]
            yield from ([*about, point.x, point.y] for point in curve.drawn())


def _context(request: SignedInRequest, jobs: list[Job], task: int | None = None) -> dict[str, Any]:
    """What of them is drawn; a point of an output leads to its line."""
    try:
        found = [(job, metrics.told(metrics.of(job=job, by=request.user, task=task))) for job in jobs]
    except reading.ReaderDown:
        return {"down": True}
    for job, said in found:
        page = job.get_absolute_url() if task is None else reverse("jobs:task", args=[job.pk, task])
        said["url"] = page if said["source"] == "output" else ""
    drawn = [{"job": name, **said} for name, (_job, said) in zip(told_apart(jobs), found, strict=True)]
    rights = gate.rights_to(jobs[0], request.user)
    more = f"?task={task}" if task is not None else f"?b={jobs[1].pk}" if len(jobs) > 1 else ""
    return {
        "csv": reverse("jobs:curves_csv", args=[jobs[0].pk]) + more,
        "drawn": json.dumps(drawn), "rows": [(job, curve, said) for job, said in found for curve in said["curves"]],
        "any": any(said["curves"] for _job, said in found), "several": len(jobs) > 1,
        "example": EXAMPLE,
        "cut": any(not said["is_whole"] for _job, said in found),
        "may_set": len(jobs) == 1 and Permission.JOB_SUBMIT in rights,
    }  # fmt: skip


@login_required
@require_POST
def pattern(request: SignedInRequest, code: str) -> HttpResponse:
    """How the project's programs print their numbers."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.JOB_SUBMIT, code=code)
    try:
        metrics.set_pattern(project=project, text=request.POST.get("pattern", "").replace("\x00", ""), by=request.user)
        messages.success(request, _("Saved. It holds for all jobs of the project."))
    except BadPattern:
        words = _("Write the line as the program prints it, with names in braces for the numbers: %(example)s.")
        messages.error(request, words % {"example": EXAMPLE})
    job = request.POST.get("job", "")
    found = Job.objects.filter(project=project, pk=job).first() if _is_id(job) else None
    return redirect(found) if found else redirect("jobs:list")


def _is_id(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False
