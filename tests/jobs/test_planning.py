"""Advice before a request is sent: an estimate from rooms and times, the smallest change, windows, quota, data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.models import Maintenance, Node
from jobs import services
from jobs.models import Handover, Job, Run
from jobs.services import planning
from jobs.services.planning import picture
from jobs.services.planning.rooms import FOR_EVER, Demand, Room, Rooms
from jobs.states import Phase, State
from quotas.models import Allocation
from tests.api import Caller, issue
from tests.jobs.conftest import RAW, Bench

TWO = frozenset({"a", "b"})
NODE = (8, 100, 4)


def rooms(**free: tuple[int, int, int]) -> Rooms:
    return Rooms({name: Room(0.0, amounts, NODE, ["a100"]) for name, amounts in free.items()})


def demand(gpus: int, *, nodes: int = 1, seconds: float = 60.0, kind: str = "a100") -> Demand:
    return Demand(TWO, nodes, (1, 1, gpus), seconds, kind)


def test_it_starts_where_there_is_room_and_else_when_a_job_ends() -> None:
    known = rooms(a=(8, 100, 0), b=(8, 100, 2))
    assert known.first(demand(2)) == (0.0, ["b"]) and known.first(demand(3)) is None
    known.rooms["a"].give_back(300.0, (4, 10, 4))
    assert known.first(demand(3)) == (300.0, ["a"])
    assert known.first(demand(2, nodes=2)) == (300.0, ["a", "b"]) or known.first(demand(2, nodes=2))[0] == 300.0  # type: ignore[index]
    assert known.first(demand(1, kind="h100")) is None


def test_a_short_job_goes_before_one_that_waits_for_room_and_a_long_one_does_not() -> None:
    known = rooms(a=(8, 100, 1))
    known.rooms["a"].give_back(600.0, (0, 0, 3))
    assert known.place(demand(4, seconds=100)) == 600.0
    assert known.first(demand(1, seconds=600)) == (0.0, ["a"])
    assert known.first(demand(1, seconds=601)) == (700.0, ["a"])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(1, 900)), max_size=12))
def test_no_moment_gives_more_than_a_node_has(jobs: list[tuple[int, int, int]]) -> None:
    known = rooms(a=NODE, b=NODE)
    placed = [
        (known.place(demand(gpus, nodes=nodes, seconds=seconds)), gpus, nodes, seconds) for gpus, nodes, seconds in jobs
    ]
    assert all(start is not None for start, *_rest in placed)
    for room in known.rooms.values():
        assert all(0 <= one <= most for step in room.free for one, most in zip(step, NODE, strict=True))
    last = max([0.0, *(start + seconds for start, _g, _n, seconds in placed if start is not None)])
    assert known.first(Demand(TWO, 2, NODE, FOR_EVER, "a100"))[0] == last  # type: ignore[index]


@pytest.fixture
def asking(bench: Bench) -> Any:
    """What is advised of a request of the member's, by the picture of now."""

    def ask(**changes: Any) -> planning.Advice:
        picture.forget()
        spec, allocation = services.prepare(RAW | changes, project=bench.project)
        return planning.advise(spec=spec, allocation=allocation, project=bench.project, by=bench.user)

    return ask


def occupied(bench: Bench, minutes: int) -> Job:
    """Both nodes of the partition are taken by one job for so many minutes more."""
    job = bench.submit(gpus=4, nodes=2, time_limit_minutes=minutes)
    for phase in (Phase.HANDING, Phase.ACCEPTED):
        Job.objects.filter(pk=job.pk).update(state=State.RUNNING, phase=phase, started_at=timezone.now())
    handover = Handover.objects.create(job=job, cluster=bench.cluster, attempt=1, token="0" * 32)
    Run.objects.create(handover=handover, started_at=timezone.now(), node_list="gpu[01-02]")
    Node.objects.filter(name__startswith="gpu").update(gpus_allocated=4, cpus_allocated=1, memory_allocated_mb=4096)
    return job


def minutes_off(found: datetime | None) -> float:
    assert found is not None
    return (found - datetime.now(UTC)).total_seconds() / 60


def test_an_empty_cluster_starts_now(asking: Any) -> None:
    found = asking()
    assert found.is_now and not found.sooner and not found.refusals and found.window is None


def test_a_full_one_when_the_job_there_reaches_its_limit_and_no_earlier(bench: Bench, asking: Any) -> None:
    occupied(bench, 90)
    found = asking()
    assert not found.is_now and 85 < minutes_off(found.starts_at) < 91


def test_half_the_gpus_would_start_now_and_the_smallest_such_change_is_named(bench: Bench, asking: Any) -> None:
    occupied(bench, 90)
    Node.objects.filter(name="gpu01").update(gpus_allocated=1)
    Allocation.objects.update(gpus_at_once=64)
    found = asking(gpus=4)
    assert [(one.field, one.value, one.is_now) for one in found.sooner] == [("gpus", 3, True)]


def test_who_asked_before_goes_before(bench: Bench, asking: Any) -> None:
    occupied(bench, 60)
    waiting = bench.submit(gpus=4, nodes=2, time_limit_minutes=30)
    assert 85 < minutes_off(asking(gpus=4).starts_at) < 91
    Job.objects.filter(pk=waiting.pk).update(reason="Dependency")
    assert 55 < minutes_off(asking(gpus=4).starts_at) < 61


def test_who_waits_takes_its_room_when_slurm_means_to_start_it(bench: Bench, asking: Any) -> None:
    occupied(bench, 60)
    waiting = bench.submit(gpus=4, nodes=2, time_limit_minutes=30)
    Job.objects.filter(pk=waiting.pk).update(planned_at=timezone.now() + timedelta(minutes=120))
    assert 55 < minutes_off(asking(gpus=4, time_limit_minutes=50).starts_at) < 61
    assert 145 < minutes_off(asking(gpus=4, time_limit_minutes=70).starts_at) < 151


def test_ones_own_limit_of_gpus_at_once_is_waited_for(db: None) -> None:
    bench = Bench(gpus_at_once=8)
    occupied(bench, 45)
    Node.objects.update(gpus_allocated=0)  # room there would be
    picture.forget()
    spec, allocation = services.prepare(RAW, project=bench.project)
    found = planning.advise(spec=spec, allocation=allocation, project=bench.project, by=bench.user)
    assert 40 < minutes_off(found.starts_at) < 46


def test_a_window_is_waited_for_or_gone_before(bench: Bench, asking: Any) -> None:
    now = timezone.now()
    facts = {"cluster": bench.cluster, "asked_by": bench.user, "reason_en": "cooling", "reason_pt": "frio"}
    Maintenance.objects.create(starts_at=now + timedelta(hours=2), ends_at=now + timedelta(hours=3), **facts)
    found = asking(time_limit_minutes=240)
    assert found.window_minutes in (118, 119) and 175 < minutes_off(found.starts_at) < 181
    assert {one.field for one in found.sooner} == {"time_limit_minutes"}
    assert asking(time_limit_minutes=100).window is None


def test_more_than_there_is_never_fits_and_nodes_out_of_service_do_not_count(bench: Bench, asking: Any) -> None:
    Node.objects.filter(name__startswith="gpu").update(states=["DOWN"])
    found = asking()
    assert found.starts_at is None and not found.is_now


def test_what_quota_and_data_refuse_is_said_before_and_nothing_is_written(db: None) -> None:
    bench = Bench(longest_minutes=30)
    picture.forget()
    spec, allocation = services.prepare(RAW | {"datasets": "torax"}, project=bench.project)
    found = planning.advise(spec=spec, allocation=allocation, project=bench.project, by=bench.user)
    assert [field for field, _why in found.refusals] == ["time_limit_minutes", "datasets"]
    assert not Job.objects.exists()


def test_the_same_question_is_answered_from_the_same_look(bench: Bench) -> None:
    picture.forget()
    spec, allocation = services.prepare(RAW, project=bench.project)
    about: dict[str, Any] = {"spec": spec, "allocation": allocation, "project": bench.project, "by": bench.user}
    planning.advise(**about)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        planning.advise(**about)
    assert not [row for row in queries if "cluster_node" in row["sql"] or "jobs_run" in row["sql"]]


def test_over_the_api(bench: Bench) -> None:
    picture.forget()
    caller = Caller(issue(bench.user))
    body = RAW | {"project": bench.project.code}
    said = caller.post("/jobs/advice", body).json()
    assert said["valid"] and said["gpu_minutes"] == 120 and said["starts_at"] and said["errors"] == {}
    assert caller.post("/jobs/advice", body | {"gpus": 99}).status_code == 422
    assert not Job.objects.exists()
