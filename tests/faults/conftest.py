"""The running stack BANCADA_STACK names, whole again after every test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.place import Client, Place, until

CARD = os.environ.get("BANCADA_STACK", "")
GROUND = (
    "postgres", "redis-broker", "redis-hints", "slapd", "slurmctld", "slurmrestd",
    "signer", "opener", "reader", "web", "live", "worker-slurm", "worker-default", "beat", "follower",
)  # fmt: skip


@pytest.fixture(scope="session")
def stack() -> Place:
    if not CARD:
        pytest.skip("BANCADA_STACK names no running stack")
    return Place(Path(CARD))


@pytest.fixture
def place(stack: Place) -> Iterator[Place]:
    """Before and after: everything runs, nothing is queued."""
    whole(stack)
    yield stack
    whole(stack)


def whole(place: Place) -> None:
    """Start what is down, end what still runs, wait until the portal says it is ready."""
    place.stack("start", *GROUND)
    door = Client(place.host)
    until(lambda: door.get("/readyz").status == 200, seconds=60, what="the portal is ready")
    place.inside_as("root", "scancel", "--quiet", "--me", "--state=PENDING")
    settled(place, 120)


def settled(place: Place, seconds: float) -> None:
    """No job of the portal is under way any more."""
    open_ones = "SELECT count(*) FROM jobs_job WHERE phase IN ('requested', 'handing', 'confirming', 'accepted')"
    until(lambda: place.one(open_ones) == 0, seconds=seconds, what="the portal has no job under way", every=1)
