"""Copies of the trail for people and for other systems: a table that no spreadsheet runs, OCSF and ECS. Not evidence.

People are named here as they are called now. Control characters, also those that turn the direction of writing, are
written out as what they are; the evidence has them as they came.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

from audit import catalogue
from audit.catalogue import NotInCatalogue
from audit.cells import cell
from audit.identities import name_all
from audit.mapping import ecs, ocsf
from audit.models import AuditEvent
from audit.models.export import Form
from audit.services.wanted import Wanted

COLUMNS = (
    "record", "id", "at", "code", "action", "outcome", "actor", "ran_as", "subject_type", "subject_id", "subject",
    "project", "channel", "address", "correlation", "database_role", "detail",
)  # fmt: skip
_ROWS = """
SELECT s.seq, e.* FROM audit_auditseal s JOIN audit_auditevent e ON e.id = s.event_id
WHERE s.seq > %s AND s.seq <= %s AND ({}) ORDER BY s.seq"""


def copies(form: str, wanted: Wanted, first: int, last: int, *, whole: bool) -> tuple[bytes, int]:
    """(the lines of the records after `first` up to `last` that are wanted, how many they are)."""
    condition, values = wanted.sql()
    rows = name_all(AuditEvent.objects.raw(_ROWS.format(condition), [first, last, *values]))
    return _FORMS[Form(form)](rows, whole), len(rows)


def heading(form: str) -> bytes:
    """What stands before the first."""
    return _table([COLUMNS]) if form == Form.CSV else b""


def _csv(rows: list[AuditEvent], whole: bool) -> bytes:
    return _table([_cells(row, whole) for row in rows])


def _table(rows: list[Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerows([cell(str(value)) for value in row] for row in rows)
    return text.getvalue().encode()


def _cells(row: Any, whole: bool) -> tuple[Any, ...]:
    return (
        row.seq, row.uid, row.at.isoformat(), _code(row), row.action, row.outcome, row.actor_name, row.ran_as,
        row.subject_type, row.subject_id, row.subject_name, row.project_code, row.channel,
        row.address or "" if whole else "", row.correlation, row.db_role if whole else "",
        json.dumps(row.said, ensure_ascii=False, sort_keys=True) if row.detail else "",
    )  # fmt: skip


def _code(row: AuditEvent) -> str:
    try:
        return str(catalogue.of(row.action).code_of(row.outcome))
    except (NotInCatalogue, ValueError):
        return ""


def _lines(said: Callable[..., dict[str, Any]]) -> Callable[[list[AuditEvent], bool], bytes]:
    def lines(rows: list[AuditEvent], whole: bool) -> bytes:
        return b"".join(_each(said, rows, whole))

    return lines


def _each(said: Callable[..., dict[str, Any]], rows: list[AuditEvent], whole: bool) -> Iterator[bytes]:
    for row in rows:
        yield json.dumps(said(row, everything=whole), ensure_ascii=True).encode() + b"\n"


_FORMS: dict[Form, Callable[[list[AuditEvent], bool], bytes]] = {
    Form.CSV: _csv, Form.OCSF: _lines(ocsf), Form.ECS: _lines(ecs),
}  # fmt: skip
