"""The page of one project: what is left, who is in it, what its jobs do."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpResponse
from django.shortcuts import render

from access import gate
from access.permissions import Permission
from access.roles import Role
from accounts.http import SignedInRequest
from audit import views as audit
from audit.models import AuditEvent
from jobs.models import Job
from projects.models import Membership, Project
from quotas import reads

RECENT = 20


@login_required
def project(request: SignedInRequest, code: str) -> HttpResponse:
    """It joins projects, allocations and jobs, so it lives in the highest room it shows."""
    row = gate.fetch(_with_rights(request.user), request.user, Permission.PROJECT_VIEW, code=code)
    members = Membership.objects.active().filter(project=row).select_related("user")
    return render(
        request,
        "projects/detail.html",
        {
            "project": row,
            "members": sorted(members, key=lambda member: (Role.values.index(member.role), member.user.name)),
            "allocations": reads.of_project(row),
            "jobs": list(Job.objects.filter(project=row).with_names().order_by("-pk")[:RECENT]),
        },
    )


def _with_rights(user: gate.Person) -> QuerySet[Project]:
    """Projects that say of themselves what the person may do there: one query for row and rights."""

    def may(permission: Permission) -> Exists:
        return Exists(gate.allowing(Project.objects.filter(pk=OuterRef("pk")), user, permission))

    return Project.objects.annotate(may_submit=may(Permission.JOB_SUBMIT), may_audit=may(Permission.TRAIL_READ))


@login_required
def trail(request: SignedInRequest, code: str) -> HttpResponse:
    """What happened in one project, for those who answer for it."""
    row = gate.fetch(Project.objects, request.user, Permission.TRAIL_READ, code=code)
    return audit.page(request, AuditEvent.objects.filter(project_id=row.pk), project=row)
