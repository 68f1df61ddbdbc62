"""/audit/exports: ask for an export of the trail, see how far it is, fetch its file in whole or in part."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Model
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _
from ninja import Query, Router, Schema, Status
from pydantic import Field

from access import gate
from access.errors import Refused
from access.permissions import Permission
from audit.actions import Action, Outcome
from audit.api import Moment, Text
from audit.models import Export
from audit.models.export import Form
from audit.services import scope
from audit.services.exporting import NothingSealed
from audit.services.exports import asking
from audit.services.searching import Search
from audit.views import exports as pages


class TrailExportAsked(Schema):
    """Which events, in which shape. `project`: that project's own trail (a guest auditor: none).

    Times need a zone; `until` is not included.
    """

    form: Form = Form.JSONL
    project: Text = ""
    actor: Text = ""
    job: Text = ""
    dataset: Text = ""
    address: Text = ""
    correlation: Text = ""
    action: Action | None = None
    outcome: Outcome | None = None
    since: Moment | None = None
    until: Moment | None = None


class TrailExportsAsked(Schema):
    """Of one project, or all; `before` is an earlier answer's last id."""

    project: Text = ""
    before: UUID | None = None
    limit: int = Field(50, ge=1, le=200)


class TrailExportOut(Schema):
    """One export. `digest` is the SHA-256 of the file, and its ETag; `first` to `last` are records of the trail."""

    id: UUID
    form: str
    state: str
    project: str
    filter: dict[str, Any]
    asked_at: datetime
    finished_at: datetime | None
    expires_at: datetime | None
    first: int
    last: int
    percent: int
    count: int
    size: int | None
    digest: str
    download: str | None


class NotYet(Exception):
    """There is nothing to export, or too much is under way; the argument says so in words."""


def exports_over(projects: type[Model]) -> Router:
    """The routes; the room below projects is told here which model they are."""
    router = Router()

    @router.post("/exports", response={202: TrailExportOut}, operation_id="audit_export_ask")
    def ask(request: HttpRequest, asked: TrailExportAsked) -> Status[dict[str, Any]]:
        """Made by the worker, whatever its size: look again until its state is `ready`."""
        project = _project(request, projects, asked.project)
        return Status(202, _said(_ask(request, asked, project)))

    @router.get("/exports", response=list[TrailExportOut], operation_id="audit_exports")
    def exports(request: HttpRequest, asked: Query[TrailExportsAsked]) -> list[dict[str, Any]]:
        """The newest first."""
        rows = pages.visible(request.user, _project(request, projects, asked.project))
        rows = rows.filter(pk__lt=asked.before) if asked.before else rows
        return [_said(row) for row in rows[: asked.limit]]

    @router.get("/exports/{pk}", response=TrailExportOut, operation_id="audit_export")
    def export(request: HttpRequest, pk: UUID, project: str = "") -> dict[str, Any]:
        """How far it is."""
        return _said(pages.found(request.user, pk, _project(request, projects, project)))

    @router.get("/exports/{pk}/download", operation_id="audit_export_download", include_in_schema=True)
    def download(request: HttpRequest, pk: UUID, project: str = "") -> HttpResponseBase:
        """Its file. `Range` fetches a part, with `If-Range` of its ETag only if it is still the same file."""
        return pages.sent(request, pk, project=_project(request, projects, project))

    return router


def _project(request: HttpRequest, projects: type[Model], code: str) -> Any:
    """None: the whole trail, for who may read it or, as a guest auditor, a part of it. Raises NotFound, Refused."""
    if code:
        return gate.fetch(projects._default_manager.all(), request.user, Permission.TRAIL_READ, code=code)
    if scope.of(request.user) is None:
        raise Refused(Permission.TRAIL_READ, "audit.export", {})
    return None


def _ask(request: HttpRequest, asked: TrailExportAsked, project: Any) -> Export:
    whole = gate.site_can(request.user, Permission.TRAIL_READ)
    search = Search(
        who=asked.actor, job=asked.job, dataset=asked.dataset, address=asked.address if whole else "",
        correlation=asked.correlation, action=asked.action or "", outcome=asked.outcome or "", since=asked.since,
        until=asked.until,
    )  # fmt: skip
    parts = None if project else scope.readable_by(request.user).parts()
    wanted = asking.wanted_of(search, project_id=project.pk if project else None, scope=parts)
    try:
        return asking.ask(form=asked.form, wanted=wanted, by=request.user, project=project, whole=whole, at_once=False)
    except NothingSealed:
        raise NotYet(_("Nothing is sealed yet: try it again in a minute.")) from None
    except asking.TooManyOpen as error:
        words = _("%(n)d exports of yours are under way; wait for one to end.")
        raise NotYet(words % {"n": error.args[0]}) from None


def _said(row: Export) -> dict[str, Any]:
    names = (
        "id", "form", "state", "asked_at", "finished_at", "expires_at", "last", "percent", "count", "size", "digest",
    )  # fmt: skip
    within = f"?project={row.project_code}" if row.project_code else ""
    return {name: getattr(row, name) for name in names} | {
        "project": row.project_code, "filter": row.asked_for, "first": row.after + 1,
        "download": f"/api/v1/audit/exports/{row.pk}/download{within}" if row.is_there else None,
    }  # fmt: skip
