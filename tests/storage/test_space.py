"""A project's storage on its page, and the warning before a job whose output will not fit."""

from __future__ import annotations

import os
import time

import pytest

from audit.actions import Action
from audit.models import AuditEvent
from files.client import Limit, Room
from storage.services import space
from storage.services.space import Shortage
from tests.files.door import BETO
from tests.pages import signed_in
from tests.storage.conftest import Room as Place

PAGE = "/projects/ipe/files/storage"
GB = 10**9


@pytest.mark.parametrize(
    ("needed", "free", "limits", "short"),
    [
        (5 * GB, 9 * GB, [], None),
        (9 * GB, 9 * GB, [], None),
        (10 * GB, 9 * GB, [], Shortage(10 * GB, 9 * GB, "disk")),
        (5 * GB, 9 * GB, [Limit("group", 8 * GB, 10 * GB, 0, 0)], Shortage(5 * GB, 2 * GB, "group")),
        (5 * GB, 9 * GB, [Limit("group", 12 * GB, 10 * GB, 0, 0)], Shortage(5 * GB, 0, "group")),
        (5 * GB, 9 * GB, [Limit("user", 8 * GB, 0, 5, 9)], None),
        (5 * GB, 9 * GB, [Limit("user", 0, 4 * GB, 0, 0), Limit("folder", 0, 3 * GB, 0, 0)], Shortage(5 * GB, 3 * GB, "folder")),
    ],
)  # fmt: skip
def test_the_tightest_bound_counts(needed: int, free: int, limits: list[Limit], short: Shortage | None) -> None:
    assert space.tightest(needed, Room(free, 10 * GB, 1), limits) == short


def test_an_output_that_will_not_fit_is_known_before(room: Place) -> None:
    there = os.statvfs(room.folder)
    assert space.shortage(project=room.project, by=room.ana, needed=0) is None
    short = space.shortage(project=room.project, by=room.ana, needed=there.f_blocks * there.f_frsize + 1)
    assert short is not None
    assert short.left < short.needed


def test_the_page_says_what_lies_there_whose_and_who_grows(room: Place) -> None:
    old = room.place.write("old", b"x" * 4000, mode=0o664)
    os.utime(old, (time.time() - 30 * 86400,) * 2)
    room.place.write("new", b"y" * 2000, mode=0o664)
    room.place.write("betos", b"z" * 900, uid=BETO, mode=0o664)
    text = " ".join(
        signed_in(room.ana).get(PAGE, HTTP_ACCEPT_LANGUAGE="en").content.decode().replace("\xa0", " ").split()
    )
    assert "3 files, 6.7 KB, that you can see." in text
    assert "Written in the last 7 days: 2.8 KB." in text
    assert f"Most of it by {room.ana.name}: 2.0 KB." in text
    assert text.index(room.ana.name) < text.rindex(room.beto.name)
    assert "storage limit" not in text


def test_everybodys_part_is_taken_away_and_that_is_recorded(room: Place) -> None:
    room.place.write("new", b"y" * 2000, mode=0o664)
    room.place.write("betos", b"z" * 900, uid=BETO, mode=0o664)
    type(room.beto).objects.filter(pk=room.beto.pk).update(display_name="=1+1")
    client = signed_in(room.ana)
    assert "files/storage.csv" in client.get(PAGE).text
    answer = client.get(f"{PAGE}.csv", HTTP_ACCEPT_LANGUAGE="en")
    head, *lines = b"".join(answer.streaming_content).decode().lstrip("\ufeff").splitlines()  # type: ignore[attr-defined]
    assert head == "login,name,files,size (bytes),last 7 days (bytes),counted to the end"
    assert lines == [
        f"{room.ana.username},{room.ana.name},1,2000,2000,yes", f"{room.beto.username},'=1+1,1,900,900,yes",
    ]  # fmt: skip
    [event] = AuditEvent.objects.filter(action=Action.REPORT_READ)
    assert (event.detail["table"], event.project_code) == ("storage", "ipe")


def test_a_quota_that_is_nearly_used_up_is_said(room: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    real = space.of_project(project=room.project, by=room.ana)
    room.place.write("f", b"x")
    limits = [Limit("group", 95 * GB, 100 * GB, 7, 1000), Limit("user", GB, 100 * GB, 0, 0)]

    class Door:
        def __enter__(self) -> Door:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def census(self, *, since: int) -> object:
            share = space.Share(0, 1, 1, 0)
            return type(real.census)([share], False, limits, real.census.room)

    monkeypatch.setattr(space.passes, "door", lambda *_, **__: Door())
    text = " ".join(
        signed_in(room.ana).get(PAGE, HTTP_ACCEPT_LANGUAGE="en").content.decode().replace("\xa0", " ").split()
    )
    assert "storage limit of the group <b>88.5 GB of 93.1 GB</b>" in text
    assert "7 of 1,000 files" in text
    assert text.count("nearly reached") == 1
    assert "system" in text


def test_an_empty_folder_says_what_to_do(room: Place) -> None:
    assert "Upload your script" in signed_in(room.ana).get(PAGE, HTTP_ACCEPT_LANGUAGE="en").content.decode()


def test_it_asks_little(room: Place, django_assert_max_num_queries: object) -> None:
    room.place.write("f", b"x")
    client = signed_in(room.ana)
    client.get(PAGE)
    with django_assert_max_num_queries(8):
        client.get(PAGE)
