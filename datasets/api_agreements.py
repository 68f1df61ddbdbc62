"""The API of sharing agreements: below their project; added, changed, ended, and what is owed then."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Status

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from datasets.api import me
from datasets.api_schemas import AgreementChanges, AgreementIn, DutyIn
from datasets.api_told import AgreementOut, agreement_out
from datasets.models import Agreement, Duty
from datasets.services import agreements as services
from projects.models import Project

router = Router()
MOST = 200


@router.get("/{code}/agreements", response=list[AgreementOut], operation_id="agreements")
def listed(request: HttpRequest, code: str) -> list[dict[str, Any]]:
    """Those of a project, the latest first; 200 at most."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code)
    return [agreement_out(row) for row in Agreement.objects.filter(project=project)[:MOST]]


@router.post("/{code}/agreements", response={201: AgreementOut}, operation_id="add_agreement")
def add(request: HttpRequest, code: str, body: AgreementIn) -> Status[dict[str, Any]]:
    """A new one: by the project's PI, or an administrator."""
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_LEAD, code=code)
    return Status(201, agreement_out(services.add(project=project, by=me(request), **body.dict())))


def _fetch(request: HttpRequest, code: str, pk: UUID, *, to_lead: bool = False) -> Agreement:
    rows = Agreement.objects.select_related("project")
    row = gate.fetch(rows, request.user, Permission.PROJECT_VIEW, project__code=code, pk=pk)
    if to_lead and not gate.can(row.project, request.user, Permission.PROJECT_LEAD):
        raise Refused(Permission.PROJECT_LEAD, "datasets.agreement", {"pk": pk})
    return row


@router.get("/{code}/agreements/{uuid:pk}", response=AgreementOut, operation_id="agreement")
def one(request: HttpRequest, code: str, pk: UUID) -> dict[str, Any]:
    """One agreement."""
    return agreement_out(_fetch(request, code, pk))


@router.patch("/{code}/agreements/{uuid:pk}", response=AgreementOut, operation_id="change_agreement")
def change(request: HttpRequest, code: str, pk: UUID, body: AgreementChanges) -> dict[str, Any]:
    """What the parties changed."""
    row = _fetch(request, code, pk, to_lead=True)
    return agreement_out(services.change(agreement=row, by=me(request), **body.dict(exclude_unset=True)))


@router.post("/{code}/agreements/{uuid:pk}/end", response=AgreementOut, operation_id="end_agreement")
def end(request: HttpRequest, code: str, pk: UUID) -> dict[str, Any]:
    """Over: permissions end, the checklist opens."""
    return agreement_out(services.end(agreement=_fetch(request, code, pk, to_lead=True), by=me(request)))


@router.post("/{code}/agreements/{uuid:pk}/duties/{uuid:duty}", response=AgreementOut, operation_id="do_duty")
def do_duty(request: HttpRequest, code: str, pk: UUID, duty: UUID, body: DutyIn) -> dict[str, Any]:
    """Write down what was done with one copy."""
    row = _fetch(request, code, pk, to_lead=True)
    owed = Duty.objects.filter(agreement=row, pk=duty).first()
    if owed is None:
        raise NotFound(Permission.PROJECT_LEAD, "datasets.duty", {"pk": duty})
    services.do_duty(duty=owed, kind=body.kind, how=body.how, by=me(request))
    return agreement_out(_fetch(request, code, pk))
