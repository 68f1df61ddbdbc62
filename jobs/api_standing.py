"""GET /projects/{code}/standing: whether a project works all the way, and whether Slurm holds what the portal says."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field

from access import gate
from access.permissions import Permission
from jobs import ticks
from projects.models import Project
from quotas import standing

router = Router()


class ProjectTickOut(Schema):
    """One of login, files, allocation, queue. `state`: ok, absent or checking; `command` is the exact cure."""

    name: str
    state: str
    words: str
    command: str


class ProjectStandingOut(Schema):
    """`state`: applied, pending, observed, failed or differs; `error`: Slurm's own words; `differences`: how many."""

    state: str
    words: str
    at: datetime | None
    error: str
    differences: int = Field(ge=0)
    ticks: list[ProjectTickOut]


@router.get("/{code}/standing", response=ProjectStandingOut, operation_id="project_standing")
def project_standing(request: HttpRequest, code: str) -> dict[str, Any]:
    """As the project's page shows it."""
    project = gate.fetch(
        Project.objects.select_related("enforcement"), request.user, Permission.PROJECT_VIEW, code=code
    )
    now = standing.of(project)
    seen = ticks.of(project.enforcement.ticks if hasattr(project, "enforcement") else None)
    return {
        "state": now.state, "words": str(now.words), "at": now.at, "error": now.error, "differences": now.differences,
        "ticks": [
            {"name": name, "state": tick.state, "words": tick.words, "command": tick.command}
            for name, tick in zip(ticks.NAMES, seen, strict=True)
        ],
    }  # fmt: skip
