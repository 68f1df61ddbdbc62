"""The API of presets and environments: what may be named in a request for a job."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from access import gate
from access.permissions import Permission
from presets.api_schemas import PresetList, SoftwareList, preset_out, software_out
from presets.models import Preset, Software
from presets.services.applying import offered, ordered
from projects.models import Project

presets, software = Router(), Router()
MOST = 500


class Whose(Schema):
    """`project`: its own and the site's; else those of all projects the caller sees."""

    project: Annotated[str, Field(max_length=31, pattern=r"^[^\x00-\x1f]*$")] = ""


@presets.get("", response=PresetList, operation_id="presets")
def presets_offered(request: HttpRequest, whose: Query[Whose]) -> dict[str, Any]:
    """The presets a job may name, each in its newest version."""
    if whose.project:
        project = gate.fetch(Project.objects, request.user, Permission.PROJECT_VIEW, code=whose.project)
        return {"items": [preset_out(row) for row in offered(project)]}
    theirs = gate.allowing(Preset.objects.filter(retired_at=None), request.user, Permission.PROJECT_VIEW)
    rows = Preset.objects.filter(pk__in=theirs.values("pk")).with_newest().select_related("project")
    return {"items": [preset_out(row) for row in ordered(rows[:MOST])]}


@software.get("", response=SoftwareList, operation_id="software")
def environments(request: HttpRequest) -> dict[str, Any]:
    """What the site has validated, what it no longer stands for among it."""
    return {"items": [software_out(row) for row in Software.objects.all()[:MOST]]}
