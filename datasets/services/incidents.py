"""The register of security incidents: opened, completed, told to whom, closed. Nothing is ever taken out of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets.models import Dataset, Notice, SecurityIncident
from datasets.models.incident import BRAZIL

CHANGEABLE = ("title", "what", "happened_at", "known_at", "subjects", "people", "risks", "measures")


class Closed(Exception):
    """The incident is closed."""


@transaction.atomic
def open_one(*, by: User, datasets: Sequence[Dataset] = (), **fields: Any) -> SecurityIncident:
    """A new entry; `fields` are SecurityIncident's own. Raises ValidationError."""
    row = SecurityIncident(opened_by=by, **fields)
    _in_the_past(row.known_at)
    row.full_clean()
    row.save()
    row.datasets.set(datasets)
    trail.record(
        Action.INCIDENT_OPENED, by=by, about=row, known_at=row.known_at, notice_due=row.notice_due,
        datasets=[one.code for one in datasets],
    )  # fmt: skip
    return row


def _in_the_past(at: datetime | None, field: str = "known_at") -> None:
    if at is not None and at > timezone.now():
        raise ValidationError({field: _("This lies in the future.")})


def _lock(incident: SecurityIncident) -> SecurityIncident:
    row = SecurityIncident.objects.select_for_update().get(pk=incident.pk)
    if row.closed_at is not None:
        raise Closed(str(row))
    return row


@transaction.atomic
def change(
    *, incident: SecurityIncident, by: User, datasets: Sequence[Dataset] | None = None, **fields: Any
) -> SecurityIncident:
    """Complete or correct it; what it said before stays in the trail. Raises Closed, ValidationError."""
    row = _lock(incident)
    before: dict[str, Any] = {name: getattr(row, name) for name in fields if name in CHANGEABLE}
    after: dict[str, Any] = {name: fields[name] for name in before if fields[name] != before[name]}
    for name, value in after.items():
        setattr(row, name, value)
    _in_the_past(row.known_at)
    row.full_clean()
    row.save()
    if datasets is not None:
        known = sorted(row.datasets.values_list("code", flat=True))
        if known != (now := sorted(one.code for one in datasets)):
            row.datasets.set(datasets)
            before["datasets"], after["datasets"] = known, now
    if after:
        told = {name: before[name] for name in after}
        trail.record(Action.INCIDENT_CHANGED, by=by, about=row, before=told, after=after)
    return row


@transaction.atomic
def notify(*, incident: SecurityIncident, by: User, to: str, at: datetime, text: str) -> Notice:
    """Somebody was told; also of a closed one. Raises ValidationError."""
    notice = Notice(incident=incident, to=to, at=at, text=text, by=by)
    _in_the_past(at, "at")
    notice.full_clean()
    notice.save()
    late = at.astimezone(BRAZIL).date() > incident.notice_due
    trail.record(Action.INCIDENT_NOTIFIED, by=by, about=incident, to=to, when=at, is_late=late)
    return notice


@transaction.atomic
def close(*, incident: SecurityIncident, by: User) -> SecurityIncident:
    """Everything was done. Raises Closed; ValidationError where no measures are written down."""
    row = _lock(incident)
    if not row.measures.strip():
        raise ValidationError({"measures": _("Write down what was done before the security incident is closed.")})
    row.closed_at = timezone.now()
    row.save(update_fields=["closed_at"])
    trail.record(Action.INCIDENT_CLOSED, by=by, about=row, notices=row.notices.count())
    return row
