"""Asking for an allocation, for more or for longer; talking about it; withdrawing it. The decision is in jobs.views."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from projects import refusals
from projects.models import Project
from quotas import asking, panels
from quotas.forms import CommentForm, DecisionForm, RequestForm, blame
from quotas.models import Allocation, AllocationRequest
from quotas.services import requests
from quotas.views.one import rights


@login_required
@require_http_methods(["GET", "POST"])
def ask(request: SignedInRequest, code: str) -> HttpResponse:
    """The form, filled in with what was measured."""
    project = gate.fetch(Project.objects, request.user, Permission.ALLOCATION_REQUEST, code=code)
    lines = [line for line in panels.of_project(project, request.user) if line.allocation.closed_at is None]
    get = request.GET.get
    initial = asking.initial(lines, get("allocation", ""), get("kind", ""))
    known = [line.allocation for line in lines]
    form = RequestForm(request.POST or None, initial=initial, allocations=known, project=project)
    if request.method == "POST" and form.is_valid():
        try:
            row = requests.ask(project=project, by=request.user, **form.cleaned_data)
        except ValidationError as error:
            blame(form, error)
        else:
            messages.success(request, _("Asked for. A cluster administrator looks at it; the answer stands here."))
            return redirect("allocations:request", code, row.pk)
    context = {"form": form, "project": project, "lines": lines}
    return render(request, "quotas/ask.html", context, status=422 if form.is_bound else 200)


def fetch(request: SignedInRequest, permission: Permission, code: str, pk: UUID) -> Any:
    """With `may_ask` and `may_operate`. Raises NotFound, Refused."""
    names = ("project", "allocation", "funding", "asked_by", "decided_by")
    may = rights(request.user, may_ask=Permission.ALLOCATION_REQUEST, may_operate=Permission.PROJECT_MANAGE)
    rows = AllocationRequest.objects.select_related(*names).annotate(**may)
    return gate.fetch(rows, request.user, permission, project__code=code, pk=pk)


@login_required
@require_GET
def one(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """A request with all that was said."""
    return page(request, fetch(request, Permission.TRAIL_READ, code, pk))


def page(
    request: SignedInRequest, row: Any, form: CommentForm | None = None,
    decision: DecisionForm | None = None, *, status: int = 200,
) -> HttpResponse:  # fmt: skip
    """The page of a request read by `fetch`, with a form as somebody sent it where that was not possible."""
    lines = panels.panels(Allocation.objects.filter(pk=row.allocation_id)) if row.allocation_id else []
    context: dict[str, Any] = {
        "one": row, "project": row.project, "line": lines[0] if lines else None,
        "comments": row.comments.select_related("by"), "form": form or CommentForm(),
        "decision": decision or DecisionForm(asked=row), "may_decide": row.may_operate and row.is_open,
        "may_withdraw": row.may_ask and row.is_open, "may_comment": row.may_operate or row.may_ask,
    }  # fmt: skip
    return render(request, "quotas/request.html", context, status=status)


@login_required
@require_POST
def comment(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """Say something: the project's PI and managers, and cluster administrators."""
    site = gate.site_can(request.user, Permission.PROJECT_MANAGE)
    row = fetch(request, Permission.PROJECT_MANAGE if site else Permission.ALLOCATION_REQUEST, code, pk)
    form = CommentForm(request.POST)
    if not form.is_valid():
        return page(request, row, form, status=422)
    requests.comment(request=row, by=request.user, text=form.cleaned_data["text"])
    return redirect("allocations:request", code, pk)


@login_required
@require_POST
def withdraw(request: SignedInRequest, code: str, pk: UUID) -> HttpResponse:
    """The project needs it no more."""
    row = fetch(request, Permission.ALLOCATION_REQUEST, code, pk)
    try:
        requests.withdraw(request=row, by=request.user)
        messages.success(request, _("Taken back."))
    except refusals.REFUSALS as error:
        messages.error(request, str(refusals.of(error).words))
    return redirect("allocations:request", code, pk)
