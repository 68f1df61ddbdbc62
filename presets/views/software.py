"""The software environments the site has validated, and what an administrator changes about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from accounts.http import SignedInRequest
from presets import services
from presets.forms import SoftwareForm, blame
from presets.models import Software
from projects.models import Project

MOST = 500


@login_required
@require_GET
def environments(request: SignedInRequest) -> HttpResponse:
    """All of them, those the site still stands for first."""
    rows = sorted(Software.objects.all()[:MOST], key=lambda row: row.retired_at is not None)
    theirs = gate.allowing(Project.objects.order_by("title"), request.user, Permission.PROJECT_VIEW)
    context = {
        "rows": rows, "can_change": gate.site_can(request.user, Permission.SOFTWARE_MANAGE), "homes": theirs[:50],
    }  # fmt: skip
    return render(request, "presets/software.html", context)


def _administrator(request: SignedInRequest) -> None:
    """Raises NotFound for everybody else."""
    if not gate.site_can(request.user, Permission.SOFTWARE_MANAGE):
        raise NotFound(Permission.SOFTWARE_MANAGE, "presets.software", {})


def _fetch(request: SignedInRequest, pk: str) -> Software:
    _administrator(request)
    found = Software.objects.filter(pk=pk).first()
    if found is None:
        raise NotFound(Permission.SOFTWARE_MANAGE, "presets.software", {"pk": pk})
    return found


@login_required
@require_http_methods(["GET", "POST"])
def add(request: SignedInRequest) -> HttpResponse:
    """Another one."""
    _administrator(request)
    form = SoftwareForm(request.POST or None)
    return _page(request, form, None, lambda: services.add_software(by=request.user, **form.cleaned_data))


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: SignedInRequest, pk: str) -> HttpResponse:
    """Correct it, or say that it was validated anew."""
    row = _fetch(request, pk)
    form = SoftwareForm(request.POST or None, software=row)
    return _page(
        request, form, row, lambda: services.change_software(software=row, by=request.user, **form.cleaned_data)
    )


def _page(request: SignedInRequest, form: SoftwareForm, row: Software | None, act: Callable[[], Any]) -> HttpResponse:
    if form.is_bound and form.is_valid():
        try:
            act()
        except ValidationError as error:
            blame(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("software:list")
    context = {"form": form, "one": row}
    return render(request, "presets/software_form.html", context, status=422 if form.is_bound else 200)


@login_required
@require_POST
def retire(request: SignedInRequest, pk: str) -> HttpResponse:
    """The site no longer stands for it; who names it is warned."""
    row = _fetch(request, pk)
    services.retire_software(software=row, by=request.user, why=request.POST.get("why", "").replace("\x00", "")[:300])
    messages.success(request, _("Retired. Whoever names it is warned."))
    return redirect("software:list")


@login_required
@require_POST
def offer(request: SignedInRequest, pk: str) -> HttpResponse:
    """The site stands for it again."""
    services.offer_software_again(software=_fetch(request, pk), by=request.user)
    messages.success(request, _("Offered again."))
    return redirect("software:list")
