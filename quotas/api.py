"""GET /projects/{code}/allocations: what a job may spend, and what is left of it."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from access import gate
from access.permissions import Permission
from projects.models import Project
from quotas import reads
from quotas.reads import AllocationLine

router = Router()


class AllocationOut(Schema):
    """GPU-minutes; null where there is no limit."""

    code: str
    title: str
    is_default: bool
    starts_on: date
    ends_on: date | None
    gpus_at_once: int | None
    longest_minutes: int | None
    jobs_submitted: int | None
    gpu_minutes: int | None
    used: int
    committed: int
    free: int | None


@router.get("/{code}/allocations", response=list[AllocationOut], operation_id="allocations")
def allocations(request: HttpRequest, code: str) -> list[dict[str, Any]]:
    """The project's allocations, the default first."""
    project = gate.fetch(Project.objects.all(), request.user, Permission.PROJECT_VIEW, code=code)
    return [_allocation(line) for line in reads.of_project(project)]


def _allocation(line: AllocationLine) -> dict[str, Any]:
    row, balance = line.allocation, line.balance
    plain = ("code", "title", "is_default", "starts_on", "ends_on", "gpus_at_once", "longest_minutes", "jobs_submitted")
    return {name: getattr(row, name) for name in plain} | {
        "gpu_minutes": balance.limit,
        "used": balance.used,
        "committed": balance.committed,
        "free": balance.free,
    }
