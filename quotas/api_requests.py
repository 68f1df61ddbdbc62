"""The API of requests for allocations: asking, commenting, deciding, taking back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Router, Status

from access import gate
from access.errors import Refused
from access.permissions import Permission
from projects.models import Project, RequestState
from quotas.api import me, source
from quotas.api_asking import (
    CommentIn,
    CommentOut,
    DecisionIn,
    OwnRequestOut,
    RequestDetail,
    RequestIn,
    RequestOut,
    amounts_out,
    request_out,
    spendable,
)
from quotas.models import Allocation, AllocationRequest
from quotas.services import requests as services

router, own = Router(), Router()
MOST = 200


@router.get("/{code}/allocation-requests", response=list[RequestOut], operation_id="allocation_requests")
def listed(request: HttpRequest, code: str) -> list[dict[str, Any]]:
    """What the project asked for, the newest first; 200 at most."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.TRAIL_READ, code=code)
    rows = AllocationRequest.objects.filter(project=project)
    return [request_out(row) for row in rows.select_related("allocation", "asked_by", "decided_by")[:MOST]]


@own.get("/allocations", response=list[OwnRequestOut], operation_id="my_allocation_requests")
def mine(request: HttpRequest) -> list[dict[str, Any]]:
    """What the caller asked for, of projects whose requests they may still read, the newest first; 200 at most."""
    rows = AllocationRequest.objects.filter(asked_by=me(request)).order_by("-asked_at")
    return _out(gate.allowing(rows, request.user, Permission.TRAIL_READ))


@own.get("/allocations/open", response=list[OwnRequestOut], operation_id="open_allocation_requests")
def waiting(request: HttpRequest) -> list[dict[str, Any]]:
    """Every request for an allocation that waits for a decision, the oldest first; cluster administrators only."""
    if not gate.site_can(request.user, Permission.PROJECT_MANAGE):
        raise Refused(Permission.PROJECT_MANAGE, "quotas.allocationrequest", {})
    return _out(AllocationRequest.objects.filter(state=RequestState.OPEN).order_by("asked_at"))


def _out(rows: QuerySet[AllocationRequest]) -> list[dict[str, Any]]:
    known = rows.select_related("project", "allocation", "asked_by", "decided_by")[:MOST]
    return [request_out(row) | {"project": row.project.code} for row in known]


@router.post("/{code}/allocation-requests", response={201: RequestDetail}, operation_id="ask_allocation")
def ask(request: HttpRequest, code: str, body: RequestIn) -> Status[dict[str, Any]]:
    """Ask for a new allocation, for more of one, or for a longer one."""
    project = gate.fetch(Project.objects, request.user, Permission.ALLOCATION_REQUEST, code=code)
    fields = body.dict()
    try:
        fields["allocation"] = spendable(project.pk, fields["allocation"])
    except Allocation.DoesNotExist:
        raise ValidationError({"allocation": _("Choose an allocation of the project.")}) from None
    fields["funding"] = source(project, fields["funding"])
    return Status(201, _detail(services.ask(project=project, by=me(request), **fields)))


@router.get("/{code}/allocation-requests/{uuid:pk}", response=RequestDetail, operation_id="allocation_request")
def one(request: HttpRequest, code: str, pk: UUID) -> dict[str, Any]:
    """One request with all that was said."""
    return _detail(_fetch(request, Permission.TRAIL_READ, code, pk))


@router.post("/{code}/allocation-requests/{uuid:pk}/comments", response={201: CommentOut}, operation_id="comment")
def comment(request: HttpRequest, code: str, pk: UUID, body: CommentIn) -> Status[dict[str, Any]]:
    """Say something about it: the project's PI and managers, and cluster administrators."""
    site = gate.site_can(request.user, Permission.PROJECT_MANAGE)
    row = _fetch(request, Permission.PROJECT_MANAGE if site else Permission.ALLOCATION_REQUEST, code, pk)
    said = services.comment(request=row, by=me(request), text=body.text)
    return Status(201, {"login": said.by.username, "at": said.at, "text": said.text})


@router.post("/{code}/allocation-requests/{uuid:pk}/decision", response=RequestDetail, operation_id="decide")
def decide(request: HttpRequest, code: str, pk: UUID, body: DecisionIn) -> dict[str, Any]:
    """Give it, or other amounts, or refuse with words."""
    row = _fetch(request, Permission.PROJECT_MANAGE, code, pk)
    granted = body.dict(exclude_unset=True, exclude={"decision", "answer"})
    if body.decision == "give":
        services.approve(request=row, by=me(request), answer=body.answer, **granted)
    elif body.answer.strip():
        services.refuse(request=row, by=me(request), answer=body.answer)
    else:
        raise ValidationError({"answer": _("Write a few words: whoever asked reads them.")})
    return _detail(_fetch(request, Permission.PROJECT_MANAGE, code, pk))


@router.delete("/{code}/allocation-requests/{uuid:pk}", response={204: None}, operation_id="withdraw_allocation")
def withdraw(request: HttpRequest, code: str, pk: UUID) -> HttpResponse:
    """Take it back."""
    services.withdraw(request=_fetch(request, Permission.ALLOCATION_REQUEST, code, pk), by=me(request))
    return HttpResponse(status=204)


def _fetch(request: HttpRequest, permission: Permission, code: str, pk: UUID) -> AllocationRequest:
    rows = AllocationRequest.objects.select_related("project", "allocation", "asked_by", "decided_by")
    return gate.fetch(rows, request.user, permission, project__code=code, pk=pk)


def _detail(row: AllocationRequest) -> dict[str, Any]:
    said = [{"login": one.by.username, "at": one.at, "text": one.text} for one in row.comments.select_related("by")]
    return request_out(row) | {"now": amounts_out(row.allocation) if row.allocation else None, "comments": said}
