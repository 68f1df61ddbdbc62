"""The API of advice: what the submit page offers for a request and says of it before it is sent. Nothing is made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from access import gate
from access.permissions import Permission
from access.typed import Text
from accounts.models import User
from datasets.services import offering
from jobs import services
from jobs.api_schemas import REQUEST_BODY, asked
from jobs.services import picking, planning
from jobs.specs import BadSpec
from projects.models import Project
from quotas import services as quotas

router = Router()


class SoonerOut(Schema):
    """With this field set to this value it would start then."""

    field: str
    value: int
    starts_at: datetime


class AdviceOut(Schema):
    """Of a request whose fields are all well. `errors`: what quota or data would refuse now, by field.

    `starts_at` is an estimate; null where none can be made. GPU-minutes: the most it can use, and what is free.
    """

    valid: bool
    errors: dict[str, list[str]]
    warnings: list[str]
    gpu_minutes: int
    free_gpu_minutes: int | None
    starts_at: datetime | None
    jobs_ahead: int
    sooner: list[SoonerOut]
    maintenance_at: datetime | None
    minutes_before_maintenance: int | None
    picture_at: datetime | None


class OfferedJob(Schema):
    """A job that can be waited for."""

    id: UUID
    name: str
    state: str
    owner: str
    slurm_job_id: int | None


class OfferedDataset(Schema):
    """`missing`: what stands in the way of its use, and whom to ask; nothing where it may be used."""

    code: str
    name: str
    versions: list[str] = Field(description="Newest first.")
    missing: list[str]


class OfferedFolder(Schema):
    """Where an earlier job of the caller's started."""

    path: str
    job: str = Field(description="What the newest job there is called.")
    at: datetime


class OfferedReservation(Schema):
    """Nodes that are kept for the caller or the project."""

    name: str
    starts_at: datetime
    ends_at: datetime
    nodes: list[str]


class OffersOut(Schema):
    """What a request in this project can name, at most eight of a kind."""

    jobs: list[OfferedJob]
    datasets: list[OfferedDataset]
    folders: list[OfferedFolder]
    reservations: list[OfferedReservation]


class Offering(Schema):
    """In which project; `q`: jobs by name, number in Slurm or owner, datasets by code or name."""

    project: Text = Field(max_length=40)
    q: Text = Field("", max_length=64)


@router.get("/offers", response=OffersOut, operation_id="offers")
def offers(request: HttpRequest, asked: Query[Offering]) -> dict[str, Any]:
    """Jobs to wait for, datasets with what is missing, folders of earlier jobs, reservations of nodes."""
    project = gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=asked.project)
    by = cast(User, request.user)
    waits, _rest = picking.waits(project=project, by=by, said="", q=asked.q.strip())
    datasets, _more = offering.offered(project=project, user=by, q=asked.q.strip())
    return {
        "jobs": [
            {"id": one.job.pk, "name": one.job.called, "state": one.job.state, "owner": one.job.owner_login,
             "slurm_job_id": one.job.slurm_job_id} for one in waits
        ],
        "datasets": [
            {"code": one.dataset.code, "name": one.dataset.name, "versions": one.labels, "missing": one.missing}
            for one in datasets
        ],
        "folders": [
            {"path": one.path, "job": one.name, "at": one.at} for one in picking.folders(project=project, by=by)
        ],
        "reservations": [
            {"name": one.name, "starts_at": one.starts_at, "ends_at": one.ends_at, "nodes": one.nodes}
            for one in picking.reservations(project=project, by=by)
        ],
    }  # fmt: skip


@router.post("/advice", response=AdviceOut, operation_id="advice", openapi_extra=REQUEST_BODY)
def advice(request: HttpRequest) -> dict[str, Any]:
    """Whether a request can be made, what it costs at most, about when it would start, and what would start sooner."""
    raw, wrong = asked(request)
    if "project" in wrong:
        raise BadSpec(wrong)
    project = gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=raw["project"])
    by = cast(User, request.user)
    try:
        spec, allocation = services.prepare(raw, project=project, by=by)
    except BadSpec as bad:
        raise BadSpec(wrong | bad.errors) from bad
    if wrong:
        raise BadSpec(wrong)
    found = planning.advise(spec=spec, allocation=allocation, project=project, by=by)
    errors = _by_field(found.refusals)
    return {
        "valid": not errors, "errors": errors, "warnings": [str(one) for one in found.warnings],
        "gpu_minutes": spec.gpu_minutes, "free_gpu_minutes": quotas.balance(allocation).free,
        "starts_at": found.starts_at, "jobs_ahead": found.ahead,
        "sooner": [{"field": one.field, "value": one.value, "starts_at": one.starts_at} for one in found.sooner],
        "maintenance_at": found.window.starts_at if found.window else None,
        "minutes_before_maintenance": found.window_minutes, "picture_at": found.seen_at,
    }  # fmt: skip


def _by_field(refusals: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for field, why in refusals:
        found.setdefault(field, []).append(why)
    return found
