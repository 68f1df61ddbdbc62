"""A project with everything it takes to submit, and the fake cluster that knows its people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cluster import slurm_door
from jobs import services
from jobs.models import Job
from jobs.services import handing, people
from quotas.models import Enforcement
from slurm import fake
from tests.factories import make_allocation, make_cluster, make_member, make_project

RAW = {"name": "treino", "partition": "gpu", "gpus": 2, "time_limit_minutes": 60, "script": "#!/bin/bash\ntrue\n"}


class Bench:
    """One project, one allocation, one member."""

    def __init__(self, **allocation: Any) -> None:
        self.cluster = make_cluster()
        self.project = make_project()
        self.allocation = make_allocation(self.project, **allocation)
        self.user = make_member(self.project)

    def submit(self, key: str | None = None, **changes: Any) -> Job:
        spec, allocation = services.prepare(RAW | changes, project=self.project)
        return services.submit(
            project=self.project, spec=spec, allocation=allocation, by=self.user, idempotency_key=key
        )


@pytest.fixture
def bench(db: None) -> Bench:
    return Bench()


@pytest.fixture
def cluster(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[fake.Cluster]:
    """The fake cluster under settings.SLURM_URL; the member is known there, and the directory says so."""
    known = fake.reset("unit")
    known.open_account(
        bench.project.slurm_account, users={bench.user.username: bench.user.uid_number or 0},
        partitions=bench.project.partitions, qos=bench.allocation.qos,
    )  # fmt: skip
    Enforcement.objects.create(project=bench.project, change_applied=10**6)  # the accounting is not what is tried here
    slurm_door.gateway.cache_clear()
    slurm_door.accounts.cache_clear()
    monkeypatch.setitem(handing._good, "until", 0.0)
    monkeypatch.setattr(
        people, "identity", lambda user, *_: people.Identity(user.username, user.uid_number, "/home/x", "/bin/bash")
    )
    yield known
    slurm_door.gateway.cache_clear()
    slurm_door.accounts.cache_clear()
