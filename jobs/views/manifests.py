"""A version's manifest: the job that makes it, and taking over what it printed."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from datasets import refusals
from datasets.views.forming import done_or_said
from datasets.views.one import fetch
from datasets.views.writing import version_of
from jobs.services import NotNow, TooFast, manifests, reading
from projects.models import Project
from quotas.services import OverAllocation


@login_required
@require_POST
def measure(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """The steward submits the job, in the dataset's project: it takes the right to submit there, too."""
    row = fetch(request.user, Permission.DATASET_STEWARD, code)
    version = version_of(row, pk)
    project = gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=row.project.code)
    try:
        return redirect(manifests.measure(version=version, project=project, by=request.user))
    except TooFast as refusal:
        messages.error(request, refusal.words)
    except (NotNow, OverAllocation, manifests.NoRoom) as refusal:
        messages.error(request, str(refusal))
    except refusals.REFUSALS as error:
        messages.error(request, str(refusals.of(error).words))
    return redirect("datasets:detail", code)


@login_required
@require_POST
def keep(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """Take over the manifest that the job printed."""
    version = version_of(fetch(request.user, Permission.DATASET_STEWARD, code), pk)
    try:
        act = partial(manifests.keep, version=version, by=request.user)
        return done_or_said(request, act, _("Kept. It is never changed from now on."), "datasets:detail", code)
    except reading.ReaderDown:
        messages.error(request, _("The outputs of jobs cannot be read at the moment."))
    return redirect("datasets:detail", code)
