"""The trail only grows, says which database role wrote it, and shares the fate of the change it tells of."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import translation

from audit import context, trail
from audit.actions import Action
from audit.models import AuditEvent
from projects.models import Project
from tests.conftest import Roles
from tests.factories import make_project, make_user

pytestmark = pytest.mark.django_db


def test_it_carries_actor_origin_and_detail() -> None:
    user, project = make_user(), make_project()
    with context.coming_from("web", address="192.0.2.7") as origin:
        event = trail.record(Action.SIGNED_IN, by=user, about=user, project=project, before=1, after={"a": {2}})
    event.refresh_from_db()
    assert (event.actor_name, event.address, event.correlation) == (user.username, "192.0.2.7", origin.correlation)
    assert event.detail == {"before": 1, "after": {"a": [2]}}
    assert event.project_code == project.code


@pytest.mark.parametrize(
    "sql", ["UPDATE audit_auditevent SET action = 'x'", "DELETE FROM audit_auditevent", "TRUNCATE audit_auditevent"]
)
@pytest.mark.parametrize("replica", [False, True])
def test_it_cannot_be_changed_even_by_a_superuser_in_replica_mode(sql: str, replica: bool) -> None:
    trail.record(Action.SIGNED_IN)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        if replica:
            cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql)


@pytest.mark.parametrize("role", ["web", "work", "slurm"])
def test_the_row_names_the_database_role_whatever_the_writer_says(roles: Roles, role: str) -> None:
    roles.use(role)
    trail.record(Action.SIGNED_IN)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO audit_auditevent (uid, at, action, outcome, subject_type, subject_id, subject_text,"
            " project_code, channel, correlation, db_role, detail)"
            " VALUES (gen_random_uuid(), now(), 'x', 'done', '', '', '', '', '', '', 'owner', '{}')"
        )
    assert set(AuditEvent.objects.values_list("db_role", flat=True)) == {role}


@pytest.mark.parametrize("role", ["web", "work", "slurm"])
def test_an_application_role_cannot_disable_the_triggers(roles: Roles, role: str) -> None:
    roles.use(role)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_auditevent DISABLE TRIGGER ALL")


def test_when_the_trail_cannot_be_written_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no trail")

    monkeypatch.setattr(trail, "record", broken)
    with pytest.raises(RuntimeError):
        make_project("never")
    assert not Project.objects.filter(code="never").exists()


def test_hostile_text_is_kept_as_text() -> None:
    event = trail.record(Action.SIGNED_IN, note="a\x00b\nfake=1\x1b[31m", lone="\ud800")
    event.refresh_from_db()
    assert event.detail["note"] == "a�b\nfake=1\x1b[31m"


def test_the_door_is_named_in_words_and_an_old_code_stays() -> None:
    with translation.override("en"):
        assert AuditEvent(channel="task").door == "background task"
        assert AuditEvent(channel="fax").door == "fax"
