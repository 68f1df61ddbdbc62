"""The API of permissions to use: asked for, decided, revoked; and who used a dataset."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema, Status

from access import gate
from access.errors import NotFound
from access.permissions import Permission
from datasets.api import fetch, me
from datasets.api_schemas import GiveIn, RevokeIn, TurnDownIn, WishIn
from datasets.api_told import PermissionOut, UsePage, WishOut, permission_out, use_out, wish_out
from datasets.models import DatasetUse, Grant, GrantRequest
from datasets.reads import theirs
from datasets.services import asking
from projects.models import Project

router = Router()
MOST = 200


class UsesAsked(Schema):
    """Which uses: `cursor` is an earlier answer's `next`."""

    cursor: UUID | None = None
    limit: int = Field(50, ge=1, le=MOST)


@router.get("/{code}/requests", response=list[WishOut], operation_id="dataset_requests")
def requests(request: HttpRequest, code: str) -> list[dict[str, Any]]:
    """All for who answers for the dataset, else the caller's own and their projects'; the newest first, 200 at most."""
    row = fetch(request, Permission.DATASET_FIND, code)
    rows = theirs(GrantRequest.objects.filter(dataset=row), row, me(request))
    return [wish_out(wish) for wish in rows.select_related("project", "user", "asked_by")[:MOST]]


@router.post("/{code}/requests", response={201: WishOut}, operation_id="ask_dataset")
def ask(request: HttpRequest, code: str, body: WishIn) -> Status[dict[str, Any]]:
    """Ask the data steward for a permission."""
    row = fetch(request, Permission.DATASET_FIND, code)
    fields = body.dict()
    project = fields.pop("project")
    if project is not None:
        project = gate.fetch(Project.objects, request.user, Permission.MEMBER_MANAGE, code=project)
    return Status(201, wish_out(asking.ask(dataset=row, by=me(request), project=project, **fields)))


def _wish(request: HttpRequest, permission: Permission, code: str, pk: UUID) -> GrantRequest:
    row = fetch(request, permission, code)
    rows = GrantRequest.objects.filter(dataset=row, pk=pk).select_related("dataset", "project", "user", "asked_by")
    found = rows.first()
    if found is None:
        raise NotFound(permission, "datasets.grantrequest", {"pk": pk})
    return found


@router.post("/{code}/requests/{uuid:pk}/give", response=PermissionOut, operation_id="give_dataset")
def give(request: HttpRequest, code: str, pk: UUID, body: GiveIn) -> dict[str, Any]:
    """Yes: never by whoever asked."""
    wish = _wish(request, Permission.DATASET_STEWARD, code, pk)
    return permission_out(asking.approve(request=wish, by=me(request), answer=body.answer, ends_on=body.ends_on))


@router.post("/{code}/requests/{uuid:pk}/turn-down", response=WishOut, operation_id="turn_down_dataset")
def turn_down(request: HttpRequest, code: str, pk: UUID, body: TurnDownIn) -> dict[str, Any]:
    """No."""
    wish = _wish(request, Permission.DATASET_STEWARD, code, pk)
    asking.refuse(request=wish, by=me(request), answer=body.answer)
    return wish_out(_wish(request, Permission.DATASET_STEWARD, code, pk))


@router.delete("/{code}/requests/{uuid:pk}", response={204: None}, operation_id="withdraw_dataset_request")
def withdraw(request: HttpRequest, code: str, pk: UUID) -> HttpResponse:
    """Take back one's own."""
    wish = _wish(request, Permission.DATASET_FIND, code, pk)
    if wish.asked_by_id != me(request).pk:
        raise NotFound(Permission.DATASET_FIND, "datasets.grantrequest", {"pk": pk})
    asking.withdraw(request=wish, by=me(request))
    return HttpResponse(status=204)


@router.get("/{code}/permissions", response=list[PermissionOut], operation_id="dataset_permissions")
def permissions(request: HttpRequest, code: str) -> list[dict[str, Any]]:
    """All for who answers for the dataset, else the caller's own and their projects'; the newest first, 200 at most."""
    row = fetch(request, Permission.DATASET_VIEW, code)
    rows = theirs(Grant.objects.filter(dataset=row), row, me(request))
    return [permission_out(grant) for grant in rows.select_related("project", "user", "approved_by")[:MOST]]


@router.post("/{code}/permissions/{uuid:pk}/revoke", response=PermissionOut, operation_id="revoke_dataset")
def revoke(request: HttpRequest, code: str, pk: UUID, body: RevokeIn) -> dict[str, Any]:
    """Over at once for new jobs."""
    row = fetch(request, Permission.DATASET_STEWARD, code)
    found = Grant.objects.filter(dataset=row, pk=pk).first()
    if found is None:
        raise NotFound(Permission.DATASET_STEWARD, "datasets.grant", {"pk": pk})
    return permission_out(asking.revoke(grant=found, by=me(request), why=body.why))


@router.get("/{code}/uses", response=UsePage, operation_id="dataset_uses")
def uses(request: HttpRequest, code: str, asked: Query[UsesAsked]) -> dict[str, Any]:
    """All for who answers for the dataset, else the caller's own and their projects'; newest first."""
    row = fetch(request, Permission.DATASET_VIEW, code)
    rows = theirs(DatasetUse.objects.filter(dataset=row), row, me(request)).select_related("version", "user", "project")
    if asked.cursor:
        rows = rows.filter(pk__lt=asked.cursor)
    found = list(rows[: asked.limit + 1])
    shown = found[: asked.limit]
    return {"items": [use_out(use) for use in shown], "next": shown[-1].pk if len(found) > asked.limit else None}
