"""Security incidents: working days of Brazil, what is kept for good, and when a notice is late."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
import time_machine
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.utils import timezone

from audit.actions import Action
from audit.models import AuditEvent
from datasets import working_days
from datasets.models import Notice, SecurityIncident
from datasets.services import incidents
from tests.conftest import Roles
from tests.datasets.conftest import Shelf


@pytest.mark.parametrize(
    ("known", "due"),
    [
        (date(2026, 12, 2), date(2026, 12, 7)),  # Wednesday: Thursday, Friday, Monday
        (date(2026, 12, 4), date(2026, 12, 9)),  # Friday
        (date(2026, 12, 5), date(2026, 12, 9)),  # Saturday
        (date(2026, 12, 23), date(2026, 12, 29)),  # Christmas and a weekend between
        (date(2026, 4, 1), date(2026, 4, 7)),  # Good Friday
        (date(2026, 4, 20), date(2026, 4, 24)),  # Tiradentes
        (date(2026, 11, 19), date(2026, 11, 25)),  # 20 November, since 2024
        (date(2023, 11, 17), date(2023, 11, 22)),  # not yet in 2023
        (date(2026, 2, 13), date(2026, 2, 18)),  # Carnival is no national holiday
    ],
)
def test_three_working_days(known: date, due: date) -> None:
    assert working_days.after(known, 3) == due
    assert working_days.between(known, due) == 3 and working_days.between(due, known) == -3


@pytest.mark.parametrize(
    ("year", "day"),
    [
        (2024, date(2024, 3, 31)),
        (2025, date(2025, 4, 20)),
        (2026, date(2026, 4, 5)),
        (2027, date(2027, 3, 28)),
        (2038, date(2038, 4, 25)),
    ],
)
def test_easter(year: int, day: date) -> None:
    assert working_days.easter(year) == day


def opened(shelf: Shelf, **fields: object) -> SecurityIncident:
    facts = {
        "title": "A copy was left open", "what": "A folder could be read by all.", "known_at": timezone.now(),
        "subjects": "Patients of the demo.",
    }  # fmt: skip
    return incidents.open_one(by=shelf.owner_pi, datasets=[shelf.dataset], **(facts | fields))


def test_opened_completed_told_and_closed(shelf: Shelf, roles: Roles) -> None:
    roles.use("web")
    row = opened(shelf)
    with pytest.raises(ValidationError):
        incidents.close(incident=row, by=shelf.owner_pi)
    incidents.change(incident=row, by=shelf.owner_pi, measures="The folder was closed.", people=12, datasets=[])
    incidents.notify(incident=row, by=shelf.owner_pi, to="anpd", at=timezone.now(), text="We tell you.")
    incidents.close(incident=row, by=shelf.owner_pi)
    with pytest.raises(incidents.Closed):
        incidents.change(incident=row, by=shelf.owner_pi, people=13)
    told = AuditEvent.objects.get(action=Action.INCIDENT_CHANGED).detail
    assert told["before"]["datasets"] == ["atlas"] and told["after"]["people"] == 12
    assert AuditEvent.objects.get(action=Action.INCIDENT_NOTIFIED).detail["is_late"] is False


def test_nothing_is_taken_out_of_the_register(shelf: Shelf, roles: Roles) -> None:
    row = opened(shelf)
    notice = incidents.notify(incident=row, by=shelf.owner_pi, to="subjects", at=timezone.now(), text="We tell you.")
    for act in (SecurityIncident.objects.filter(pk=row.pk).delete, Notice.objects.all().delete, notice.delete):
        with pytest.raises((DatabaseError, Exception)), transaction.atomic():
            act()
    with pytest.raises(DatabaseError), transaction.atomic():
        Notice.objects.update(text="Nothing happened.")


def test_the_countdown_is_of_brazils_days(shelf: Shelf) -> None:
    with time_machine.travel(datetime(2026, 12, 3, 1, 30, tzinfo=UTC)):  # still the 2nd in Brazil
        row = opened(shelf)
        assert (row.known_on, row.notice_due, row.days_left) == (date(2026, 12, 2), date(2026, 12, 7), 3)
    with time_machine.travel(datetime(2026, 12, 9, 15, tzinfo=UTC)):
        assert row.days_left == -2
        incidents.notify(incident=row, by=shelf.owner_pi, to="anpd", at=timezone.now(), text="Late.")
    assert AuditEvent.objects.get(action=Action.INCIDENT_NOTIFIED).detail["is_late"] is True


def test_nothing_lies_in_the_future(shelf: Shelf) -> None:
    with pytest.raises(ValidationError):
        opened(shelf, known_at=timezone.now() + timedelta(hours=1))
    with pytest.raises(ValidationError):
        opened(shelf, happened_at=timezone.now() + timedelta(days=1))
