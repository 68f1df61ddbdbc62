"""Comparing people with the directory, as the worker: who left is closed, and a fault closes nobody."""

from __future__ import annotations

import time
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.admission import person_by_login
from accounts.directory import sync
from accounts.directory.errors import Rejected
from accounts.models import User
from accounts.tasks import sync_directory
from audit.actions import Action
from audit.models import AuditEvent
from tests.accounts import people
from tests.accounts.slapd import Slapd
from tests.accounts.test_sign_in import enter, signed_in
from tests.conftest import Roles

pytestmark = pytest.mark.django_db
EVERYBODY = ("ana", "bruno", "carla", "elisa", "felipe", "gabi", "hugo")


@pytest.fixture
def known(own_directory: Slapd, roles: Roles) -> Slapd:
    """Everybody has a row; from here on as the worker."""
    for user in EVERYBODY:
        person_by_login(user)
    roles.use("work")
    return own_directory


def gone(directory: Slapd, *users: str) -> None:
    for user in users:
        directory.delete(f"uid={user},{people.PEOPLE}")


def open_people() -> set[str]:
    return set(User.objects.filter(is_active=True).values_list("username", flat=True))


def later(seconds: float) -> Any:
    return time_machine.travel(time.time() + seconds)


def test_nothing_changed(known: Slapd) -> None:
    before = AuditEvent.objects.count()
    assert sync.run() == sync.Outcomes(seen=len(EVERYBODY))
    assert AuditEvent.objects.count() == before


def test_who_left_is_closed_when_it_was_said_twice(client: Client, known: Slapd, roles: Roles) -> None:
    roles.use("web")
    enter(client, "ana")
    roles.use("work")
    gone(known, "ana")
    assert sync.run().closed == 0 and sync.run().closed == 0 and "ana" in open_people()
    with later(61):
        assert sync.run().closed == 1
    assert "ana" not in open_people()
    event = AuditEvent.objects.get(action=Action.USER_CLOSED)
    assert event.db_role == "work" and event.detail["sessions"] == 1
    roles.use("web")
    assert not signed_in(client)


def test_who_comes_back_in_time_stays(known: Slapd) -> None:
    known.admin.rename_s(f"uid=ana,{people.PEOPLE}", "uid=ana", newsuperior="dc=unit,dc=example")
    User.objects.filter(username="bruno").update(directory_missing_at="2026-01-01T00:00:00Z")
    sync.run()
    assert not User.objects.exclude(directory_missing_at=None).exists()
    assert "bruno" in open_people()


def test_who_was_closed_by_mistake_comes_back_by_signing_in(client: Client, known: Slapd, roles: Roles) -> None:
    known.change(f"uid=ana,{people.PEOPLE}", pwdAccountLockedTime=people.FOREVER)
    sync.run()
    with later(61):
        assert sync.run().closed == 1
    with pytest.raises(Exception):  # noqa: B017 - locked: nobody opens them but the directory
        person_by_login("ana")
    known.change(f"uid=ana,{people.PEOPLE}", pwdAccountLockedTime=None)
    roles.use("web")
    enter(client, "ana")
    assert signed_in(client) and AuditEvent.objects.filter(action=Action.USER_REOPENED).count() == 1


def test_too_many_missing_at_once_are_not_believed(known: Slapd) -> None:
    gone(known, "ana", "bruno", "carla", "elisa")
    for seconds in (0, 120, 240):
        with later(seconds):
            found = sync.run()
        assert (found.missing, found.closed, found.alarm) == (4, 0, True)
    assert open_people() == set(EVERYBODY)
    alarm = AuditEvent.objects.get(action=Action.DIRECTORY_ALARM)
    assert alarm.said["people"] == ["ana", "bruno", "carla", "elisa"] and alarm.outcome == "failed"


@pytest.mark.parametrize("fault", ["down", "size limit", "base moved", "not allowed"])
def test_no_answer_closes_nobody(known: Slapd, settings: Any, fault: str) -> None:
    gone(known, "ana")
    if fault == "down":
        settings.AUTH_LDAP_SERVER_URI = "ldap://127.0.0.1:9"
    if fault == "size limit":
        settings.LDAP_GROUP_BASE = "ou=moved,dc=unit,dc=example"
    if fault == "base moved":
        settings.LDAP_USER_BASE = "ou=moved,dc=unit,dc=example"
    if fault == "not allowed":
        settings.AUTH_LDAP_BIND_PASSWORD = "changed"
    for seconds in (0, 120):
        with later(seconds):
            assert sync.run() == sync.Outcomes()
    assert open_people() == set(EVERYBODY)
    assert not User.objects.exclude(directory_missing_at=None).exists()


def test_names_numbers_and_roles_are_kept_up(client: Client, known: Slapd) -> None:
    known.change(f"uid=ana,{people.PEOPLE}", cn="Ana Nova Demo", uidNumber="20555", mail="nova@unit.example")
    known.admin.rename_s(f"uid=bruno,{people.PEOPLE}", "uid=bruno.silva", delold=True)
    known.change(f"cn=bancada-auditors,{people.GROUPS}", member=f"uid=elisa,{people.PEOPLE}")
    sync_directory()
    ana, hugo = User.objects.get(username="ana"), User.objects.get(username="hugo")
    assert (ana.display_name, ana.uid_number, ana.email) == ("Ana Nova Demo", 20555, "nova@unit.example")
    assert hugo.site_role == "" and User.objects.get(username="bruno.silva")
    assert User.objects.get(username="elisa").site_role == ""  # when she signs in
    role = AuditEvent.objects.filter(action=Action.ROLE_CHANGED).latest("pk")
    assert (role.channel, role.detail) == ("task", {"before": "auditor", "after": ""})


def test_adding_somebody_the_directory_does_not_have(known: Slapd) -> None:
    with pytest.raises(Rejected):
        person_by_login("nobody")
