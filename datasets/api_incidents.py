"""The API of the register of security incidents: administrators write it, auditors read it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Router, Status

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from datasets.api import me
from datasets.api_schemas import IncidentChanges, IncidentIn, NoticeIn
from datasets.api_told import IncidentOut, incident_out
from datasets.models import Dataset, SecurityIncident
from datasets.services import incidents as services

router = Router()
MOST = 500


def _may(request: HttpRequest, permission: Permission) -> None:
    if not gate.site_can(request.user, permission):
        raise Refused(permission, "datasets.securityincident", {})


def _fetch(pk: UUID) -> SecurityIncident:
    found = SecurityIncident.objects.filter(pk=pk).prefetch_related("datasets", "notices__by").first()
    if found is None:
        raise NotFound(Permission.INCIDENT_VIEW, "datasets.securityincident", {"pk": pk})
    return found


def _with_datasets(fields: dict[str, Any]) -> dict[str, Any]:
    """Datasets by code as the rows they are. Raises ValidationError."""
    codes = fields.get("datasets")
    if codes is None:
        return fields
    found = list(Dataset.objects.filter(code__in=codes))
    missing = sorted(set(codes) - {row.code for row in found})
    if missing:
        said = _("There is no dataset of this code: %(codes)s.") % {"codes": ", ".join(missing[:10])}
        raise ValidationError({"datasets": said})
    return fields | {"datasets": found}


@router.get("", response=list[IncidentOut], operation_id="incidents")
def listed(request: HttpRequest) -> list[dict[str, Any]]:
    """The register, the latest known first; 500 at most."""
    _may(request, Permission.INCIDENT_VIEW)
    rows = SecurityIncident.objects.prefetch_related("datasets", "notices__by")
    return [incident_out(row) for row in rows[:MOST]]


@router.post("", response={201: IncidentOut}, operation_id="open_incident")
def add(request: HttpRequest, body: IncidentIn) -> Status[dict[str, Any]]:
    """A new entry."""
    _may(request, Permission.INCIDENT_MANAGE)
    row = services.open_one(by=me(request), **_with_datasets(body.dict(exclude_unset=True)))
    return Status(201, incident_out(_fetch(row.pk)))


@router.get("/{uuid:pk}", response=IncidentOut, operation_id="incident")
def one(request: HttpRequest, pk: UUID) -> dict[str, Any]:
    """One entry with its notices."""
    _may(request, Permission.INCIDENT_VIEW)
    return incident_out(_fetch(pk))


@router.patch("/{uuid:pk}", response=IncidentOut, operation_id="change_incident")
def change(request: HttpRequest, pk: UUID, body: IncidentChanges) -> dict[str, Any]:
    """Complete or correct it."""
    _may(request, Permission.INCIDENT_MANAGE)
    services.change(incident=_fetch(pk), by=me(request), **_with_datasets(body.dict(exclude_unset=True)))
    return incident_out(_fetch(pk))


@router.post("/{uuid:pk}/notices", response={201: IncidentOut}, operation_id="notify_incident")
def notify(request: HttpRequest, pk: UUID, body: NoticeIn) -> Status[dict[str, Any]]:
    """Somebody was told."""
    _may(request, Permission.INCIDENT_MANAGE)
    services.notify(incident=_fetch(pk), by=me(request), **body.dict())
    return Status(201, incident_out(_fetch(pk)))


@router.post("/{uuid:pk}/close", response=IncidentOut, operation_id="close_incident")
def close(request: HttpRequest, pk: UUID) -> dict[str, Any]:
    """Everything was done."""
    _may(request, Permission.INCIDENT_MANAGE)
    services.close(incident=_fetch(pk), by=me(request))
    return incident_out(_fetch(pk))
