"""Pages of projects: which are mine, and one of them with its people and allocations."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render

from access import gate
from access.permissions import Permission
from access.roles import Role
from accounts.http import SignedInRequest
from projects.models import Membership, Project


@login_required
def projects(request: SignedInRequest) -> HttpResponse:
    """The projects the person may see; theirs first."""
    rows = gate.allowing(Project.objects.all(), request.user, Permission.PROJECT_VIEW)
    roles = dict(Membership.objects.active().filter(user=request.user).values_list("project_id", "role"))
    ordered = sorted(rows[:500], key=lambda row: (row.pk not in roles, row.title))
    lines = [{"project": row, "role_name": _role_name(roles.get(row.pk))} for row in ordered]
    return render(request, "projects/list.html", {"lines": lines})


def _role_name(role: str | None) -> str:
    return str(Role(role).label) if role else ""
