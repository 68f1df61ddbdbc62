"""Passes to files: what the worker signs for whom, and what the door does while it waits for one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import LazySettings
from django.db import ProgrammingError, transaction
from django.utils import timezone

from access.roles import Role
from accounts.lookup import DirectoryDown
from accounts.models import User
from files import tickets as file_tickets
from jobs.services import file_tickets as signing
from jobs.services import people, tickets
from logs.keys import key_id
from projects.models import Project
from projects.services import members
from storage.models import FilePass
from storage.services import passes
from tests.conftest import Roles
from tests.factories import make_member, make_project, make_user

KEY = Ed25519PrivateKey.generate()
KEYS = {key_id(KEY): KEY.public_key()}


@pytest.fixture
def worker(db: None, monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> Iterator[Callable[[], int]]:
    """The worker with a key; the directory and the system agree with the portal about everybody."""
    settings.TICKET_KEY_FILE = "/there"
    monkeypatch.setattr(signing, "signing_key", lambda: KEY)
    monkeypatch.setattr(people, "_entry", lambda login: SimpleNamespace(directory_id=None, locked=False, uid_number=0))
    monkeypatch.setattr(
        people, "_on_system", lambda user, uid: people.Identity(user.username, user.uid_number, "/home/x", "/bin/sh")
    )
    yield signing.sign_asked


def asked(project: Project, user: User) -> FilePass:
    return FilePass.objects.create(project=project, user=user)


def make_member_elsewhere(roles: Roles, project: Project) -> User:
    """A member, made by who may; then the door goes on."""
    roles.use(None)
    person = make_member(project)
    roles.use("web")
    return person


@pytest.mark.parametrize(("role", "rights"), [(Role.VIEWER, "r"), (Role.RESEARCHER, "rw"), (Role.PI, "rw")])
def test_a_member_gets_the_rights_of_their_role_for_minutes(worker: Callable[[], int], role: str, rights: str) -> None:
    project = make_project("ipe")
    row = asked(project, make_member(project, role))
    assert worker() == 1
    row.refresh_from_db()
    ticket = file_tickets.verify(row.ticket, KEYS, time.time())
    assert (ticket.rights, row.rights, ticket.root) == (rights, rights, project.folder)
    assert (ticket.uid, ticket.user, ticket.project) == (row.user.uid_number, row.user.username, "ipe")
    assert 800 < ticket.not_after - time.time() <= 900
    assert worker() == 0


def test_nobody_gets_one_who_is_no_member_or_has_left(worker: Callable[[], int]) -> None:
    project = make_project("ipe")
    stranger, gone = make_user(), make_member(project)
    members.remove_member(membership=gone.memberships.get(), by=None)
    for person in (stranger, gone):
        row = asked(project, person)
        assert worker() == 1
        row.refresh_from_db()
        assert (row.ticket, row.rights) == ("", "")
        assert "no longer a member" in row.refusal


def test_a_pass_signed_before_is_taken_back_when_asked_for_after_the_end(worker: Callable[[], int]) -> None:
    project = make_project("ipe")
    person = make_member(project)
    row = asked(project, person)
    worker()
    members.remove_member(membership=person.memberships.get(), by=None)
    FilePass.objects.update(asked_at=timezone.now() + timedelta(seconds=1))
    worker()
    row.refresh_from_db()
    assert row.ticket == ""


def test_a_directory_that_is_down_leaves_it_asked(worker: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project("ipe")
    row = asked(project, make_member(project))

    def down(login: str) -> None:
        raise DirectoryDown("silent")

    monkeypatch.setattr(people, "_entry", down)
    assert worker() == 0
    row.refresh_from_db()
    assert row.is_waiting


def test_a_folder_that_cannot_be_a_root_is_said_so(worker: Callable[[], int]) -> None:
    project = make_project("ipe", folder="/srv")
    row = asked(project, make_member(project))
    worker()
    row.refresh_from_db()
    assert "folder" in row.refusal


def test_the_door_may_ask_and_nothing_else(worker: Callable[[], int], roles: Roles) -> None:
    project = make_project("ipe")
    person = make_member(project)
    roles.use("web")
    row = asked(project, person)
    FilePass.objects.filter(pk=row.pk).update(asked_at=timezone.now())
    for fields in ({"ticket": "x"}, {"rights": "rw"}, {"expires_at": timezone.now()}):
        with pytest.raises(ProgrammingError), transaction.atomic():
            FilePass.objects.filter(pk=row.pk).update(**fields)
    roles.use("slurm")
    assert worker() == 1
    roles.use("web")
    assert passes.ticket(project, person)
    assert passes._ask(FilePass.objects.get(), project, person, timezone.now())
    passes._ask(None, project, make_member_elsewhere(roles, project), timezone.now())
    assert FilePass.objects.count() == 2


def test_the_door_waits_for_the_worker_and_says_what_it_said(
    worker: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project("ipe")
    person, stranger = make_member(project, Role.VIEWER), make_user()
    rung: list[str] = []
    monkeypatch.setattr(passes, "ring", lambda task: rung.append(task) or worker())
    assert file_tickets.peek(passes.ticket(project, person)).uid == person.uid_number
    assert rung == ["slurm.sign_files"]
    passes.ticket(project, person)
    assert len(rung) == 1
    with pytest.raises(passes.NoPass):
        passes.ticket(project, person, write=True)
    with pytest.raises(passes.NoPass):
        passes.ticket(project, stranger)


def test_it_is_asked_for_again_in_time_while_the_old_one_is_used(
    worker: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project("ipe")
    person = make_member(project)
    asked(project, person)
    worker()
    FilePass.objects.update(expires_at=timezone.now() + timedelta(seconds=300))
    rung: list[str] = []
    monkeypatch.setattr(passes, "ring", rung.append)
    first = passes.ticket(project, person)
    assert (passes.ticket(project, person), len(rung)) == (first, 1)


def test_without_a_worker_it_is_not_ready(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project("ipe")
    monkeypatch.setattr(passes, "PATIENCE", 0.1)
    monkeypatch.setattr(passes, "ring", lambda task: None)
    with pytest.raises(passes.NotReady):
        passes.ticket(project, make_member(project))
    assert FilePass.objects.asked().count() == 1


def test_the_key_of_log_tickets_signs() -> None:
    assert signing.signing_key is tickets.signing_key
    assert Path(signing.__file__).name == "file_tickets.py"
