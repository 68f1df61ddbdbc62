"""The API of projects: what the caller may see, one with its people; opened, changed, archived by an operator."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Any, cast

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query, Router, Schema, Status
from pydantic import Field

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from accounts import admission
from accounts.models import User
from cluster.models import Partition
from projects import services
from projects.api_schemas import Changes, NewProject, ProjectDetail, ProjectPage, Why, member_out, project_out
from projects.models import Membership, Project, ProjectRequest

router = Router()
Code = Annotated[str, Field(max_length=31, pattern=r"^[^\x00-\x1f]*$")]
MOST = 200


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
        "items": [project_out(row, roles.get(row.pk, "")) for row in shown],
        "next": shown[-1].code if len(rows) > page.limit else None,
    }


@router.get("/{code}", response=ProjectDetail, operation_id="project")
def project(request: HttpRequest, code: str) -> dict[str, Any]:
    """One project with its members."""
    return _detail(request, gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code))


def _detail(request: HttpRequest, row: Project) -> dict[str, Any]:
    members = list(Membership.objects.active().filter(project=row).select_related("user").order_by("user__username"))
    role = next((member.role for member in members if member.user_id == request.user.pk), "")
    own = ("slurm_account", "unix_group", "folder", "classification", "starts_on", "ends_on", "is_listed")
    facts = {name: getattr(row, name) for name in own}
    return project_out(row, role) | facts | {"members": [member_out(member) for member in members]}


@router.post("", response={201: ProjectDetail}, operation_id="open_project")
def open_project(request: HttpRequest, body: NewProject) -> Status[dict[str, Any]]:
    """Open a project; cluster administrators only."""
    if not gate.site_can(request.user, Permission.PROJECT_MANAGE):
        raise Refused(Permission.PROJECT_MANAGE, "projects.project", {"code": body.code})
    fields = body.dict()
    asked = _request(fields.pop("request"))
    _check(fields)
    pi = admission.person_by_id(fields.pop("pi"))
    row = services.open_for(pi=pi, by=_me(request), request=asked, slurm_account=body.code, **fields)
    return Status(201, _detail(request, row))


def _request(pk: Any) -> ProjectRequest | None:
    row = ProjectRequest.objects.filter(pk=pk).first() if pk else None
    if pk and row is None:
        raise NotFound(Permission.PROJECT_MANAGE, "projects.projectrequest", {"pk": pk})
    return row


def _check(fields: dict[str, Any], row: Project | None = None) -> None:
    """Queues nobody knows, with every other wrong field; else the service judges. Raises ValidationError."""
    wrong = _unknown(fields["partitions"]) if "partitions" in fields else {}
    if not wrong:
        return
    project = copy(row) if row else Project(slurm_account=fields["code"])
    for name in fields.keys() & {one.name for one in Project._meta.get_fields()}:
        setattr(project, name, fields[name])
    try:
        project.full_clean(exclude=["slurm_account"])
    except ValidationError as said:
        wrong = said.message_dict | wrong
    raise ValidationError(wrong)


def _unknown(names: list[str]) -> dict[str, list[str]]:
    known = set(Partition.objects.values_list("name", flat=True))
    unknown = [name for name in names if name not in known]
    if not unknown and names:
        return {}
    words = _("The cluster has no partition %(names)s.") % {"names": ", ".join(unknown)}
    return {"partitions": [words] if unknown else [_("Choose at least one.")]}


@router.patch("/{code}", response=ProjectDetail, operation_id="change_project")
def change_project(request: HttpRequest, code: str, body: Changes) -> dict[str, Any]:
    """Change a project: cluster administrators all of it, its PI whether it may be found."""
    fields = body.dict(exclude_unset=True)
    lead = fields.keys() <= {"is_listed"}
    permission = Permission.PROJECT_LEAD if lead else Permission.PROJECT_MANAGE
    row = gate.fetch(Project.objects, request.user, permission, code=code)
    empty = [name for name, value in fields.items() if value is None and name not in ("starts_on", "ends_on")]
    if empty:
        raise ValidationError({name: [_("This field is required.")] for name in empty})
    _check(fields, row)
    return _detail(request, services.change_project(project=row, by=_me(request), **fields))


@router.post("/{code}/archive", response=ProjectDetail, operation_id="archive_project")
def archive(request: HttpRequest, code: str, body: Why) -> dict[str, Any]:
    """No new work; what was stays readable. A second time does nothing."""
    row = gate.fetch(Project.objects, request.user, Permission.PROJECT_MANAGE, code=code)
    return _detail(request, services.archive_project(project=row, by=_me(request), why=body.why))


@router.post("/{code}/reopen", response=ProjectDetail, operation_id="reopen_project")
def reopen(request: HttpRequest, code: str, body: Why) -> dict[str, Any]:
    """It takes work again. A second time does nothing."""
    row = gate.fetch(Project.objects, request.user, Permission.PROJECT_MANAGE, code=code)
    return _detail(request, services.reopen_project(project=row, by=_me(request), why=body.why))


def _me(request: HttpRequest) -> User:
    """Whoever passed the door."""
    return cast(User, request.user)
