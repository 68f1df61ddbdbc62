"""The API of requests: to join a project, for a project; made, taken back, answered."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status
from pydantic import Field

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from accounts.models import User
from projects import reads, services
from projects.api_schemas import (
    Answer,
    AskedOut,
    AskedProject,
    Asking,
    Justification,
    LetIn,
    ListedOut,
    MemberOut,
    Text,
    member_out,
    request_out,
)
from projects.models import JoinRequest, Project, ProjectRequest, RequestState

router, joins = Router(), Router()
MOST = 200


class ProjectWords(Asking):
    """Letters of the title, the code or the PI's name."""

    q: Text = Field("", max_length=64)


@router.get("", response=list[AskedOut], operation_id="my_requests")
def mine(request: HttpRequest) -> list[dict[str, Any]]:
    """What the caller asked for, the newest first."""
    own = {"asked_by": _me(request)}
    rows: list[JoinRequest | ProjectRequest] = [
        *JoinRequest.objects.filter(**own).select_related("project", "asked_by")[:MOST],
        *ProjectRequest.objects.filter(**own).select_related("asked_by")[:MOST],
    ]
    return [request_out(row) for row in sorted(rows, key=lambda row: row.asked_at, reverse=True)]


@router.get("/joinable", response=list[ListedOut], operation_id="joinable")
def joinable(request: HttpRequest, words: Query[ProjectWords]) -> list[dict[str, Any]]:
    """Projects that let themselves be found, by title; 30 at most."""
    rows: Any = reads.listed(_me(request), words.q)[: reads.MOST_LISTED]
    return [{"code": row.code, "title": row.title, "pis": row.pis, "asked": row.have_asked} for row in rows]


@router.delete("/{uuid:pk}", response={204: None}, operation_id="withdraw_request")
def withdraw(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Take back what the caller asked for."""
    row = reads.own_request(_me(request), pk)
    if row is None:
        raise NotFound(Permission.PROJECT_VIEW, "projects.request", {"pk": pk})
    services.withdraw(request=row)
    return HttpResponse(status=204)


@router.post("/projects", response={201: AskedOut}, operation_id="ask_project")
def ask_project(request: HttpRequest, body: AskedProject) -> Status[dict[str, Any]]:
    """Ask for a project of one's own."""
    return Status(201, request_out(services.ask_project(by=_me(request), **body.dict())))


@router.get("/projects", response=list[AskedOut], operation_id="project_requests")
def project_requests(request: HttpRequest) -> list[dict[str, Any]]:
    """The open requests for projects, the oldest first; cluster administrators only."""
    _operator(request)
    rows = ProjectRequest.objects.filter(state=RequestState.OPEN).select_related("asked_by").order_by("asked_at")
    return [request_out(row) for row in rows[:MOST]]


@router.post("/projects/{uuid:pk}/refuse", response=AskedOut, operation_id="refuse_project")
def refuse(request: HttpRequest, pk: UUID, body: Answer) -> dict[str, Any]:
    """No project. To say yes, open it: POST /projects with `request`."""
    _operator(request)
    row = ProjectRequest.objects.select_related("asked_by").filter(pk=pk).first()
    if row is None:
        raise NotFound(Permission.PROJECT_MANAGE, "projects.projectrequest", {"pk": pk})
    return request_out(services.refuse_project(request=row, by=_me(request), answer=body.answer))


def _operator(request: HttpRequest) -> None:
    if not gate.site_can(request.user, Permission.PROJECT_MANAGE):
        raise Refused(Permission.PROJECT_MANAGE, "projects.projectrequest", {})


@joins.post("/{code}/joins", response={201: AskedOut}, operation_id="ask_to_join")
def ask_to_join(request: HttpRequest, code: str, body: Justification) -> Status[dict[str, Any]]:
    """Ask to be let in; a project that does not let itself be found answers like one that is not there."""
    project = reads.joinable().filter(code=code).first() if "\x00" not in code else None
    if project is None:
        raise NotFound(Permission.PROJECT_VIEW, "projects.project", {"code": code})
    return Status(201, request_out(services.ask_to_join(project=project, by=_me(request), why=body.why)))


@joins.get("/{code}/joins", response=list[AskedOut], operation_id="joins")
def asked(request: HttpRequest, code: str) -> list[dict[str, Any]]:
    """Who waits to be let in, the longest first."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.MEMBER_MANAGE, code=code)
    rows = JoinRequest.objects.filter(project=project, state=RequestState.OPEN).select_related("project", "asked_by")
    return [request_out(row) for row in rows.order_by("asked_at")[:MOST]]


@joins.post("/{code}/joins/{uuid:pk}/let-in", response=MemberOut, operation_id="let_in")
def let_in(request: HttpRequest, code: str, pk: UUID, body: LetIn) -> dict[str, Any]:
    """Yes."""
    row = _asked(request, code, pk)
    return member_out(services.let_in(request=row, role=body.role, by=_me(request), answer=body.answer))


@joins.post("/{code}/joins/{uuid:pk}/turn-away", response=AskedOut, operation_id="turn_away")
def turn_away(request: HttpRequest, code: str, pk: UUID, body: Answer) -> dict[str, Any]:
    """No."""
    return request_out(services.turn_away(request=_asked(request, code, pk), by=_me(request), answer=body.answer))


def _asked(request: HttpRequest, code: str, pk: UUID) -> JoinRequest:
    project = gate.fetch(Project.objects, request.user, Permission.MEMBER_MANAGE, code=code)
    rows = JoinRequest.objects.select_related("project", "asked_by")
    return gate.fetch(rows, request.user, Permission.MEMBER_MANAGE, pk=pk, project=project)


def _me(request: HttpRequest) -> User:
    """Whoever passed the door."""
    return cast(User, request.user)
