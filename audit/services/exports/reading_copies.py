"""Copies of the trail for people and for other systems: a table that no spreadsheet runs, OCSF and ECS. Not evidence.

Before the first event stands what the trail does not see, in the form's own way, without a number and counted nowhere.
People are named here as they are called now. Control characters, also those that turn the direction of writing, are
written out as what they are; the evidence has them as they came.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from django.conf import settings

from audit import catalogue
from audit.catalogue import NotInCatalogue
from audit.cells import cell
from audit.identities import name_all
from audit.mapping import Note, ecs, ecs_note, ocsf, ocsf_note
from audit.models import AuditEvent, Checkpoint
from audit.models.export import Form
from audit.services import unseen
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


def heading(form: str, wanted: Wanted, last: Checkpoint) -> bytes:
    """What stands before the first: it says what the trail, up to a checkpoint, does not see."""
    return _HEADINGS[Form(form)](_not_seen(wanted, last))


def _not_seen(wanted: Wanted, last: Checkpoint) -> Note:
    """The same for the same checkpoint, its id included."""
    gaps = [gap.plain() for gap in unseen.sealed(wanted.times()[0], last.seq)]
    facts = {"not_seen": list(unseen.WORDS), "not_followed": gaps}
    words = "Not an event. What the trail does not see: " + "; ".join(unseen.WORDS) + "."
    if gaps:
        words += " Not followed: " + ", ".join(f"{gap['since']} to {gap['until']}" for gap in gaps) + "."
    return Note(uuid5(NAMESPACE_URL, f"{settings.PUBLIC_URL}/audit/{last.seq} {words}"), last.at, words, facts)


def _heading(note: Note) -> bytes:
    """The names of the columns, and a row that is a note: nothing in it is an event's."""
    said = {"action": "note", "subject": note.words, "detail": json.dumps(note.facts, sort_keys=True)}
    return _table([COLUMNS, [said.get(name, "") for name in COLUMNS]])


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
        yield _line(said(row, everything=whole))


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode() + b"\n"


_HEADINGS: dict[Form, Callable[[Note], bytes]] = {
    Form.CSV: _heading, Form.OCSF: lambda note: _line(ocsf_note(note)), Form.ECS: lambda note: _line(ecs_note(note)),
}  # fmt: skip
_FORMS: dict[Form, Callable[[list[AuditEvent], bool], bytes]] = {
    Form.CSV: _csv, Form.OCSF: _lines(ocsf), Form.ECS: _lines(ecs),
}  # fmt: skip
