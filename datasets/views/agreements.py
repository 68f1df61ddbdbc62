"""Sharing agreements: their pages, their end, and the checklist of what is owed then."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from accounts.http import SignedInRequest
from accounts.models import User
from datasets.forms import AgreementForm, DutyForm
from datasets.models import Agreement, Duty
from datasets.services import agreements
from datasets.views.forming import done_or_said, form_page, tried
from datasets.views.writing import FORM
from projects.models import Project


def _crumbs(project: Project, agreement: Agreement | None = None) -> list[tuple[str, str]]:
    way = [(reverse("projects:detail", args=[project.code]), project.title)]
    if agreement is not None:
        way.append((reverse("datasets_of:agreement", args=[project.code, agreement.pk]), agreement.title))
    return way


def _fetch(user: User, code: str, pk: str, *, to_lead: bool = False) -> Any:
    """With `may_lead`. Raises NotFound, Refused."""
    home = Project.objects.filter(pk=OuterRef("project"))
    rows = Agreement.objects.select_related("project", "ended_by").annotate(
        may_lead=Exists(gate.allowing(home, user, Permission.PROJECT_LEAD))
    )
    row: Any = gate.fetch(rows, user, Permission.PROJECT_VIEW, project__code=code, pk=pk)
    if to_lead and not row.may_lead:
        raise Refused(Permission.PROJECT_LEAD, "datasets.agreement", {"pk": pk})
    return row


@login_required
@require_http_methods(FORM)
def add(request: SignedInRequest, code: str) -> HttpResponse:
    """A new agreement of a project."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_LEAD, code=code)
    form = AgreementForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        row = tried(form, lambda: agreements.add(project=project, by=request.user, **form.cleaned_data))
        if row:
            messages.success(request, _("Added. Name it in the datasets that it governs."))
            return redirect("datasets_of:agreement", code, row.pk)
    title = _("New sharing agreement")
    return form_page(request, form, title=title, act=title, crumbs=_crumbs(project), project=project, has_file=True)


@login_required
@require_GET
def one(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """What it says, what it governs, what is owed at its end."""
    row = _fetch(request.user, code, pk)
    checklist = row.checklist.select_related("dataset", "project", "user", "done_by")
    context = {
        "one": row, "project": row.project, "checklist": list(checklist), "datasets": list(row.datasets.all()),
        "crumbs": _crumbs(row.project),
    }  # fmt: skip
    return render(request, "datasets/agreement.html", context)


@login_required
@require_http_methods(FORM)
def change(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """What the parties changed."""
    row = _fetch(request.user, code, pk, to_lead=True)
    form = AgreementForm(request.POST or None, request.FILES or None, agreement=row)
    if request.method == "POST" and tried(
        form, lambda: agreements.change(agreement=row, by=request.user, **form.cleaned_data)
    ):
        messages.success(request, _("Kept. No permission to use lasts longer than the agreement."))
        return redirect("datasets_of:agreement", code, pk)
    title = _("Change %(name)s") % {"name": row.title}
    return form_page(
        request, form, title=title, act=_("Keep the changes"), crumbs=_crumbs(row.project, row), project=row.project,
        has_file=True,
    )  # fmt: skip


@login_required
@require_POST
def end(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """Over: permissions end, the checklist opens."""
    row = _fetch(request.user, code, pk, to_lead=True)
    act = partial(agreements.end, agreement=row, by=request.user)
    done = _("Ended. New jobs are refused; what is owed stands below.")
    return done_or_said(request, act, done, "datasets_of:agreement", code, pk)


@login_required
@require_http_methods(FORM)
def duty(request: SignedInRequest, code: str, pk: str, duty: str) -> HttpResponse:
    """Write down what was done with one copy."""
    row = _fetch(request.user, code, pk, to_lead=True)
    owed = Duty.objects.filter(agreement=row, pk=duty).select_related("dataset", "project", "user").first()
    if owed is None:
        raise NotFound(Permission.PROJECT_LEAD, "datasets.duty", {"pk": duty})
    form = DutyForm(request.POST or None)
    if request.method == "POST" and tried(
        form, lambda: agreements.do_duty(duty=owed, by=request.user, **form.cleaned_data)
    ):
        messages.success(request, _("Written down."))
        return redirect("datasets_of:agreement", code, pk)
    title = f"{owed.dataset.name}: {owed.holder}"
    crumbs = _crumbs(row.project, row)
    return form_page(request, form, title=title, act=_("Write it down"), crumbs=crumbs, intro=row.duties)
