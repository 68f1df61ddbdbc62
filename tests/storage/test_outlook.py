"""Whether a job's output will fit, said before it is sent: by the last one of its name and what the door says is left."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from files.answers import Refused
from files.client import Door, DoorDown, Limit
from files.client import Room as Left
from jobs.models import Handover, HandoverOutcome, Job
from jobs.services.planning import output
from storage.services import passes
from tests.api import Caller, issue
from tests.factories import make_allocation, make_cluster
from tests.pages import signed_in
from tests.storage.conftest import Room
from tests.storage.test_submit_files import form

MB = 1024**2
PLENTY = Left(900 * 1024 * MB, 1000 * 1024 * MB, 10**6)


@pytest.fixture
def ready(room: Room) -> Room:
    """With a cluster, something to spend, and a job of that name that wrote 100 MB half an hour ago."""
    output.forget()
    now, cluster = timezone.now(), make_cluster()
    job = Job.objects.create(
        cluster=cluster, project=room.project, owner=room.ana, owner_login=room.ana.username, name="treino",
        allocation=make_allocation(room.project), partition="gpu", digest="0" * 64, phase="ended", state="completed",
        started_at=now - timedelta(hours=1), ended_at=now - timedelta(minutes=30),
    )  # fmt: skip
    Handover.objects.create(
        job=job, cluster=cluster, outcome=HandoverOutcome.ACCEPTED, uid=room.ana.uid_number, slurm_job_id=7,
        working_directory=str(room.folder), accepted_at=now,
    )  # fmt: skip
    path = room.place.write("model.ckpt", b"")
    os.truncate(path, 100 * MB)
    os.utime(path, (time.time() - 40 * 60,) * 2)
    return room


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the door says is left, and each time it was asked."""
    told: list[Any] = [PLENTY, []]

    def bounds(self: Door, path: str = "") -> tuple[Left, list[Limit]]:
        told.append(path)
        if isinstance(told[0], Exception):
            raise told[0]
        return told[0], told[1]

    monkeypatch.setattr(Door, "bounds", bounds)
    return told


def look(room: Room, **more: Any) -> str:
    """What the submit page says while it is filled in."""
    asked = signed_in(room.ana).post("/jobs/new/check?look=1", form(**more), HTTP_ACCEPT_LANGUAGE="en")
    return " ".join(unescape(asked.content.decode()).replace("\xa0", " ").split())


def test_what_the_last_one_of_its_name_wrote_is_held_against_what_is_left(ready: Room, left: list[Any]) -> None:
    left[0] = Left(80 * MB, 1000 * MB, 10**6)
    text = look(ready)
    assert (
        "may not fit. Going by the last job of this name it writes 100.0 MB. 80.0 MB are free on the file system."
        in text
    )
    assert "Valid request" in text
    assert "may not fit" not in look(ready, name="another")


def test_a_storage_limit_counts_like_a_disk(ready: Room, left: list[Any]) -> None:
    left[1] = [Limit("user", 970 * MB, 1000 * MB, 1, 0), Limit("group", 0, 10**15, 1, 0)]
    assert "30.0 MB of your storage limit are left. Delete old" in look(ready)


def test_of_a_sweep_every_task_writes(ready: Room, left: list[Any]) -> None:
    left[0] = Left(700 * MB, 1000 * MB, 10**6)
    assert "may not fit" not in look(ready)
    assert "writes 800.0 MB" in look(ready, array="0-7")


def test_nothing_is_said_where_it_fits_or_nothing_is_known(ready: Room, left: list[Any]) -> None:
    assert "may not fit" not in look(ready)
    for trouble in (DoorDown("away"), Refused("busy")):
        output.forget()
        left[0] = trouble
        text = look(ready)
        assert "may not fit" not in text
        assert "Valid request" in text


def test_hardly_anything_left_is_said_of_a_first_job_too(ready: Room, left: list[Any]) -> None:
    left[0] = Left(3 * MB, 1000 * MB, 10**6)
    assert "may not fit. 3.0 MB are free" in look(ready, name="first")


def test_the_door_is_asked_once_a_minute_also_where_it_fails(ready: Room, left: list[Any]) -> None:
    for trouble in (PLENTY, DoorDown("away")):
        output.forget()
        left[:] = [trouble, []]
        for n in range(4):
            look(ready, name=f"another {n}")
        assert len(left) == 3


def test_a_worker_that_does_not_sign_holds_nobody_up(ready: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "ring", lambda task: None)
    monkeypatch.setattr(passes, "HASTE", 0.05)
    waits: list[float] = []
    real = passes._wait

    def wait(*args: Any, **more: Any) -> str:
        waits.append(args[3])
        return real(*args, **more)

    monkeypatch.setattr(passes, "_wait", wait)
    assert "Valid request" in look(ready)
    assert waits and set(waits) == {0.05}


def test_without_a_door_nobody_is_asked(ready: Room, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.FILES_SOCKET = "/nowhere/files.sock"
    monkeypatch.setattr(output, "_kept", lambda *_: 1 / 0)
    assert "Valid request" in look(ready)


def test_the_api_says_it_too(ready: Room, left: list[Any]) -> None:
    left[0] = Left(80 * MB, 1000 * MB, 10**6)
    asked = {"project": "ipe", "name": "treino", "partition": "gpu", "gpus": 1, "script": "#!/bin/bash\ntrue\n"}
    answer = Caller(issue(ready.ana)).post("/jobs/advice", asked).json()
    assert answer["valid"]
    assert "80.0" in answer["warnings"][0].replace("\xa0", " ").replace(",", ".")
