"""Who pays for a project's allocations: adding and correcting a funding source."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from projects.models import Project
from quotas import services as quotas
from quotas.forms import FundingForm, blame
from quotas.models import FundingSource


@login_required
@require_http_methods(["GET", "POST"])
def add(request: SignedInRequest, code: str) -> HttpResponse:
    """A new one."""
    project = gate.fetch(Project.objects, request.user, Permission.MEMBER_MANAGE, code=code)
    return _page(request, project, FundingForm(request.POST or None), None)


@login_required
@require_http_methods(["GET", "POST"])
def change(request: SignedInRequest, code: str, pk: int) -> HttpResponse:
    """Correct one."""
    rows = FundingSource.objects.select_related("project")
    row = gate.fetch(rows, request.user, Permission.MEMBER_MANAGE, project__code=code, pk=pk)
    return _page(request, row.project, FundingForm(request.POST or None, instance=row), row)


def _page(request: SignedInRequest, project: Project, form: FundingForm, row: FundingSource | None) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        try:
            if row is None:
                quotas.add_funding(project=project, by=request.user, **form.cleaned_data)
            else:
                quotas.change_funding(source=row, by=request.user, **form.cleaned_data)
        except ValidationError as error:
            blame(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("projects:detail", project.code)
    context = {"form": form, "project": project, "source": row}
    return render(request, "quotas/funding.html", context, status=422 if form.is_bound else 200)
