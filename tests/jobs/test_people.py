"""Before the worker acts: membership anew each time, the directory's word at most a few seconds old."""

from __future__ import annotations

import pwd
import time
from types import SimpleNamespace

import pytest
from django.utils import timezone

from access.permissions import Permission
from accounts import lookup
from accounts.lookup import DirectoryDown
from jobs.services import people
from projects.models import Membership
from tests.jobs.conftest import Bench


class Directory:
    """The directory and the system of one person; `asked` counts."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.clock = 0, 1000.0
        self.entry: SimpleNamespace | None = SimpleNamespace(
            directory_id=bench.user.directory_id, locked=False, uid_number=bench.user.uid_number
        )
        row = SimpleNamespace(pw_uid=bench.user.uid_number, pw_dir="/home/x", pw_shell="/bin/bash")
        monkeypatch.setattr(pwd, "getpwnam", lambda name: row)
        monkeypatch.setattr(lookup, "directory_entry", self.answer)
        monkeypatch.setattr(time, "monotonic", lambda: self.clock)
        monkeypatch.setattr(people, "_known", {})

    def answer(self, login: str) -> SimpleNamespace | None:
        self.asked += 1
        return self.entry


@pytest.fixture
def directory(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Directory:
    return Directory(bench, monkeypatch)


def _identity(bench: Bench) -> people.Identity:
    return people.identity(bench.user, bench.project, Permission.JOB_SUBMIT)


def test_a_burst_asks_the_directory_once(bench: Bench, directory: Directory) -> None:
    for _ in range(5):
        assert _identity(bench).login == bench.user.username
        directory.clock += 0.7
    assert directory.asked == 1


def test_who_is_locked_or_gone_in_the_directory_is_not_acted_for_within_five_seconds(
    bench: Bench, directory: Directory
) -> None:
    _identity(bench)
    assert directory.entry is not None
    directory.entry.locked = True
    directory.entry = None
    directory.clock += people.REMEMBERED
    assert people.REMEMBERED < 5
    with pytest.raises(people.MayNot):
        _identity(bench)


def test_a_bad_answer_is_not_remembered(bench: Bench, directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    assert directory.entry is not None
    directory.entry.locked = True
    with pytest.raises(people.MayNot):
        _identity(bench)
    directory.entry.locked = False
    assert _identity(bench).uid == bench.user.uid_number

    def down(login: str) -> None:
        raise DirectoryDown("no answer")

    monkeypatch.setattr(lookup, "directory_entry", down)
    directory.clock += people.REMEMBERED
    with pytest.raises(DirectoryDown):
        _identity(bench)


def test_a_membership_that_ended_counts_at_once(bench: Bench, directory: Directory) -> None:
    _identity(bench)
    Membership.objects.filter(user=bench.user).update(ends_at=timezone.now())
    with pytest.raises(people.MayNot):
        _identity(bench)


def test_what_is_remembered_is_bounded(bench: Bench, directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "MOST_KNOWN", 1)
    people._known["somebody"] = (0.0, directory.entry)  # type: ignore[assignment]
    _identity(bench)
    assert list(people._known) == [bench.user.username]
