"""A cluster administrator answers a request for an allocation: gives it, or part of it, after a look; or refuses."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from access.permissions import Permission
from accounts.http import SignedInRequest
from jobs.views import previews
from projects import refusals
from quotas.forms import DecisionForm, blame
from quotas.models import Allocation, AllocationRequest
from quotas.services import requests
from quotas.views.requests import fetch, page


@login_required
@require_POST
def decide(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """Yes (`act=give`), with the amounts as they stand in the form, or no with words."""
    row = fetch(request, Permission.PROJECT_MANAGE, code, pk)
    form = DecisionForm(request.POST, asked=row)
    if previews.EDIT in request.POST:
        return page(request, row, decision=form)
    if not form.is_valid():
        return page(request, row, decision=form, status=422)
    try:
        done = _give(request, row, form) if request.POST.get("act") == "give" else _refuse(request, row, form)
    except ValidationError as error:
        blame(form, error)
        done = None
    except refusals.REFUSALS as error:
        messages.error(request, str(refusals.of(error).words))
        return redirect("allocations:request", code, pk)
    return done or page(request, row, decision=form, status=422)


def _give(request: SignedInRequest, row: AllocationRequest, form: DecisionForm) -> HttpResponse:
    def act() -> Allocation:
        return requests.approve(request=row, by=request.user, answer=form.cleaned_data["answer"], **form.granted)

    title = _("Give what was asked for: %(what)s") % {"what": row.get_kind_display()}
    back = reverse("allocations:request", args=[row.project.code, row.pk])
    shown = previews.first(request, row.project, act, title=title, back=back, yes=_("Give it"))
    if shown is not None:
        return shown
    act()
    messages.success(request, _("Given. Whoever asked sees it with your words."))
    return redirect("operate:requests")


def _refuse(request: SignedInRequest, row: AllocationRequest, form: DecisionForm) -> HttpResponse | None:
    if not form.cleaned_data["answer"].strip():
        form.add_error("answer", _("Write a few words: whoever asked reads them."))
        return None
    requests.refuse(request=row, by=request.user, answer=form.cleaned_data["answer"])
    messages.success(request, _("Answered. Whoever asked sees your words."))
    return redirect("operate:requests")
