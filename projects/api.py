"""GET /projects: what the caller may see, and one of them with its people."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from access import gate
from access.permissions import Permission
from projects.models import Membership, Project

router = Router()
Code = Annotated[str, Field(max_length=31, pattern=r"^[^\x00-\x1f]*$")]
MOST = 200


class ProjectOut(Schema):
    """A project; `role` is the caller's own in it, "" for who sees it by a site role."""

    code: str
    title: str
    organization: str
    state: str
    role: str
    partitions: list[str]


class ProjectPage(Schema):
    """One page, by code; `next` is the cursor of the following page."""

    items: list[ProjectOut]
    next: str | None


class MemberOut(Schema):
    """Somebody in the project now."""

    login: str
    name: str
    role: str
    since: datetime


class ProjectDetail(ProjectOut):
    """With its people and where its files lie."""

    slurm_account: str
    unix_group: str
    folder: str
    members: list[MemberOut]


class PageOf(Schema):
    """Which page."""

    cursor: Code = ""
    limit: int = Field(100, ge=1, le=MOST)


@router.get("", response=ProjectPage, operation_id="projects")
def projects(request: HttpRequest, page: Query[PageOf]) -> dict[str, Any]:
    """The projects the caller may see, by code."""
    theirs = gate.allowing(Project.objects.order_by("code"), request.user, Permission.PROJECT_VIEW)
    rows = list(theirs.filter(code__gt=page.cursor)[: page.limit + 1])
    shown = rows[: page.limit]
    mine = Membership.objects.active().filter(user=request.user, project__in=[row.pk for row in shown])  # type: ignore[misc]
    roles = dict(mine.values_list("project_id", "role"))
    return {
        "items": [_project(row, roles.get(row.pk, "")) for row in shown],
        "next": shown[-1].code if len(rows) > page.limit else None,
    }


@router.get("/{code}", response=ProjectDetail, operation_id="project")
def project(request: HttpRequest, code: str) -> dict[str, Any]:
    """One project with its members."""
    row = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code)
    members = list(Membership.objects.active().filter(project=row).select_related("user").order_by("user__username"))
    role = next((member.role for member in members if member.user_id == request.user.pk), "")
    return _project(row, role) | {
        "slurm_account": row.slurm_account,
        "unix_group": row.unix_group,
        "folder": row.folder,
        "members": [
            {"login": row.user.username, "name": row.user.name, "role": row.role, "since": row.starts_at}
            for row in members
        ],
    }


def _project(row: Project, role: str) -> dict[str, Any]:
    return {
        "code": row.code,
        "title": row.title,
        "organization": row.organization,
        "state": row.state,
        "role": role,
        "partitions": row.partitions,
    }
