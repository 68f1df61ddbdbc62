"""The page of one project: what is left, who is in it, who asks to join, what its jobs do."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_safe

from access import gate
from access.compiled import Fixed
from access.permissions import Permission
from access.roles import Role
from accounts.http import SignedInRequest
from accounts.models import User
from audit import views as audit
from jobs import ticks
from jobs.models import Job
from jobs.services.leaving import RUNNING
from jobs.views.member_lines import BlankRole, MemberLine
from projects import forms, reads
from projects.models import Membership, Project
from quotas import panels, standing
from quotas import reads as quota_reads

RECENT = 12
# what the pages of a project ask whether a person may do it
MAY = {
    "may_submit": Permission.JOB_SUBMIT,
    "may_read": Permission.LOG_READ,
    "may_audit": Permission.TRAIL_READ,
    "may_manage": Permission.MEMBER_MANAGE,
    "may_lead": Permission.PROJECT_LEAD,
    "may_ask": Permission.ALLOCATION_REQUEST,
}


def _gpus_now() -> Coalesce:
    """GPUs that running jobs have of an allocation."""
    mine = Job.objects.filter(project=OuterRef("project"), allocation=OuterRef("pk")).open()
    running = mine.filter(state__in=RUNNING).order_by()
    return Coalesce(Subquery(running.values("allocation").annotate(n=Sum("allocated_gpus")).values("n")), 0)


def _whole(code: str) -> QuerySet[Project]:
    return (
        Project.objects.filter(code=code)
        .select_related("enforcement")
        .annotate(
            allocations_asked=quota_reads.requests_of_project(),
            sources_known=quota_reads.funding_of_project(),
            joins=reads.open_joins(),
        )
    )


def _members(project: int, now: datetime) -> QuerySet[Membership]:
    rows = Membership.objects.active(now).filter(project=project).select_related("user")
    return rows.defer("user__password", "user__email", "by", "ended_by", "why", "ended_why")


GPUS_NOW = _gpus_now()
WHOLE = gate.Scoped(_whole)
MEMBERS = Fixed(_members)
LATEST = Fixed(lambda project: Job.objects.lines("owner").filter(project=project).order_by("-pk")[:RECENT], kept=False)


def with_rights(user: User, permission: Permission, *, code: str) -> Any:
    """The project that says of itself what the person may do there (MAY), what was verified of it and who asks to
    join: one query for all of it. Raises NotFound, Refused."""
    row, rights = WHOLE.fetch(user, permission, code=code)
    for name, needed in MAY.items():
        setattr(row, name, needed in rights)
    return row


@login_required
@require_safe
def project(request: SignedInRequest, code: str) -> HttpResponse:
    """It joins projects, allocations and jobs, so it lives in the highest room it shows."""
    row = with_rights(request.user, Permission.PROJECT_VIEW, code=code)
    context = people_of(row, request.user) | {
        "allocations": panels.of_project(row, request.user, gpus_now=GPUS_NOW),
        "standing": standing.of(row),
        "asked_for": quota_reads.asked(row.allocations_asked) if row.may_audit else [],
        "sources": quota_reads.sources(row.sources_known),
        "may_ask": row.may_ask,
        "this_month": timezone.now().date(),
        "jobs": LATEST.all(project=row.pk),
    }
    return render(request, "projects/detail.html", context)


def people_of(row: Any, user: User) -> dict[str, Any]:
    """What the people's part of a page shows of a project read by `with_rights`."""
    members = MEMBERS.all(project=row.pk, now=timezone.now())
    members.sort(key=lambda member: (Role.values.index(member.role), member.user.name.casefold()))
    seen = ticks.of(row.enforcement.ticks if hasattr(row, "enforcement") else None)
    missing = set(seen[0].missing)
    return {
        "project": row,
        "members": [MemberLine.of(member, row, missing=missing, is_me=member.user_id == user.pk) for member in members],
        "pis": [member.user.name for member in members if member.role == Role.PI],
        "ticks": seen,
        "joins": [one | {"at": parse_datetime(one["at"])} for one in row.joins] if row.may_manage else [],
        "form": forms.AddForm(with_pi=row.may_lead),
        "blank": BlankRole(row.may_lead),
        "roles": forms.roles(with_pi=row.may_lead),
        "default_role": Role.RESEARCHER,
        "may_operate": gate.site_can(user, Permission.PROJECT_MANAGE),
    }


@login_required
@require_safe
def trail(request: SignedInRequest, code: str) -> HttpResponse:
    """What happened in one project, for those who answer for it."""
    row = gate.fetch(Project.objects, request.user, Permission.TRAIL_READ, code=code)
    return audit.page(request, project=row)
