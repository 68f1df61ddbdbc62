"""A project with people, and the fake cluster its accounts are applied to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster import slurm_door
from projects.models import Project
from quotas.services import ticks
from slurm import fake
from tests.factories import make_project


@pytest.fixture
def project(db: None) -> Project:
    return make_project(partitions=["gpu", "prep"])


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake.Cluster]:
    """The fake cluster under settings.SLURM_URL, whose name service knows everybody but those called nobody*."""
    known = fake.reset("unit")
    for door in (slurm_door.gateway, slurm_door.accounts):
        door.cache_clear()
    monkeypatch.setattr(ticks, "on_system", lambda login: not login.startswith("nobody"))
    yield known
    for door in (slurm_door.gateway, slurm_door.accounts):
        door.cache_clear()
