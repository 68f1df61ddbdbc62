"""People stand beside the trail: an event names them by reference, and what is rolled back leaves no reference behind."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from audit import context, identities, trail
from audit.actions import Action
from audit.models import AuditEvent, Identity
from tests.conftest import Roles
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def test_no_login_and_no_address_stands_in_the_event_itself() -> None:
    user = make_user("davi")
    with context.coming_from("web", address="192.0.2.7"):
        event = trail.record(Action.LOG_READ, by=user, about=user, ran_as="davi", owner=trail.Login("carla"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(e)::text FROM audit_auditevent e WHERE id = %s", [event.pk])
        [text] = cursor.fetchone()
    assert "davi" not in text and "192.0.2.7" not in text and "carla" not in text
    event = AuditEvent.objects.get(pk=event.pk)
    assert (event.actor_name, event.subject_name, event.ran_as, event.address) == ("davi", "davi", "davi", "192.0.2.7")
    assert event.said == {"owner": "carla"}


def test_one_query_names_a_whole_page(django_assert_num_queries: Any) -> None:
    for _ in range(5):
        trail.record(Action.SIGNED_IN, by=make_user())
    with django_assert_num_queries(2):
        rows = identities.name_all(AuditEvent.objects.all())
        assert len({row.actor_name for row in rows}) == 5


def test_the_same_person_is_written_once_and_again_after_a_rollback() -> None:
    user = make_user()
    with pytest.raises(RuntimeError), transaction.atomic():
        trail.record(Action.SIGNED_IN, by=user)
        raise RuntimeError
    assert not Identity.objects.filter(person_id=user.pk).exists()
    first, second = (trail.record(Action.SIGNED_IN, by=user) for _ in range(2))
    assert first.actor_ref == second.actor_ref
    assert Identity.objects.filter(person_id=user.pk).count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_same_person_is_written_once_where_no_transaction_is_open() -> None:
    """As where a page of the trail is read: no request opens one by itself."""
    user = make_user()
    with context.coming_from("web", address="192.0.2.7"):
        for _ in range(3):
            trail.record(Action.TRAIL_READ, by=user)
    assert sorted(Identity.objects.filter(person_id=user.pk).values_list("kind", flat=True)) == ["address", "login"]


def test_the_same_address_of_two_people_is_two_references() -> None:
    with context.coming_from("web", address="192.0.2.7"):
        one, other = (trail.record(Action.SIGNED_IN, by=make_user()) for _ in range(2))
    assert one.address_ref != other.address_ref and one.address == other.address


@pytest.mark.parametrize("role", ["web", "work", "slurm"])
def test_processes_write_people_and_change_none(roles: Roles, role: str) -> None:
    roles.use(role)
    trail.record(Action.SIGNED_IN, by=None, ran_as="davi")
    with pytest.raises(DatabaseError), transaction.atomic():
        Identity.objects.update(value="x")


@pytest.mark.parametrize("sql", ["DELETE FROM audit_identity", "TRUNCATE audit_identity",
                                 "UPDATE audit_identity SET person_id = 7"])  # fmt: skip
def test_nobody_deletes_or_moves_people(sql: str) -> None:
    trail.record(Action.SIGNED_IN, ran_as="davi")
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def test_a_process_that_knows_somebody_asks_nothing(db: None, django_assert_num_queries: Any) -> None:
    user = make_user()
    trail.record(Action.SIGNED_IN, by=user)
    with django_assert_num_queries(1):
        trail.record(Action.SIGNED_IN, by=user)
