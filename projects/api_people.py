"""The API of a project's people: who is in it, including, changing, removing; and the search of the directory."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status
from pydantic import Field

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from access.typed import Text
from accounts import admission
from accounts.models import User
from projects import searching, services
from projects.api_schemas import Asking, FoundPerson, MemberChange, MemberIn, MemberOut, Removal, member_out
from projects.models import Membership, Project

router, directory = Router(), Router()


class Words(Asking):
    """What to look for: letters of login, name or e-mail."""

    q: Text = Field(max_length=100)


@directory.get("", response=list[FoundPerson], operation_id="directory")
def search(request: HttpRequest, words: Query[Words]) -> list[dict[str, Any]]:
    """At most 20 people of the directory, for whoever may include people somewhere."""
    may = gate.allowing(Project.objects.all(), request.user, Permission.MEMBER_MANAGE).exists()
    if not may:
        raise Refused(Permission.MEMBER_MANAGE, "accounts.directory", {})
    found = [one.entry for one in searching.search(words.q, by=_me(request))]
    return [
        {"id": one.directory_id, "login": one.username, "name": one.name, "email": one.mail, "locked": one.locked}
        for one in found
    ]


@router.get("/{code}/members", response=list[MemberOut], operation_id="members")
def members(request: HttpRequest, code: str) -> list[dict[str, Any]]:
    """Who is in the project now, by login."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code)
    rows = Membership.objects.active().filter(project=project).select_related("user").order_by("user__username")
    return [member_out(row) for row in rows]


@router.post("/{code}/members", response={201: MemberOut}, operation_id="add_member")
def add(request: HttpRequest, code: str, body: MemberIn) -> Status[dict[str, Any]]:
    """Include somebody."""
    project = gate.fetch(Project.objects, request.user, Permission.MEMBER_MANAGE, code=code)
    fields = body.dict()
    user = admission.person_by_id(fields.pop("person"))
    return Status(201, member_out(services.add_member(project=project, user=user, by=_me(request), **fields)))


@router.patch("/{code}/members/{login}", response=MemberOut, operation_id="change_member")
def change(request: HttpRequest, code: str, login: str, body: MemberChange) -> dict[str, Any]:
    """Another role, another end."""
    row = _member(request, code, login, Permission.MEMBER_MANAGE)
    until = body.until if "until" in body.model_fields_set else row.ends_at
    changed = services.change_member(
        membership=row, role=body.role or row.role, until=until, by=_me(request), why=body.why
    )
    return member_out(changed)


@router.delete("/{code}/members/{login}", response={204: None}, operation_id="remove_member")
def remove(request: HttpRequest, code: str, login: str, how: Query[Removal]) -> HttpResponse:
    """End a membership: anybody their own, whoever manages members that of others."""
    own = login == _me(request).username
    row = _member(request, code, login, Permission.PROJECT_VIEW if own else Permission.MEMBER_MANAGE)
    services.remove_member(membership=row, by=_me(request), on_end=how.on_end, why=how.why)
    return HttpResponse(status=204)


def _member(request: HttpRequest, code: str, login: str, permission: Permission) -> Membership:
    """The membership in force. Raises NotFound, Refused."""
    project = gate.fetch(Project.objects, request.user, permission, code=code)
    key: dict[str, object] = {"code": code, "login": login}
    if "\x00" in login:
        raise NotFound(permission, "projects.membership", key)
    rows = Membership.objects.active().filter(project=project, user__username=login)
    row = rows.select_related("project", "user").first()
    if row is None:
        raise NotFound(permission, "projects.membership", key)
    return row


def _me(request: HttpRequest) -> User:
    """Whoever passed the door."""
    return cast(User, request.user)
