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
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from datasets.services import NotPermitted
from jobs import services
from jobs.forms import like
from jobs.models import Job
from jobs.services import attaching, shapes
from jobs.services.asking import FIELD_OF_LIMIT
from jobs.services.importing import drafts
from jobs.services.importing.brought import SILENT, as_typed
from jobs.views import importing, submitting
from projects.models import Project
from quotas.services import OverAllocation


@login_required
@require_http_methods(["GET", "POST"])
def submit(request: SignedInRequest) -> HttpResponse:
    """The form (GET), what a button makes of it, and the request it makes (POST)."""
    sheet = submitting.sheet(request, lambda: _initial(request))
    if sheet is None:
        return render(request, "jobs/submit_nowhere.html")
    valid = sheet.is_judged and sheet.is_valid()
    if valid and not sheet.act:
        job = _ask(request, sheet)
        if job is not None:
            drafts.became(job)
            return redirect(job)
    status = 422 if sheet.is_judged and not sheet.act else 200
    return render(request, "jobs/submit.html", sheet.context(), status=status)


@login_required
@require_POST
def check(request: SignedInRequest) -> HttpResponse:
    """The parts that follow from what the form holds now; the whole form where a button changed it."""
    sheet = submitting.sheet(request)
    if sheet is None:
        raise NotFound(Permission.JOB_SUBMIT, Project._meta.label_lower, {})
    if sheet.is_judged:
        sheet.is_valid()
        return render(request, "jobs/_submit_parts.html", sheet.parts())
    return render(request, "jobs/_submit_form.html", sheet.context())


def _initial(request: SignedInRequest) -> dict[str, Any]:
    brought = request.GET.get("draft")
    if brought:
        draft = importing.fetch(request, brought)
        return SILENT | as_typed(drafts.request_of(draft))
    again = request.GET.get("like")
    if again:
        return like(gate.fetch(Job.objects.select_related("allocation"), request.user, Permission.JOB_VIEW, pk=again))
    start = {name: submitting.plain(request.GET.get(name, ""))[:200] for name in ("folder", "software")}
    return {name: value for name, value in start.items() if value}


def _ask(request: SignedInRequest, sheet: submitting.Sheet) -> Job | None:
    form, files = sheet.form, sheet.attached

    def asked() -> Job:
        return attaching.submit(
            project=sheet.project, spec=form.spec, allocation=form.chosen, by=request.user, files=files.files,
            idempotency_key=submitting.plain(request.POST.get("key", ""))[:100] or None,
        )  # fmt: skip

    try:
        job: Job | None = files.tell(asked)
        sheet.blame()
        return job
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


@login_required
@require_POST
def cancel(request: SignedInRequest, pk: str) -> HttpResponse:
    """Ask for the job's end."""
    job = shapes.PLAIN.fetch(request.user, Permission.JOB_CANCEL, pk=pk)
    try:
        services.cancel(job=job, by=request.user)
        messages.success(request, _("Cancellation asked for. Slurm ends the job in a moment."))
    except services.AlreadyOver as over:
        messages.info(request, str(over))
    return redirect(job)
