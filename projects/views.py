"""Pages of projects: which are mine, and one of them with its people and allocations."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from access import gate
from access.permissions import Permission
from access.roles import Role
from projects.models import Membership, Project


@login_required
def projects(request: HttpRequest) -> HttpResponse:
    """The projects the person may see; theirs first."""
    rows = gate.allowing(Project.objects.all(), request.user, Permission.PROJECT_VIEW)
    roles = dict(Membership.objects.active().filter(user=request.user).values_list("project_id", "role"))
    lines = [
        {"project": row, "role": roles.get(row.pk, ""), "role_name": _role_name(roles.get(row.pk))}
        for row in rows[:500]
    ]
    lines.sort(key=lambda line: (not line["role"], line["project"].title))  # type: ignore[union-attr]
    return render(request, "projects/list.html", {"lines": lines})


def _role_name(role: str | None) -> str:
    return str(Role(role).label) if role else ""
