"""What an auditor is answered about data: who could use it on a day; what is held on a person; a manifest by a job."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from access.roles import Role
from audit import could, persons, things
from audit.could import Asked
from datasets.services import asking, registering, terms, versions
from jobs.models import Job, Phase
from jobs.services import manifests, reading
from logs.chunks import Chunk
from projects import services as projects
from tests.conftest import Roles
from tests.datasets.conftest import Shelf
from tests.factories import make_allocation, make_cluster


def users_of(at: Any, **asked: str) -> set[tuple[str, str]]:
    return {(one.login, one.role) for one in could.answer(Asked(at, **asked)) if one.kind == "dataset"}


def test_who_could_use_it_on_a_day(shelf: Shelf) -> None:
    begin = timezone.now()
    with time_machine.travel(begin, tick=True):
        shelf.approved()
        grant = shelf.grant()
    with time_machine.travel(begin + timedelta(days=5), tick=True):
        row = shelf.users.memberships.get(user=shelf.member)
        projects.remove_member(membership=row, by=None)
        registering.change_steward(dataset=shelf.dataset, steward=shelf.owner_pi, by=None)
    with time_machine.travel(begin + timedelta(days=10), tick=True):
        asking.revoke(grant=grant, by=shelf.owner_pi, why="It is over.")
    day = lambda n: begin + timedelta(days=n, minutes=1)  # noqa: E731
    assert users_of(begin - timedelta(days=1)) == set()
    assert users_of(day(1), dataset="atlas") == {
        ("curadora", "steward"), ("coordenador", "research"), ("membro", "research"),
    }  # fmt: skip
    answering = (shelf.owner_pi.username, "steward")
    assert users_of(day(6), project="arquivo") == {answering, ("coordenador", "research")}
    assert users_of(day(6), person="membro") == set()
    assert users_of(day(11), dataset="atlas") == {answering}
    assert things.find("dataset", "atlas") == shelf.dataset


def test_what_is_held_on_a_person_and_what_stands_against_taking_their_name(shelf: Shelf) -> None:
    shelf.personal()
    shelf.grant(to_person=shelf.member)
    terms.accept(dataset=shelf.dataset, number=1, by=shelf.member)
    held = {section.where: section.rows for section in persons.told(shelf.member)}
    assert held["datasets_grantrequest, datasets_grant"][0][1] == "atlas"
    assert held["datasets_acceptance"][0][1:] == ("atlas", 1)
    assert any("atlas" in str(reason) for reason in persons.against(shelf.steward))


def test_a_job_makes_the_manifest_and_its_output_is_kept(
    shelf: Shelf, roles: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_cluster()
    make_allocation(shelf.home)
    projects.add_member(project=shelf.home, user=shelf.steward, role=Role.RESEARCHER, by=None)
    line = f"{hashlib.sha256(b'x').hexdigest()} 1 a.txt\n"
    whole = f"{line}bancada-manifest sha256={hashlib.sha256(line.encode()).hexdigest()} files=1 bytes=1\n".encode()
    roles.use("web")
    job = manifests.measure(version=shelf.version, project=shelf.home, by=shelf.steward)
    assert (job.partition, job.gpus) == ("prep", 0) and "/srv/data/atlas/v1" in job.script
    shelf.version.refresh_from_db()
    with pytest.raises(versions.NoManifest):  # not over yet
        manifests.keep(version=shelf.version, by=shelf.steward)
    roles.use(None)
    for phase, state in ((Phase.HANDING, "handing"), (Phase.ACCEPTED, "running"), (Phase.ENDED, "completed")):
        Job.objects.filter(pk=job.pk).update(phase=phase, state=state)
    roles.use("web")
    asked = list[int]()

    def read(*, offset: int, limit: int, **_: Any) -> Chunk:
        asked.append(offset)
        return Chunk(whole[offset : offset + limit], offset, len(whole), "g", "open", 0.0)

    monkeypatch.setattr(reading, "read", read)
    monkeypatch.setattr(manifests, "PIECE", 50)  # however long, it is read piece by piece
    kept = manifests.keep(version=shelf.version, by=shelf.steward)
    assert asked == list(range(0, len(whole), 50))
    assert (kept.files, kept.size, kept.manifest) == (1, 1, line)
