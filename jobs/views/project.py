"""The page of one project: what is left, who is in it, who asks to join, what its jobs do."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from access import gate
from access.permissions import Permission
from access.roles import Role
from accounts.http import SignedInRequest
from accounts.models import User
from audit import views as audit
from audit.models import AuditEvent
from jobs import ticks
from jobs.models import Job
from jobs.services.leaving import RUNNING
from projects import forms, reads
from projects.models import Membership, Project
from quotas import panels, standing
from quotas import reads as quota_reads

RECENT = 20


@login_required
def project(request: SignedInRequest, code: str) -> HttpResponse:
    """It joins projects, allocations and jobs, so it lives in the highest room it shows."""
    row: Any = gate.fetch(with_rights(request.user), request.user, Permission.PROJECT_VIEW, code=code)
    context = people_of(row, request.user) | {
        "allocations": panels.of_project(row, request.user, gpus_now=_gpus_now()),
        "standing": standing.of(row),
        "asked_for": quota_reads.asked(row.allocations_asked) if row.may_audit else [],
        "sources": quota_reads.sources(row.sources_known),
        "may_ask": row.may_ask,
        "this_month": timezone.now().date(),
        "jobs": list(Job.objects.filter(project=row).with_names().order_by("-pk")[:RECENT]),
    }
    return render(request, "projects/detail.html", context)


def _gpus_now() -> Coalesce:
    """GPUs that running jobs have of an allocation."""
    mine = Job.objects.filter(project=OuterRef("project"), allocation=OuterRef("pk")).open()
    running = mine.filter(state__in=RUNNING).order_by()
    return Coalesce(Subquery(running.values("allocation").annotate(n=Sum("allocated_gpus")).values("n")), 0)


def with_rights(user: User) -> QuerySet[Project]:
    """Projects that say of themselves what the person may do there, what was verified of them and who asks to join:
    one query for all of it."""

    def may(permission: Permission) -> Exists:
        return Exists(gate.allowing(Project.objects.filter(pk=OuterRef("pk")), user, permission))

    return Project.objects.select_related("enforcement").annotate(
        may_submit=may(Permission.JOB_SUBMIT),
        may_audit=may(Permission.TRAIL_READ),
        may_manage=may(Permission.MEMBER_MANAGE),
        may_lead=may(Permission.PROJECT_LEAD),
        may_ask=may(Permission.ALLOCATION_REQUEST),
        allocations_asked=quota_reads.requests_of_project(),
        sources_known=quota_reads.funding_of_project(),
        joins=reads.open_joins(),
    )


def people_of(row: Any, user: User) -> dict[str, Any]:
    """What the people's part of a page shows of a project read by `with_rights`."""
    members = list(Membership.objects.active().filter(project=row).select_related("user"))
    members.sort(key=lambda member: (Role.values.index(member.role), member.user.name.casefold()))
    seen = ticks.of(row.enforcement.ticks if hasattr(row, "enforcement") else None)
    missing = set(seen[0].missing)
    return {
        "project": row,
        "members": [
            {
                "row": member,
                "missing": member.user.username in missing,
                "is_me": member.user_id == user.pk,
                "may_change": row.may_manage and (row.may_lead or member.role != Role.PI),
            }
            for member in members
        ],
        "pis": [member.user.name for member in members if member.role == Role.PI],
        "ticks": seen,
        "joins": [one | {"at": parse_datetime(one["at"])} for one in row.joins] if row.may_manage else [],
        "form": forms.AddForm(with_pi=row.may_lead),
        "roles": forms.roles(with_pi=row.may_lead),
        "default_role": Role.RESEARCHER,
        "may_operate": gate.site_can(user, Permission.PROJECT_MANAGE),
    }


@login_required
def trail(request: SignedInRequest, code: str) -> HttpResponse:
    """What happened in one project, for those who answer for it."""
    row = gate.fetch(Project.objects, request.user, Permission.TRAIL_READ, code=code)
    return audit.page(request, AuditEvent.objects.filter(project_id=row.pk), project=row)
