"""Changing what a project may use: each change is shown, as Slurm would hear of it, before it is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from jobs.views import previews
from projects.models import Project
from quotas import panels, reads
from quotas import services as quotas
from quotas.forms import AllocationForm, NewAllocationForm, WhyForm, blame
from quotas.models import Allocation

ACTS = ("GET", "POST")


def fetch(request: SignedInRequest, permission: Permission, code: str, allocation: str) -> Allocation:
    """Raises NotFound, Refused."""
    return reads.allocation(request.user, permission, code, allocation)


@login_required
@require_http_methods(ACTS)
def create(request: SignedInRequest, code: str) -> HttpResponse:
    """Give a project an allocation."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_MANAGE, code=code)
    form = NewAllocationForm(request.POST or None, project=project)

    def act() -> Allocation:
        return quotas.create_allocation(project=project, by=request.user, **form.values)

    title = _("A new allocation for %(project)s") % {"project": project.title}
    done = _carry_out(request, form, project, act, title=title, back=reverse("allocations:create", args=[code]))
    return done or _form(request, form, project, None)


@login_required
@require_http_methods(ACTS)
def change(request: SignedInRequest, code: str, allocation: str) -> HttpResponse:
    """Change an allocation's limits, period, queues or funding."""
    row = fetch(request, Permission.PROJECT_MANAGE, code, allocation)
    form = AllocationForm(request.POST or None, project=row.project, allocation=row)

    def act() -> Allocation:
        why = form.cleaned_data["why"]
        return quotas.change_allocation(allocation=row, by=request.user, why=why, **form.values)

    title = _("Change the allocation %(title)s") % {"title": row.title}
    done = _carry_out(request, form, row.project, act, title=title, back=_address(row))
    return done or _form(request, form, row.project, row)


@login_required
@require_http_methods(ACTS)
def close(request: SignedInRequest, code: str, allocation: str) -> HttpResponse:
    """No new job spends it from now on."""
    row = fetch(request, Permission.PROJECT_MANAGE, code, allocation)
    form = WhyForm(request.POST or None)

    def act() -> Allocation:
        return quotas.close_allocation(allocation=row, by=request.user, why=form.cleaned_data["why"])

    title = _("Close the allocation %(title)s") % {"title": row.title}
    done = _carry_out(request, form, row.project, act, title=title, back=_address(row), yes=_("Close it"))
    context = {"form": form, "project": row.project, "allocation": row, "title": title, "ends": True}
    return done or render(request, "quotas/act.html", context, status=_status(request, form))


@login_required
@require_http_methods(ACTS)
def make_default(request: SignedInRequest, code: str, allocation: str) -> HttpResponse:
    """Jobs that name no allocation spend this one from now on."""
    row = fetch(request, Permission.MEMBER_MANAGE, code, allocation)

    def act() -> Allocation:
        return quotas.make_default(allocation=row, by=request.user)

    title = _("Jobs that name no allocation spend %(title)s") % {"title": row.title}
    done = _carry_out(request, Form(request.POST), row.project, act, title=title, back=_address(row))
    return done or render(request, "quotas/act.html", {"project": row.project, "allocation": row, "title": title})


def _carry_out(
    request: SignedInRequest, form: Form, project: Project, act: Callable[[], object], *, title: str, back: str,
    yes: str = "",
) -> HttpResponse | None:  # fmt: skip
    """The preview, or the change itself once it is confirmed; None where the form has to be shown (again)."""
    if request.method != "POST" or previews.EDIT in request.POST or not form.is_valid():
        return None
    try:
        page = previews.first(request, project, act, title=title, back=back, yes=yes or _("Confirm"))
        if page is not None:
            return page
        act()
    except ValidationError as error:
        blame(form, error)
        return None
    messages.success(request, _("Done. Slurm hears of it within seconds; the page says when it is in force."))
    return redirect("projects:detail", project.code)


def _form(request: SignedInRequest, form: Form, project: Project, row: Allocation | None) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "project": project, "allocation": row}
    if row is not None:
        context["line"] = next(iter(panels.panels(Allocation.objects.filter(pk=row.pk))))
    return render(request, "quotas/allocation_form.html", context, status=_status(request, form))


def _status(request: SignedInRequest, form: Form) -> int:
    return 422 if form.is_bound and previews.EDIT not in request.POST else 200


def _address(row: Allocation) -> str:
    return reverse("allocations:one", args=[row.project.code, row.code])
