"""My projects, those I may ask to join, and what I asked for."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from access import gate
from access.permissions import Permission
from access.roles import Role
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from projects import reads, services, tables
from projects.forms import AskProjectForm
from projects.models import Membership, Project

MOST = 200


@login_required
@require_GET
def projects(request: SignedInRequest) -> HttpResponse:
    """The projects the person may see, theirs first; what they asked for; and a search for others to join."""
    words = request.GET.get("q", "")[:64].replace("\x00", "").strip()
    found = list(reads.listed(request.user, words)[: reads.MOST_LISTED])
    if request.htmx:
        return render(request, "projects/_listed.html", {"listed": found, "q": words})
    context = {"lines": _lines(request), "listed": found, "q": words, "asked": reads.asked_by(request.user)}
    return render(request, "projects/list.html", context | {"can_manage": _manages(request)})


def _lines(request: SignedInRequest) -> list[dict[str, Any]]:
    roles = dict(Membership.objects.active().filter(user=request.user).values_list("project_id", "role"))
    rows = gate.allowing(Project.objects.all(), request.user, Permission.PROJECT_VIEW)
    if _manages(request):
        rows = rows.filter(pk__in=roles)  # all of them have a page of their own
    ordered = sorted(rows[:MOST], key=lambda row: (row.pk not in roles, row.title))
    return [{"project": row, "role_name": _role_name(roles.get(row.pk))} for row in ordered]


@login_required
@require_GET
def projects_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """The same table; that somebody took it is recorded."""
    trail.record(Action.REPORT_READ, by=request.user, table="projects")
    head = [_("code"), _("title"), _("role"), _("queues"), _("state")]
    rows = (
        [row.code, row.title, line["role_name"], "; ".join(row.partitions), row.get_state_display()]
        for line in _lines(request)
        for row in [line["project"]]
    )
    return tables.of_today("my-projects", head, rows)


def _manages(request: SignedInRequest) -> bool:
    return gate.site_can(request.user, Permission.PROJECT_MANAGE)


def _role_name(role: str | None) -> str:
    return str(Role(role).label) if role else ""


@login_required
@require_http_methods(["GET", "POST"])
def ask_project(request: SignedInRequest) -> HttpResponse:
    """Ask the cluster administrators for a project."""
    form = AskProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            services.ask_project(by=request.user, **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("Asked for. A cluster administrator looks at it; the answer shows here."))
            return redirect("projects:list")
    return render(request, "projects/ask.html", {"form": form}, status=422 if form.is_bound else 200)
