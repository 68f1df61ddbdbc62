"""What is kept on a person, put together from all rooms and from the trail: an answer under LGPD, art. 18."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime
from typing import Any

from django.db.models import Count, Max, Min
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit import catalogue, persons, trail
from audit.actions import Action
from audit.models import AuditEvent, Identity, LegalHold, Pseudonym
from audit.persons import Section


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Of whom, when, and all sections."""

    login: str
    at: datetime
    sections: tuple[Section, ...]


def of(person: Any, *, by: Any, form: str) -> Report:
    """Everything by section; that it was looked up is an event."""
    trail.record(Action.PERSON_REPORTED, by=by, about=person, form=form)
    sections = (*persons.told(person), _beside(person), _events(person), _kept(person))
    return Report(person.get_username(), timezone.now(), sections)


def _beside(person: Any) -> Section:
    rows = Identity.objects.filter(person_id=person.pk).order_by("kind", "at").values_list("kind", "value")
    found = rows.annotate(first=Min("at"), last=Max("at"))
    return Section(
        _("Names and addresses beside the trail"), "audit_identity",
        _("to say who did what; events hold only references to these"),
        (_("kind"), _("value"), _("first"), _("last")), tuple(found),
    )  # fmt: skip


def _events(person: Any) -> Section:
    """How many by class: what they did, and what was done to them."""
    did = AuditEvent.objects.filter(actor_id=person.pk)
    done_to = AuditEvent.objects.filter(subject_type="user", subject_id=str(person.pk))
    rows: dict[str, list[Any]] = {}
    for place, found in ((0, did), (1, done_to)):
        counted = found.order_by().values_list("action").annotate(n=Count("pk"), first=Min("at"), last=Max("at"))
        for action, count, first, last in counted:
            row = rows.setdefault(_class(action), [0, 0, first, last])
            row[place] += count
            row[2], row[3] = min(row[2], first), max(row[3], last)
    return Section(
        _("Events of the trail"), "audit_auditevent",
        _("evidence of what happened: kept by class for the time of the retention table"),
        (_("class"), _("by the person"), _("about the person"), _("first"), _("last")),
        tuple((kind, *row) for kind, row in sorted(rows.items())),
    )  # fmt: skip


def _class(action: str) -> str:
    try:
        return str(catalogue.of(action).retention_class)
    except catalogue.NotInCatalogue:
        return action


def _kept(person: Any) -> Section:
    held = LegalHold.objects.filter(person_id=person.pk).order_by("placed_at")
    given = Pseudonym.objects.filter(person_id=person.pk)
    rows = [("hold", one.reason, one.placed_at, one.lifted_at or one.ends_at) for one in held]
    rows += [("pseudonym", one.pseudonym, one.asked_at, one.done_at) for one in given]
    return Section(
        _("Holds and pseudonyms"), "audit_legalhold, audit_pseudonym", _("to keep what must be kept"),
        (_("kind"), _("what"), _("from"), _("until")), tuple(rows),
    )  # fmt: skip


def plain(report: Report) -> dict[str, Any]:
    """For JSON."""
    return {
        "login": report.login,
        "at": report.at.isoformat(),
        "sections": [
            {"title": str(one.title), "where": one.where, "why": str(one.why),
             "rows": [dict(zip(map(str, one.columns), map(_value, row), strict=True)) for row in one.rows]}
            for one in report.sections
        ],
    }  # fmt: skip


def _value(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float) else str(value)
