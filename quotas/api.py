"""The API of allocations: reading, giving, changing and closing them, and dividing them among members."""

from __future__ import annotations

from typing import Any, cast

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Router, Status

from access import gate
from access.permissions import Permission
from accounts.models import User
from projects.models import Membership, Project
from quotas import panels, reads, services
from quotas.api_asking import funding_of
from quotas.api_schemas import (
    AllocationChange,
    AllocationDetail,
    AllocationOut,
    Closing,
    NewAllocation,
    ShareIn,
    ShareOut,
    allocation_out,
    detail_out,
    share_out,
)
from quotas.models import Allocation, FundingSource, Share

router = Router()
MOST_SHARES = 1000


@router.get("/{code}/allocations", response=list[AllocationOut], operation_id="allocations")
def allocations(request: HttpRequest, code: str) -> list[dict[str, Any]]:
    """The project's allocations, the default first."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code)
    return [allocation_out(line) for line in reads.of_project(project)]


@router.post("/{code}/allocations", response={201: AllocationDetail}, operation_id="create_allocation")
def create(request: HttpRequest, code: str, body: NewAllocation) -> Status[dict[str, Any]]:
    """Give the project an allocation."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_MANAGE, code=code)
    fields = _with_funding(project, body.dict(exclude={"why"}))
    return Status(201, _detail(services.create_allocation(project=project, by=me(request), **fields)))


@router.get("/{code}/allocations/{allocation}", response=AllocationDetail, operation_id="allocation")
def one(request: HttpRequest, code: str, allocation: str) -> dict[str, Any]:
    """One allocation: by type, by person, and how long it lasts at the rate of the last four weeks."""
    return _detail(fetch(request, Permission.PROJECT_VIEW, code, allocation))


@router.patch("/{code}/allocations/{allocation}", response=AllocationDetail, operation_id="change_allocation")
def change(request: HttpRequest, code: str, allocation: str, body: AllocationChange) -> dict[str, Any]:
    """Change it. Lowering below what is used stops new work, never what runs."""
    row = fetch(request, Permission.PROJECT_MANAGE, code, allocation)
    fields = _with_funding(row.project, body.dict(exclude_unset=True))
    return _detail(services.change_allocation(allocation=row, by=me(request), **fields))


@router.post("/{code}/allocations/{allocation}/close", response=AllocationDetail, operation_id="close_allocation")
def close(request: HttpRequest, code: str, allocation: str, body: Closing) -> dict[str, Any]:
    """No new job spends it from now on."""
    row = fetch(request, Permission.PROJECT_MANAGE, code, allocation)
    return _detail(services.close_allocation(allocation=row, by=me(request), why=body.why))


@router.post("/{code}/allocations/{allocation}/default", response=AllocationDetail, operation_id="default_allocation")
def make_default(request: HttpRequest, code: str, allocation: str) -> dict[str, Any]:
    """Jobs that name no allocation spend this one from now on."""
    row = fetch(request, Permission.MEMBER_MANAGE, code, allocation)
    return _detail(services.make_default(allocation=row, by=me(request)))


@router.get("/{code}/allocations/{allocation}/shares", response=list[ShareOut], operation_id="shares")
def shares(request: HttpRequest, code: str, allocation: str) -> list[dict[str, Any]]:
    """The members' shares, by login; who has none is not among them."""
    return _shares(fetch(request, Permission.PROJECT_VIEW, code, allocation))


@router.patch("/{code}/allocations/{allocation}/shares", response=list[ShareOut], operation_id="set_shares")
def set_shares(request: HttpRequest, code: str, allocation: str, body: list[ShareIn]) -> list[dict[str, Any]]:
    """Set the shares of these members together, or of none of them."""
    row = fetch(request, Permission.MEMBER_MANAGE, code, allocation)
    wanted = {one.login: one.dict(exclude={"login"}) for one in body[:MOST_SHARES]}
    found = Membership.objects.active().filter(project=row.project, user__username__in=wanted).select_related("user")
    people = {one.user.username: one.user for one in found}
    missing = sorted(set(wanted) - set(people))
    if missing or len(body) > MOST_SHARES:
        raise ValidationError({"login": _("Nobody of the project: %(names)s.") % {"names": ", ".join(missing[:10])}})
    services.divide(allocation=row, shares={people[login]: limits for login, limits in wanted.items()}, by=me(request))
    return _shares(row)


def _shares(row: Allocation) -> list[dict[str, Any]]:
    rows = Share.objects.filter(allocation=row).select_related("user").order_by("user__username")
    return [share_out(one) for one in rows]


def fetch(request: HttpRequest, permission: Permission, code: str, allocation: str) -> Allocation:
    """Raises NotFound, Refused."""
    return reads.allocation(request.user, permission, code, allocation)


def _detail(row: Allocation) -> dict[str, Any]:
    return detail_out(next(iter(panels.panels(Allocation.objects.filter(pk=row.pk)))))


def _with_funding(project: Project, fields: dict[str, Any]) -> dict[str, Any]:
    """A funding source by its number as the row it is. Raises ValidationError."""
    if "funding" not in fields:
        return fields
    return fields | {"funding": source(project, fields["funding"])}


def source(project: Project, pk: int | None) -> FundingSource | None:
    """One of the project's. Raises ValidationError."""
    try:
        return funding_of(project.pk, pk)
    except FundingSource.DoesNotExist:
        raise ValidationError({"funding": _("The project has no such funding source.")}) from None


def me(request: HttpRequest) -> User:
    """Whoever passed the door."""
    return cast(User, request.user)
