"""What a job wrote: its owner's files, changed in its folder while it ran, newest first; and what is old."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs import services
from jobs.models import Handover, HandoverOutcome, Job
from jobs.services import people, submissions
from jobs.specs import BadSpec
from tests.factories import make_allocation, make_cluster
from tests.files.door import BETO
from tests.pages import signed_in
from tests.storage.conftest import Room

EN = {"HTTP_ACCEPT_LANGUAGE": "en"}


@pytest.fixture
def job(room: Room) -> Job:
    """ANA's job, that ran from an hour to half an hour ago in `run7`."""
    now = timezone.now()
    cluster = make_cluster()
    made = Job.objects.create(
        cluster=cluster, project=room.project, owner=room.ana, owner_login=room.ana.username, name="treino",
        allocation=make_allocation(room.project), partition="gpu", digest="0" * 64, phase="ended", state="completed",
        started_at=now - timedelta(hours=1), ended_at=now - timedelta(minutes=30),
    )  # fmt: skip
    (room.folder / "run7").mkdir()
    os.chown(room.folder / "run7", int(room.ana.uid_number or 0), -1)
    Handover.objects.create(
        job=made, cluster=cluster, outcome=HandoverOutcome.ACCEPTED, uid=room.ana.uid_number, slurm_job_id=7,
        working_directory=f"{room.folder}/run7", accepted_at=now,
    )  # fmt: skip
    return made


def write(room: Room, name: str, minutes: int, **more: int) -> None:
    """A file changed so many minutes ago."""
    path = room.place.write(name, b"x" * 1000, mode=0o664, **more)
    os.utime(path, (time.time() - minutes * 60,) * 2)


def test_what_its_owner_changed_in_its_folder_while_it_ran(room: Room, job: Job) -> None:
    for name, minutes in (("run7/last.ckpt", 31), ("run7/first.png", 55), ("run7/before", 90), ("run7/after", 5)):
        write(room, name, minutes)
    write(room, "run7/anothers", 40, uid=BETO)
    write(room, "elsewhere", 40)
    text = signed_in(room.ana).get(f"/jobs/{job.pk}/files", **EN).content.decode()
    assert text.index("run7/last.ckpt") < text.index("run7/first.png")
    assert "training checkpoint" in text
    assert "2 files changed by their owner while it ran, 2.0" in text
    for name in ("before", "after", "anothers", "elsewhere"):
        assert name not in text.replace("elsewhere.", "")
    assert "/jobs/new?project=ipe&amp;folder=run7" in text
    assert "folder=run7" not in signed_in(room.beto).get(f"/jobs/{job.pk}/files", **EN).content.decode()
    assert "?tab=files" in signed_in(room.ana).get(f"/jobs/{job.pk}", **EN).content.decode()


def test_a_job_starts_in_the_folder_it_names_where_its_person_may_write(room: Room) -> None:
    make_cluster()
    make_allocation(room.project)
    (room.folder / "run8").mkdir()
    asked = {"name": "treino", "partition": "gpu", "gpus": 1, "script": "#!/bin/bash\ntrue\n", "folder": "run8"}
    with pytest.raises(BadSpec) as error:
        services.prepare(asked, project=room.project, by=room.ana)
    assert "may not write" in error.value.errors["folder"][0]
    os.chown(room.folder / "run8", int(room.ana.uid_number or 0), -1)
    spec, allocation = services.prepare(asked, project=room.project, by=room.ana)
    made = services.submit(project=room.project, spec=spec, allocation=allocation, by=room.ana)
    who = people.Identity(room.ana.username, int(room.ana.uid_number or 0), "/home/x", "/bin/sh")
    sent = submissions.submission_of(made, Handover(job=made), who)
    assert sent.working_directory == f"{room.folder}/run8"
    assert sent.standard_output.startswith(f"{room.folder}/logs/")
    for folder in ("nowhere", "../other"):
        with pytest.raises(BadSpec) as error:
            services.prepare(asked | {"folder": folder}, project=room.project, by=room.ana)
        assert list(error.value.errors) == ["folder"]


def test_the_submit_page_takes_the_folder_from_its_address_and_from_a_job_before(room: Room) -> None:
    make_cluster()
    make_allocation(room.project)
    (room.folder / "run8").mkdir()
    os.chown(room.folder / "run8", int(room.ana.uid_number or 0), -1)
    browser = signed_in(room.ana)
    assert (
        "/jobs/new?project=ipe&amp;folder=run8" in browser.get("/projects/ipe/files?path=run8", **EN).content.decode()
    )
    assert 'value="run8"' in browser.get("/jobs/new?project=ipe&folder=run8", **EN).content.decode()
    asked = {"project": "ipe", "name": "treino", "partition": "gpu", "gpus": "1", "nodes": "1", "cpus": "1",
             "memory_gb": "4", "time_limit_minutes": "10", "script": "#!/bin/bash\ntrue\n"}  # fmt: skip
    wrong = browser.post("/jobs/new", asked | {"folder": "nowhere"}, **EN)
    assert (wrong.status_code, Job.objects.count()) == (422, 0)
    assert browser.post("/jobs/new", asked | {"folder": "run8"}, **EN).status_code == 302
    made = Job.objects.get()
    assert made.asked.folder == "run8"
    assert 'value="run8"' in browser.get(f"/jobs/new?like={made.pk}", **EN).content.decode()


def test_one_that_has_not_begun_says_so(room: Room, job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(started_at=None)
    assert "once it runs" in signed_in(room.ana).get(f"/jobs/{job.pk}/files", **EN).content.decode()


def test_old_training_checkpoints_of_ones_own_are_named(room: Room) -> None:
    write(room, "old.pt", 100 * 24 * 60)
    write(room, "old.py", 100 * 24 * 60)
    write(room, "new.pt", 5)
    write(room, "betos.pt", 100 * 24 * 60, uid=BETO)
    text = signed_in(room.ana).get("/projects/ipe/files/use", **EN).content.decode()
    assert "4 files" in text
    assert "of training checkpoints older than 90 days" in text
    assert ">old.pt<" in text
    assert "betos.pt" not in text
