"""Asking for a job, and for its end."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from access import gate
from access.ids import uuid7
from access.permissions import Permission
from accounts.http import SignedInRequest
from datasets.services import NotPermitted
from datasets.services.using import usable
from jobs import services, specs
from jobs.forms import JobForm, like, of_preset
from jobs.models import Job
from jobs.services.asking import partitions_of
from jobs.services.importing import drafts
from jobs.views import importing
from presets import services as presets
from presets.models import PresetVersion
from projects.models import Project
from quotas import reads
from quotas.services import OverAllocation

FIELD_OF_LIMIT = {
    "gpus_at_once": "gpus",
    "gpu_minutes": "time_limit_minutes",
    "longest_minutes": "time_limit_minutes",
    "jobs_submitted": "allocation",
    "partition": "partition",
}


@login_required
@require_http_methods(["GET", "POST"])
def submit(request: SignedInRequest) -> HttpResponse:
    """The form (GET), and the request it makes (POST)."""
    code = _typed((request.POST if request.method == "POST" else request.GET).get("project", ""))
    all_of_them = Project.objects.annotate(datasets_here=usable(request.user))
    theirs = list(gate.allowing(all_of_them, request.user, Permission.JOB_SUBMIT))
    if not theirs and not code:
        return render(request, "jobs/submit_nowhere.html")
    project = gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=code) if code else theirs[0]
    preset = _preset(request, project)
    about: dict[str, Any] = {"project": project, "by": request.user, "preset": preset.name if preset else ""}
    if request.method == "POST":
        form = JobForm(request.POST, **about)
        job = _ask(request, form, project) if form.is_valid() else None
        if job is not None:
            drafts.became(job)
            return redirect(job)
    else:
        form = JobForm(initial=_initial(request) | (of_preset(preset) if preset else {}), **about)
    page = _context(request, form, project, theirs) | {"preset": preset}
    brought = drafts.KEY + request.GET["draft"] if "draft" in request.GET else request.POST.get("key", "")
    page["key"] = drafts.key_of(brought) or page["key"]
    return render(request, "jobs/submit.html", page, status=_status(form))


def _preset(request: SignedInRequest, project: Project) -> PresetVersion | None:
    """The one named; one that cannot be had leaves a free form, and says so."""
    name = _typed((request.POST if request.method == "POST" else request.GET).get("preset", ""))[:120]
    try:
        return presets.find(name, project=project) if name else None
    except presets.NoPreset as refusal:
        messages.error(request, str(refusal))
        return None


def _typed(text: str) -> str:
    """What PostgreSQL can compare with: it keeps no NUL, so nothing of ours holds one."""
    return text.replace("\x00", "\ufffd")


def _status(form: JobForm) -> int:
    return 422 if form.is_bound else 200


def _initial(request: SignedInRequest) -> dict[str, Any]:
    brought = request.GET.get("draft")
    if brought:
        return importing.as_typed(importing.fetch(request, brought))
    again = request.GET.get("like")
    return (
        like(gate.fetch(Job.objects.select_related("allocation"), request.user, Permission.JOB_VIEW, pk=again))
        if again
        else {"folder": _typed(request.GET.get("folder", ""))[:200]}
    )


def _ask(request: SignedInRequest, form: JobForm, project: Project) -> Job | None:
    try:
        return services.submit(
            project=project, spec=form.spec, allocation=form.chosen, by=request.user,
            idempotency_key=_typed(request.POST.get("key", ""))[:100] or None,
        )  # fmt: skip
    except OverAllocation as over:
        form.add_error(FIELD_OF_LIMIT[over.limit], str(over))
    except NotPermitted as refused:
        form.add_error("datasets", refused.reasons)
    except services.NotNow as refusal:
        form.add_error(None, str(refusal))
    except services.TooFast as refusal:
        form.add_error(None, refusal.words)
    except services.KeyReused:
        form.add_error(None, _("This form was sent before with other values. Send it again to make a new job."))
    return None


def _context(request: SignedInRequest, form: JobForm, project: Project, theirs: list[Any]) -> dict[str, Any]:
    partitions = partitions_of(project)
    return {
        "form": form,
        "project": project,
        "projects": theirs,
        "partitions": partitions,
        "gpu_types": sorted({name for row in partitions for name in row.gpu_types}),
        "allocations": reads.spendable(project),
        "usable": _usable(project, theirs),
        "more": form.more(),
        "key": str(uuid7()),  # a double click sends the same key twice and makes one job
        "limits": {
            row.name: {
                "gpu_types": row.gpu_types,
                **{
                    field: specs.most(field, row)
                    for field in ("gpus", "nodes", "cpus", "memory_gb", "time_limit_minutes")
                },
            }
            for row in partitions
        },
    }


def _usable(project: Project, theirs: list[Any]) -> str:
    """What stands below the field: the datasets that may be named in it."""
    codes: list[str] = next((row.datasets_here for row in theirs if row.pk == project.pk), [])
    return _("Here you may use: %(codes)s.") % {"codes": ", ".join(codes)} if codes else _("You may use none here yet.")


@login_required
@require_POST
def cancel(request: SignedInRequest, pk: str) -> HttpResponse:
    """Ask for the job's end."""
    job = gate.fetch(Job.objects.select_related("project"), request.user, Permission.JOB_CANCEL, pk=pk)
    try:
        services.cancel(job=job, by=request.user)
        messages.success(request, _("Cancellation asked for. Slurm ends the job in a moment."))
    except services.AlreadyOver as over:
        messages.info(request, str(over))
    return redirect(job)
