"""A project whose folder is real, with the files' door running and a worker that answers at once."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from access.roles import Role
from accounts.models import User
from jobs.services import file_tickets, people
from projects.models import Project
from projects.services import members
from storage.services import passes
from tests.factories import make_project, make_user
from tests.files.conftest import house  # noqa: F401
from tests.files.door import ANA, BETO, LOGINS, Place, own


@dataclasses.dataclass
class Room:
    """The project, its real folder, and two members with uids of their own."""

    project: Project
    place: Place
    ana: User
    beto: User

    @property
    def folder(self) -> Path:
        """Where the project's files lie."""
        return self.place.project


@pytest.fixture
def signed(monkeypatch: pytest.MonkeyPatch, settings: LazySettings, house: Place) -> None:  # noqa: F811
    """The worker signs with the door's key as soon as it is rung."""
    settings.TICKET_KEY_FILE, settings.FILES_SOCKET = "/there", str(house.socket)
    monkeypatch.setattr(file_tickets, "signing_key", lambda: house.private)
    monkeypatch.setattr(passes, "ring", lambda task: file_tickets.sign_asked())
    monkeypatch.setattr(people, "identity", _identity)


def _identity(user: User, project: Project, permission: object) -> people.Identity:
    return people.Identity(user.username, int(user.uid_number or 0), "/home/x", "/bin/sh")


@pytest.fixture
def empty(db: None, signed: None, house: Place) -> Place:  # noqa: F811
    """The door with an empty folder."""
    shutil.rmtree(house.project)
    house.project.mkdir()
    own(house.project, ANA, 0o2775)
    return house


@pytest.fixture
def room(empty: Place) -> Iterator[Room]:
    """An empty project."""
    project = make_project("ipe", folder=str(empty.project))
    ana, beto = make_user(LOGINS[ANA], uid_number=ANA), make_user(LOGINS[BETO], uid_number=BETO)
    members.add_member(project=project, user=ana, role=Role.RESEARCHER, by=None)
    members.add_member(project=project, user=beto, role=Role.VIEWER, by=None)
    yield Room(project, empty, ana, beto)
