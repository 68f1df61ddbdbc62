"""The tasks of an array: what is done to some of them, their table as a file, one task and its output."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from access.numbers import whole
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from jobs.models import Job
from jobs.services import reading, repeating, shapes, sweeps
from jobs.services.acts import NotPossible
from jobs.services.gpus import reporting, showing
from projects import tables

SHOWN = 200  # rows of the table; the file has all


def context(job: Job, sort: str, *, can_read: bool) -> dict[str, Any]:
    """For the job page's tab; parameters and values are content, as the script is."""
    sweep = sweeps.of(job)
    if not can_read:
        sweep = sweeps.Sweep(sweep.tasks, [], [])
    ordered = sweeps.ordered(sweep, sort)
    columns = [("number", _("Task")), ("state", _("State")), *((name, name) for name in sweep.parameters)]
    columns += [(f"{kind}:{name}", f"{name} {label}") for name in sweep.values
                for kind, label in (("last", _("last")), ("best", _("best")))]  # fmt: skip
    heads = [(f"-{key}" if key == sort else key, label, _turned(key, sort)) for key, label in columns]
    return {"sweep": sweep, "tasks": ordered[:SHOWN], "heads": heads, "sort": sort, "more": len(ordered) > SHOWN}


def _turned(key: str, sort: str) -> str:
    return "descending" if sort == f"-{key}" else "ascending" if sort == key else ""


@login_required
@require_POST
def act(request: SignedInRequest, pk: UUID) -> HttpResponse:
    """Run the failed ones again, change how many run at once, or cancel some after they were shown."""
    job = shapes.PLAIN.fetch(request.user, Permission.JOB_VIEW, pk=pk)
    wanted = request.POST.get("act", "")
    try:
        if wanted == "rerun":
            made = sweeps.rerun_failed(job=job, by=request.user)
            messages.success(request, _("The tasks that failed were submitted again, as a new array."))
            return redirect(made)
        job = shapes.PLAIN.fetch(request.user, Permission.JOB_CANCEL, pk=pk)
        if wanted == "throttle":
            sweeps.throttle(job=job, by=request.user, number=_number(request.POST.get("number", "")))
            messages.success(request, _("Asked for. Slurm does it in a moment."))
        elif wanted == "end" and request.POST.get("sure"):
            sweeps.end_tasks(job=job, by=request.user, tasks=request.POST.get("tasks", ""))
            messages.success(request, _("Asked for. Slurm does it in a moment."))
        elif wanted == "end":
            return _preview(request, job)
    except (NotPossible, repeating.NotAgain) as error:
        messages.error(request, str(error))
    return redirect(f"{job.get_absolute_url()}?tab=tasks")


def _preview(request: SignedInRequest, job: Job) -> HttpResponse:
    chosen = sweeps.under_way(sweeps.of(job), request.POST.get("tasks", ""))
    if not chosen:
        raise NotPossible(_("None of these tasks is under way."))
    said = ngettext("%(n)d task ends: %(tasks)s", "%(n)d tasks end: %(tasks)s", len(chosen))
    tasks = repeating.shortened(chosen)
    return render(
        request, "jobs/tasks_end.html", {"job": job, "tasks": tasks, "said": said % {"n": len(chosen), "tasks": tasks}}
    )


def _number(text: str) -> int:
    number = whole(text, digits=7)
    return -1 if number is None else number


@login_required
@require_safe
def csv(request: SignedInRequest, pk: UUID) -> StreamingHttpResponse:
    """Parameters beside last and best values, in the order shown."""
    job = reading.fetch_to_take(request.user, pk)
    sweep = sweeps.of(job)
    head, *rows = sweeps.table(sweep, sweeps.ordered(sweep, request.GET.get("sort", "")[:100]))
    trail.record(Action.REPORT_READ, by=request.user, project=job.project, about=job, table="tasks")
    return tables.response(f"bancada-{job.pk}-tasks.csv", head, iter(rows))


@login_required
@require_safe
def task(request: SignedInRequest, pk: UUID, number: int) -> HttpResponse:
    """One task: its state, its parameters, its output as it grows, its GPUs."""
    job = reading.fetch(request.user, pk)
    found = next((one for one in sweeps.of(job).tasks if one.number == number), None)
    if found is None:
        raise Http404
    running = found.run is not None and found.run.ended_at is None
    kept = reporting.of_task(found.run) if found.run else None
    about = {
        "job": job, "task": found, "running": running, "separate": job.asked.separate_errors,
        "gpu_lines": showing.running(job, found.run) if found.run and running else [],
        "gpu_report": reporting.report(job, kept) if kept else None,
        "socket": f"/jobs/{job.pk}/tasks/{number}/log", "time_zone": settings.TIME_ZONE,
    }  # fmt: skip
    return render(request, "jobs/_task.html" if request.htmx else "jobs/task.html", about)
