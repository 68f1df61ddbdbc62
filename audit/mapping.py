"""The trail in the words of others: each event as OCSF 1.3 and as ECS 8, by one table of the catalogue's kinds.

Both carry the event's own uid, so that a copy is never counted twice, and its stable code. What is said before the
events, and is none, has a kind of its own in both, so that nobody counts it as one.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from audit import catalogue
from audit.actions import Outcome
from audit.catalogue import Kind, NotInCatalogue, RetentionClass
from audit.models import AuditEvent


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """OCSF class and activity; ECS category and type (both from their fixed lists)."""

    ocsf_class: int
    activity: int
    ecs_category: tuple[str, ...]
    ecs_type: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """What is said before the events, as of a moment: in words, and by name for machines."""

    uid: UUID
    at: datetime
    words: str
    facts: dict[str, Any]


OTHER = Row(6003, 99, ("api",), ("info",))
TABLE: dict[Kind, Row] = {
    Kind.LOGON: Row(3002, 1, ("authentication",), ("start",)),
    Kind.LOGOFF: Row(3002, 2, ("authentication",), ("end",)),
    Kind.ACCOUNT_MADE: Row(3001, 1, ("iam",), ("user", "creation")),
    Kind.ACCOUNT_CHANGED: Row(3001, 99, ("iam",), ("user", "change")),
    Kind.ACCOUNT_OPENED: Row(3001, 2, ("iam",), ("user", "change")),
    Kind.ACCOUNT_CLOSED: Row(3001, 5, ("iam",), ("user", "change")),
    Kind.RIGHT_GIVEN: Row(3005, 1, ("iam",), ("admin", "change")),
    Kind.RIGHT_TAKEN: Row(3005, 2, ("iam",), ("admin", "change")),
    Kind.MEMBER_IN: Row(3006, 3, ("iam",), ("group", "change")),
    Kind.MEMBER_OUT: Row(3006, 4, ("iam",), ("group", "change")),
    Kind.MADE: Row(3004, 1, ("configuration",), ("creation",)),
    Kind.CHANGED: Row(3004, 3, ("configuration",), ("change",)),
    Kind.ENDED: Row(3004, 4, ("configuration",), ("deletion",)),
    Kind.REFUSAL: Row(6003, 2, ("api",), ("access", "denied")),
    Kind.FINDING: Row(2003, 1, ("configuration",), ("info",)),
    Kind.ALARM: Row(2004, 1, ("iam",), ("info",)),
    Kind.INCIDENT_OPENED: Row(2005, 1, ("threat",), ("indicator",)),
    Kind.INCIDENT_CHANGED: Row(2005, 2, ("threat",), ("indicator",)),
    Kind.INCIDENT_CLOSED: Row(2005, 3, ("threat",), ("indicator",)),
    Kind.JOB_MADE: Row(1006, 1, ("process",), ("info",)),
    Kind.JOB_CHANGED: Row(1006, 2, ("process",), ("change",)),
    Kind.JOB_STARTED: Row(1006, 6, ("process",), ("start",)),
    Kind.JOB_ENDED: Row(1006, 3, ("process",), ("end",)),
    Kind.READ: Row(6001, 2, ("file",), ("access",)),
    Kind.TAKEN_OUT: Row(6001, 7, ("file",), ("access",)),
    Kind.FILE_MADE: Row(1001, 1, ("file",), ("creation",)),
    Kind.FILE_RENAMED: Row(1001, 5, ("file",), ("change",)),
    Kind.FILE_GONE: Row(1001, 4, ("file",), ("deletion",)),
    Kind.DATA_READ: Row(6005, 1, ("database",), ("access",)),
    Kind.DATA_WRITTEN: Row(6005, 2, ("database",), ("change",)),
    Kind.LOG_EXPORTED: Row(1008, 3, ("file",), ("access",)),
    Kind.LOG_DELETED: Row(1008, 2, ("file",), ("deletion",)),
    Kind.LOG_CHANGED: Row(1008, 99, ("configuration",), ("change",)),
    Kind.COMMAND: Row(1007, 1, ("process",), ("start",)),
}
_SEVERE = {RetentionClass.INCIDENT: (4, "High")}
_ENDS = {Outcome.DONE: (1, "Success", "success"), Outcome.REFUSED: (2, "Failure", "failure"),
         Outcome.FAILED: (2, "Failure", "failure")}  # fmt: skip
_PRODUCT = {"name": "Bancada", "vendor_name": "Bancada"}


def ocsf(event: AuditEvent, *, everything: bool = True) -> dict[str, Any]:
    """One OCSF event; `everything` False leaves out where the call came from, as a project's own trail does."""
    row, code, severity = _row(event)
    status = _ends(event)
    return _without_nothing({
        "metadata": {"version": "1.3.0", "uid": str(event.uid), "event_code": code, "log_name": "audit trail",
                     "correlation_uid": event.correlation, "product": _PRODUCT},
        "time": _milliseconds(event.at), "category_uid": row.ocsf_class // 1000, "class_uid": row.ocsf_class,
        "activity_id": row.activity, "type_uid": row.ocsf_class * 100 + row.activity,
        "severity_id": severity[0], "severity": severity[1], "status_id": status[0], "status": status[1],
        "status_code": event.outcome, "message": event.action,
        "actor": {"user": {"name": event.actor_name, "uid": _text(event.actor_id)}},
        "src_endpoint": {"ip": event.address if everything else None},
        "resources": [{"type": event.subject_type, "uid": event.subject_id, "name": event.subject_name}],
        "unmapped": {"project": event.project_code, "channel": event.channel, "ran_as": event.ran_as,
                     "detail": event.said},
    })  # fmt: skip


def ecs(event: AuditEvent, *, everything: bool = True) -> dict[str, Any]:
    """One ECS document; what ECS has no field for stands under `bancada`."""
    row, code, severity = _row(event)
    return _without_nothing({
        "@timestamp": _moment(event.at), "ecs": {"version": "8.11.0"},
        "event": {"kind": "alert" if severity[0] > 1 else "event", "category": list(row.ecs_category),
                  "type": list(row.ecs_type), "action": event.action, "code": code, "outcome": _ends(event)[2],
                  "id": str(event.uid), "dataset": "bancada.audit", "module": "bancada"},
        "user": {"name": event.actor_name, "id": _text(event.actor_id), "effective": {"name": event.ran_as}},
        "source": {"ip": event.address if everything else None},
        "trace": {"id": event.correlation}, "observer": {"name": settings.PUBLIC_URL, "product": "Bancada"},
        "bancada": {"project": event.project_code, "channel": event.channel, "detail": event.said,
                    "subject": {"type": event.subject_type, "id": event.subject_id, "name": event.subject_name}},
    })  # fmt: skip


def ocsf_note(note: Note) -> dict[str, Any]:
    """As OCSF's base event, the class of what is none of the others."""
    return _without_nothing({
        "metadata": {"version": "1.3.0", "uid": str(note.uid), "log_name": "audit trail, note", "product": _PRODUCT},
        "time": _milliseconds(note.at), "category_uid": 0, "category_name": "Uncategorized", "class_uid": 0,
        "class_name": "Base Event", "activity_id": 99, "activity_name": "Note", "type_uid": 99,
        "severity_id": 1, "severity": "Informational", "message": note.words, "unmapped": note.facts,
    })  # fmt: skip


def ecs_note(note: Note) -> dict[str, Any]:
    """As a state in ECS, of a dataset of its own."""
    return _without_nothing({
        "@timestamp": _moment(note.at), "ecs": {"version": "8.11.0"}, "message": note.words,
        "event": {"kind": "state", "id": str(note.uid), "dataset": "bancada.note", "module": "bancada"},
        "observer": {"name": settings.PUBLIC_URL, "product": "Bancada"}, "bancada": note.facts,
    })  # fmt: skip


def _row(event: AuditEvent) -> tuple[Row, str, tuple[int, str]]:
    """How to say it, its code, how grave. What another version wrote is said as something of which nothing is known."""
    try:
        entry = catalogue.of(event.action)
        code = str(entry.code_of(event.outcome))
    except (NotInCatalogue, ValueError):
        return OTHER, event.action, (1, "Informational")
    return TABLE[entry.kind], code, _SEVERE.get(entry.retention_class, (1, "Informational"))


def _ends(event: AuditEvent) -> tuple[int, str, str]:
    return _ENDS.get(Outcome(event.outcome)) if event.outcome in Outcome.values else (0, "Unknown", "unknown")  # type: ignore[return-value]


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _without_nothing(value: Any) -> Any:
    """Without empty fields: both vocabularies leave out what is not known."""
    if isinstance(value, dict):
        cleaned = {key: _without_nothing(item) for key, item in value.items()}
        return {key: item for key, item in cleaned.items() if item not in (None, "", {}, [], [{}])}
    return [_without_nothing(item) for item in value] if isinstance(value, list) else value
