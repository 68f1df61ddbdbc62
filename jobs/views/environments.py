"""The environments of a project: a list, one of them, and what its members do about them."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from jobs.forms_environment import EnvironmentForm
from jobs.services import NotNow, TooFast, environments
from jobs.specs import BadSpec
from presets.models import Environment
from projects.models import Project
from quotas.services import OverAllocation
from storage import words

MOST = 200
_ROWS = Environment.objects.select_related("project", "by")


@login_required
@require_safe
def listed(request: SignedInRequest, code: str) -> HttpResponse:
    """All builds of the project, by name and the newest first; deleted ones are left out."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_VIEW, code=code)
    rows = _ROWS.filter(project=project, deleted_at=None).defer("lock", "text")
    context = {
        "project": project, "rows": rows[:MOST], "may_build": gate.can(project, request.user, Permission.JOB_SUBMIT),
    }  # fmt: skip
    return render(request, "environments/list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def add(request: SignedInRequest, code: str) -> HttpResponse:
    """Ask for one: a job of the person's builds it."""
    project = gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=code)
    form = EnvironmentForm(request.POST or None, request.FILES or None)
    if form.is_bound and form.is_valid():
        made = _built(form, lambda: environments.build(project=project, by=request.user, **form.asked()))
        if made is not None:
            messages.success(request, _("Asked for. A job builds it now."))
            return redirect("environments:detail", code, made.pk)
    context = {"project": project, "form": form}
    return render(request, "environments/add.html", context, status=422 if form.is_bound else 200)


def _built(form: EnvironmentForm, act: Callable[[], Environment]) -> Environment | None:
    """None where it was refused: then the form says why."""
    try:
        return act()
    except BadSpec as bad:
        for name, said in bad.errors.items():
            form.add_error(name if name in form.fields else None, said)
    except TooFast as refusal:
        form.add_error(None, refusal.words)
    except (NotNow, OverAllocation) as refusal:
        form.add_error(None, str(refusal))
    return None


def _fetch(request: SignedInRequest, code: str, pk: str, permission: Permission) -> Environment:
    return gate.fetch(_ROWS, request.user, permission, project__code=code, pk=pk)


@login_required
@require_safe
def detail(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """One build: what was asked for, what is in it, and what can be done about it."""
    row = _fetch(request, code, pk, Permission.PROJECT_VIEW)
    may_build = gate.can(row.project, request.user, Permission.JOB_SUBMIT)
    context = {
        "project": row.project, "one": row, "may_build": may_build,
        "may_retire": environments.can_retire(row, by=request.user),
        "is_mine": may_build and row.by_id == request.user.pk,
    }  # fmt: skip
    return render(request, "environments/detail.html", context)


@login_required
@require_POST
def rebuild(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """The same file once more, under the next number."""
    row = _fetch(request, code, pk, Permission.JOB_SUBMIT)
    try:
        made = environments.rebuild(environment=row, by=request.user)
    except TooFast as refusal:
        messages.error(request, refusal.words)
    except (NotNow, OverAllocation, BadSpec) as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("Asked for. A job builds it now."))
        return redirect("environments:detail", code, made.pk)
    return redirect("environments:detail", code, pk)


@login_required
@require_POST
def retire(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """It is no longer offered."""
    row = _fetch(request, code, pk, Permission.PROJECT_VIEW)
    environments.retire(environment=row, by=request.user)
    messages.success(request, _("Retired. Whoever names it is warned."))
    return redirect("environments:detail", code, pk)


@login_required
@require_POST
def offer(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """It is offered again."""
    row = _fetch(request, code, pk, Permission.PROJECT_VIEW)
    environments.offer_again(environment=row, by=request.user)
    messages.success(request, _("Offered again."))
    return redirect("environments:detail", code, pk)


@login_required
@require_POST
def delete(request: SignedInRequest, code: str, pk: str) -> HttpResponse:
    """Its files, as the person they belong to; what it was stays known to the jobs that used it."""
    row = _fetch(request, code, pk, Permission.JOB_SUBMIT)
    try:
        environments.delete(environment=row, by=request.user)
    except NotNow as refusal:
        messages.error(request, str(refusal))
    except words.FAILURES as failure:
        messages.error(request, words.of(failure)[2])
    else:
        messages.success(request, _("Deleted. Jobs that ran with it keep its list of packages."))
        return redirect("environments:list", code)
    return redirect("environments:detail", code, pk)
