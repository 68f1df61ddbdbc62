"""The API of where Slurm is not as the portal says, for cluster administrators."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router

from access import gate
from access.errors import Refused
from access.permissions import Permission
from projects.models import Project
from quotas.api import me
from quotas.api_schemas import DryRunOut, Resolution, StandingOut, rehearsal_out, standing_out
from quotas.differing import MOST, lines, troubled
from quotas.services import drift
from quotas.services.rehearsing import rehearse

router, dry_run = Router(), Router()


@router.get("", response=list[StandingOut], operation_id="differences")
def differences(request: HttpRequest) -> list[dict[str, Any]]:
    """Projects that differ, that could not be applied, or are still to be applied, by code; 200 at most."""
    _operator(request)
    return [standing_out(line) for line in lines(troubled()[:MOST])]


@dry_run.get("", response=DryRunOut, operation_id="dry_run")
def rehearsed(request: HttpRequest) -> dict[str, Any]:
    """What the next comparison would do, from what was seen in Slurm last; by code, nothing is told to anybody."""
    _operator(request)
    return {
        "mode": settings.RECONCILE, "removals_per_pass": settings.REMOVALS_PER_PASS,
        "projects": [rehearsal_out(one) for one in rehearse()],
    }  # fmt: skip


@router.post("/{code}", response={204: None}, operation_id="resolve")
def resolve(request: HttpRequest, code: str, body: Resolution) -> HttpResponse:
    """Do something about those of one project."""
    _operator(request)
    project = gate.fetch(Project.objects, request.user, Permission.PROJECT_MANAGE, code=code)
    act = drift.adopt if body.act == "take_over" else drift.restore
    act(project=project, by=me(request))
    return HttpResponse(status=204)


def _operator(request: HttpRequest) -> None:
    if not gate.site_can(request.user, Permission.CLUSTER_OPERATE):
        raise Refused(Permission.CLUSTER_OPERATE, "quotas.enforcement", {})
