"""GET /audit/events: the trail, newest first; a read of it is an event itself."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import Model
from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import AwareDatetime, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from access import gate
from access.errors import Refused
from access.permissions import Permission
from audit import trail
from audit.actions import Action, Outcome
from audit.identities import name_all, numbers_of
from audit.models import AuditEvent, EventQuerySet


def _written(value: Any) -> Any:
    """A time as ISO 8601 writes it; pydantic would take a plain number for seconds."""
    if isinstance(value, str) and "T" not in value.upper():
        raise PydanticCustomError("datetime_form", "not a time")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(_written)]
Text = Annotated[str, StringConstraints(max_length=150, pattern=r"^[^\x00]*$")]
MOST = 200


class Asked(Schema):
    """Filters; `cursor` is an earlier answer's `next`. Times need a zone."""

    actor: Text = ""
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
        rows = name_all(_filtered(readable.rows, asked).before(asked.cursor)[: asked.limit + 1])
        shown = rows[: asked.limit]
        told = asked.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        trail.record(Action.TRAIL_READ, by=request.user, project=readable.project, filter=told, count=len(shown))
        return {
            "items": [_event(row, everything=readable.whole) for row in shown],
            "next": shown[-1].pk if len(rows) > asked.limit else None,
        }

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
        project = gate.fetch(everything, user, Permission.TRAIL_READ, code=code)
        return _Readable(AuditEvent.objects.filter(project_id=project.pk), project, whole)
    if whole:
        return _Readable(AuditEvent.objects.all(), None, whole)
    theirs = list(gate.allowing(everything, user, Permission.TRAIL_READ).values_list("pk", flat=True))
    if not theirs:
        raise Refused(Permission.TRAIL_READ, "audit.auditevent", {})
    return _Readable(AuditEvent.objects.readable_by(user, theirs), None, whole)


def _filtered(rows: EventQuerySet, asked: Asked) -> EventQuerySet:
    if asked.actor:  # by number, which is what the index knows
        rows = rows.filter(actor_id__in=numbers_of(asked.actor))
    wanted = {
        "action": asked.action,
        "outcome": asked.outcome,
        "at__gte": asked.since,
        "at__lt": asked.until,
    }
    return rows.filter(**{field: value for field, value in wanted.items() if value})


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
