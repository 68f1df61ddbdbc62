"""GET /audit/events: the trail, newest first; a read of it is an event itself."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import Model
from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from access import gate, typed
from access.errors import Refused
from access.permissions import Permission
from audit import could, trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent, EventQuerySet
from audit.services import answering, scope
from audit.services.searching import Search


def _written(value: Any) -> Any:
    """A time as ISO 8601 writes it; pydantic would take a plain number for seconds."""
    if isinstance(value, str) and "T" not in value.upper():
        raise PydanticCustomError("datetime_form", "not a time")
    return value


Moment = Annotated[typed.Moment, BeforeValidator(_written)]
Text = Annotated[str, StringConstraints(max_length=150, pattern=r"^[^\x00]*$")]
MOST = 200


class Asked(Schema):
    """Filters; `cursor` is an earlier answer's `next`. Times need a zone."""

    actor: Text = ""
    job: Text = ""
    dataset: Text = ""
    address: Text = ""
    correlation: Text = ""
    action: Action | None = None
    project: Text = ""
    outcome: Outcome | None = None
    since: Moment | None = None
    until: Moment | None = None
    cursor: int | None = Field(None, ge=1, le=2**63 - 1)
    limit: int = Field(100, ge=1, le=MOST)


class EventOut(Schema):
    """One event. `address` and `db_role` are for those who may read the whole trail."""

    id: UUID
    at: datetime
    action: str
    action_label: str
    outcome: str
    actor: str
    ran_as: str
    subject_type: str
    subject_id: str
    subject_name: str
    project: str
    channel: str
    address: str | None
    correlation: str
    db_role: str
    detail: dict[str, Any]


class AccessAsked(Schema):
    """At which moment; of whom or of which project (both empty: all)."""

    at: Moment
    person: Text = ""
    project: Text = ""
    dataset: Text = ""


class CouldOut(Schema):
    """One right of one person: `kind` is site, project, dataset or token. `until` null: without an end."""

    kind: str
    login: str
    name: str
    code: str
    role: str
    rights: list[str]
    since: datetime
    until: datetime | None
    by: str
    why: str


class EventPage(Schema):
    """One page; `next` is the cursor of the page of older events."""

    items: list[EventOut]
    next: int | None


def router_over(projects: type[Model]) -> Router:
    """The routes of the trail; the room below projects is told here which model they are."""
    router = Router()

    @router.get("/events", response=EventPage, operation_id="audit_events")
    def events(request: HttpRequest, asked: Query[Asked]) -> dict[str, Any]:
        """The whole trail for who may read it, else the trail of the projects whose trail the caller may read."""
        readable = _readable(request.user, projects, asked.project)
        rows = _search(readable, asked).found(readable.rows, before=asked.cursor, most=asked.limit + 1)
        shown = rows[: asked.limit]
        told = asked.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        trail.record(Action.TRAIL_READ, by=request.user, project=readable.project, filter=told, count=len(shown))
        return {
            "items": [_event(row, everything=readable.whole) for row in shown],
            "next": shown[-1].pk if len(rows) > asked.limit else None,
        }

    @router.get("/access", response=list[CouldOut], operation_id="audit_access")
    def access(request: HttpRequest, asked: Query[AccessAsked]) -> list[dict[str, Any]]:
        """Who could see or use what at that moment; for whoever reads the whole trail."""
        if not gate.site_can(request.user, Permission.TRAIL_READ):
            raise Refused(Permission.TRAIL_READ, "audit.auditevent", {})
        question = could.Asked(asked.at, person=asked.person, project=asked.project, dataset=asked.dataset)
        return [could.spoken(one) for one in answering.answered(question, by=request.user, form="api")]

    return router


@dataclasses.dataclass(frozen=True, slots=True)
class _Readable:
    rows: EventQuerySet
    project: Model | None
    whole: bool


def _readable(user: gate.Person, projects: type[Model], code: str) -> _Readable:
    """What the person may read: raises NotFound for a project not theirs to see, Refused where nothing is readable."""
    whole, everything = gate.site_can(user, Permission.TRAIL_READ), projects._default_manager.all()
    if code:
        guest = None if whole else scope.of(user)
        if guest is not None and any(code in one.project_codes for one in guest.guests):
            return _Readable(guest.events().filter(project_code=code), None, whole)
        project = gate.fetch(everything, user, Permission.TRAIL_READ, code=code)
        return _Readable(AuditEvent.objects.filter(project_id=project.pk), project, whole)
    if whole:
        return _Readable(AuditEvent.objects.all(), None, whole)
    theirs = list(gate.allowing(everything, user, Permission.TRAIL_READ).values_list("pk", flat=True))
    as_guest = scope.of(user)
    if not theirs and as_guest is None:
        raise Refused(Permission.TRAIL_READ, "audit.auditevent", {})
    rows = AuditEvent.objects.filter(project_id__in=theirs)
    return _Readable(rows | as_guest.events() if as_guest else rows, None, whole)


def _search(readable: _Readable, asked: Asked) -> Search:
    """Whoever reads a part is told no address, so searches by none."""
    return Search(
        who=asked.actor, job=asked.job, dataset=asked.dataset, address=asked.address if readable.whole else "",
        correlation=asked.correlation, action=asked.action or "", outcome=asked.outcome or "", since=asked.since,
        until=asked.until,
    )  # fmt: skip


def _event(row: AuditEvent, *, everything: bool) -> dict[str, Any]:
    plain = ("at", "action", "outcome", "ran_as", "subject_type", "subject_id", "subject_name", "channel",
             "correlation")  # fmt: skip
    return {name: getattr(row, name) for name in plain} | {
        "id": row.uid,
        "action_label": row.get_action_display(),
        "actor": row.actor_name,
        "detail": row.said,
        "project": row.project_code,
        "address": row.address if everything else None,
        "db_role": row.db_role if everything else "",
    }
