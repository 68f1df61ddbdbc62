"""The API of advice: what the submit page says of a request before it is sent. Nothing is made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from django.http import HttpRequest
from ninja import Router, Schema

from access import gate
from access.permissions import Permission
from accounts.models import User
from jobs import services
from jobs.api_schemas import REQUEST_BODY, asked
from jobs.services import planning
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
