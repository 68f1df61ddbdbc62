"""The rules of data on files: what a job on bound data wrote, and bound data themselves, in a project's folder."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from access.errors import Refused
from access.ids import uuid7
from accounts.models import User
from datasets.models import Dataset, DatasetUse, DatasetVersion
from datasets.services import registering, terms, versions
from projects.models import Project
from storage.services import changing, looking
from tests.datasets.conftest import Shelf
from tests.files.door import ANA, BETO, LOGINS, Place
from tests.files.door import own as own_file

BEFORE = 3600  # seconds before the job's start


class Bound(Shelf):
    """The readers' project with a real folder; its member is ANA, its PI BETO."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        Project.objects.filter(pk=self.users.pk).update(folder=str(place.project))
        for person, uid in ((self.member, ANA), (self.pi, BETO)):
            User.objects.filter(pk=person.pk).update(uid_number=uid, username=LOGINS[uid])
        self.users.refresh_from_db()
        self.member.refresh_from_db()
        self.pi.refresh_from_db()
        place.project.chmod(0o2777)

    def ran(self) -> None:
        """A job of the member's on the dataset began an hour ago."""
        DatasetUse.objects.create(
            job=uuid7(), job_name="treino", dataset=self.dataset, version=self.version, grant=self.grant(),
            project=self.users, user=self.member, purpose="research", access="read",
            started_at=timezone.now() - timedelta(seconds=BEFORE),
        )  # fmt: skip

    def file(self, name: str, *, uid: int = ANA, age: int = 0) -> None:
        """A file in the project's folder, changed so many seconds ago."""
        path = self.place.write(name, b"result", uid=uid, mode=0o664)
        os.utime(path, (time.time() - age,) * 2)

    def reads(self, person: User, path: str) -> bool:
        try:
            return looking.head(project=self.users, by=person, path=path).data == b"result"
        except Refused:
            return False

    def takes(self, person: User, path: str) -> bool:
        act = looking.take_folder if (self.place.project / path).is_dir() else looking.take
        try:
            act(project=self.users, by=person, path=path).close()
        except Refused:
            return False
        return True


@pytest.fixture
def bound(empty: Place) -> Bound:
    return Bound(empty)


def test_what_a_job_on_personal_data_wrote_is_read_by_who_may_use_them(bound: Bound) -> None:
    bound.personal()
    bound.ran()
    bound.file("new")
    bound.file("old", age=BEFORE + 60)
    bound.file("another's", uid=BETO)
    assert not bound.reads(bound.pi, "new")
    assert bound.reads(bound.pi, "old")
    assert bound.reads(bound.member, "another's")
    assert not bound.takes(bound.pi, "")
    terms.accept(dataset=bound.dataset, number=1, by=bound.pi)
    assert bound.reads(bound.pi, "new")
    assert bound.takes(bound.pi, "new")


def test_what_is_not_given_out_is_looked_at_only(bound: Bound) -> None:
    bound.approved()
    bound.ran()
    bound.file("new")
    bound.file("old", age=BEFORE + 60)
    assert bound.takes(bound.member, "new")
    registering.change(dataset=bound.dataset, by=bound.steward, downloads=False)
    assert bound.reads(bound.member, "new")
    assert not bound.takes(bound.member, "new")
    assert bound.takes(bound.member, "old")
    assert not bound.takes(bound.member, "")


def scans(bound: Bound, *, given: bool = True, path: str = "/scans") -> None:
    """A version of a personal dataset of somebody else's lies in the readers' folder."""
    bound.personal()
    for name in ("scans", "scans/old", "free"):
        (bound.place.project / name).mkdir()
        own_file(bound.place.project / name, ANA, 0o2777)
    for name in ("scans/one", "scans/old/two", "scansbeside"):
        bound.file(name)
    if given:
        bound.grant()
    dataset = Dataset.objects.get(pk=bound.dataset.pk)
    versions.add(dataset=dataset, label="v2", path=f"{bound.users.folder}{path}", by=bound.steward)


def test_bound_data_that_lie_in_the_folder_are_bound_there_too(bound: Bound) -> None:
    scans(bound)
    assert not bound.reads(bound.member, "scans/one")
    assert bound.reads(bound.member, "scansbeside")
    for folder in ("scans", "scans/old", ""):
        assert not bound.takes(bound.member, folder), folder
    assert bound.takes(bound.member, "free")


@pytest.mark.parametrize("path", ["", "/.."])
def test_data_that_lie_in_the_whole_folder_bind_all_of_it(bound: Bound, path: str) -> None:
    scans(bound, path="")
    if path:
        DatasetVersion.objects.filter(label="v2").delete()
        around = Path(bound.users.folder).parent
        versions.add(dataset=bound.dataset, label="v3", path=str(around), by=bound.steward)
    assert not bound.reads(bound.member, "scans/one")
    assert not bound.reads(bound.member, "scansbeside")
    assert not bound.takes(bound.member, "free")


def test_data_of_which_the_project_knows_nothing_bind_nothing_in_its_folder(bound: Bound) -> None:
    scans(bound, given=False)
    assert bound.reads(bound.member, "scans/one")
    assert bound.takes(bound.member, "")


def test_bound_data_are_not_moved_out_of_their_rules(bound: Bound) -> None:
    scans(bound)

    def moves(path: str, to: str) -> bool:
        try:
            changing.rename(project=bound.users, by=bound.member, path=path, to=to)
        except Refused:
            return False
        return True

    for path, to in (("scans/one", "free/one"), ("scans/old", "free/old"), ("scans", "free/scans")):
        assert not moves(path, to), path
    assert moves("scans/one", "scans/old/one")
    assert moves("scansbeside", "free/beside")
    assert not bound.reads(bound.member, "scans/old/one")
    terms.accept(dataset=bound.dataset, number=1, by=bound.member)
    assert moves("scans/old/one", "free/one")


def test_without_bound_data_nothing_is_asked_of_the_door(bound: Bound) -> None:
    bound.approved()
    bound.file("new")
    assert bound.takes(bound.member, "")
