"""Jobs that wait for others: in what order they are handed over, what Slurm is told, and what can never start."""

from __future__ import annotations

import dataclasses

import pytest

from jobs.models import Job, Phase
from jobs.services import dependencies, following, handing, submissions
from jobs.states import State
from slurm import fake
from slurm.contract import JobRecord, Submission
from tests.jobs.conftest import Bench


def after(kind: str, job: Job) -> list[dict[str, str]]:
    return [{"kind": kind, "job": str(job.pk)}]


def look(cluster: fake.Cluster, bench: Bench) -> None:
    bench.cluster.refresh_from_db()
    following.look_at_jobs(cluster.gateway(), bench.cluster)


def test_it_is_handed_over_after_the_one_it_waits_for(bench: Bench, cluster: fake.Cluster) -> None:
    first = bench.submit()
    second = bench.submit(after=after("ok", first))
    assert handing.hand_over() == 2
    first.refresh_from_db()
    second.refresh_from_db()
    assert second.phase == Phase.ACCEPTED
    assert cluster.get(second.slurm_job_id or 0).asked.dependencies == {f"afterok:{first.slurm_job_id}"}
    cluster.tick()
    look(cluster, bench)
    second.refresh_from_db()
    assert (second.state, second.reason) == (State.WAITING, "Dependency")
    cluster.finish(first.slurm_job_id or 0)
    look(cluster, bench)
    second.refresh_from_db()
    assert second.state == State.RUNNING


@pytest.mark.parametrize(
    ("kind", "exit_code", "phase"),
    [
        ("ok", 0, Phase.ACCEPTED), ("ok", 1, Phase.REFUSED), ("any", 1, Phase.ACCEPTED), ("any", 0, Phase.ACCEPTED),
        ("notok", 1, Phase.ACCEPTED), ("notok", 0, Phase.REFUSED),
    ],
)  # fmt: skip
@pytest.mark.parametrize("seen", [True, False])
def test_what_has_ended_already_is_decided_here(
    bench: Bench, cluster: fake.Cluster, kind: str, exit_code: int, phase: Phase, seen: bool
) -> None:
    """Slurm takes a dependency on what it has forgotten as never met; also where nobody here has seen the end yet."""
    first = bench.submit()
    handing.hand_over()
    first.refresh_from_db()
    cluster.tick()
    cluster.finish(first.slurm_job_id or 0, exit_code=exit_code)
    if seen:
        look(cluster, bench)
        cluster.turn(minutes=10)
    second = bench.submit(after=after(kind, first))
    handing.hand_over()
    second.refresh_from_db()
    assert second.phase == phase
    if phase == Phase.REFUSED:
        assert str(first.pk) in second.refusal and len(cluster.every_job) == 1
    else:
        assert not cluster.every_job[-1].asked.dependencies


def test_a_job_that_waits_for_one_that_slurm_refused(bench: Bench, cluster: fake.Cluster) -> None:
    first = bench.submit()
    waits, ready = bench.submit(after=after("ok", first)), bench.submit(after=after("any", first))
    good = dict(cluster.associations)
    cluster.associations.clear()
    handing.hand_over()
    first.refresh_from_db()
    waits.refresh_from_db()
    assert (first.phase, waits.phase) == (Phase.REFUSED, Phase.REFUSED)
    cluster.associations.update(good)
    ready.refresh_from_db()
    assert ready.phase in (Phase.REFUSED, Phase.REQUESTED)


def record(asked: Submission) -> JobRecord:
    known = fake.reset("apart")
    known.open_account(asked.account, users={"ana": 20001}, partitions=[asked.partition], qos=asked.qos)
    known.features, known.reservations = {"a100"}, {"course"}
    gateway = known.gateway()
    found = gateway.job(gateway.submit(asked, as_user="ana"))
    assert found is not None
    return found


WHOLE = Submission(
    name="x", account="visao", partition="gpu", qos="visao", script="#!/bin/bash\n", working_directory="/p",
    standard_output="/p/%A_%a.out", standard_error="/p/%A_%a.err", time_limit_minutes=5,
    comment="bancada:" + "0" * 32, nodes=2, tasks=4, cpus_per_task=2, memory_mb=500, gpus=2, gpu_type="a100",
    gpus_per_task=1, tasks_per_node=2, exclusive=True, constraint="a100", reservation="course", requeue=False,
    array="1-9:2%2", environment={"A": "b"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("nodes", {"node_count": 1}), ("CPUs", {"cpus": 16}), ("memory", {"memory_mb": 2000}), ("GPUs", {"gpus": 2}),
        ("GPUs per node", {"requested_gpus_per_node": 1}), ("GPU type", {"requested_gpu_types": {"h100": 2}}),
        ("GPU type", {"requested_gpu_types": {}}), ("GPUs per task", {"requested_gpus_per_task": 2}),
        ("tasks", {"tasks": 2}), ("tasks per node", {"tasks_per_node": 1}), ("CPUs per task", {"cpus_per_task": 1}),
        ("array", {"array": "1-9:2"}), ("array", {"array": "1-9%2"}), ("array", {"array": ""}),
        ("array", {"array": "1,3,7,...%2"}), ("dependencies", {"dependencies": frozenset({"afterok:7"})}),
        ("constraint", {"constraint": ""}), ("reservation", {"reservation": ""}), ("requeue", {"requeue": True}),
        ("exclusive", {"exclusive": False}), ("errors", {"standard_error": ""}), ("uid", {"uid": 0}),
        ("name", {"name": "y"}), ("qos", {"qos": "other"}), ("time limit", {"time_limit_minutes": 6}),
    ],
)  # fmt: skip
def test_every_fact_of_the_record_counts(name: str, changes: dict[str, object]) -> None:
    good = record(WHOLE)
    assert submissions.differences(WHOLE, good, 20001) == []
    bad = dataclasses.replace(good, **changes)  # type: ignore[arg-type]
    assert submissions.differences(WHOLE, bad, 20001) == [name]


def test_what_a_record_cannot_tell_is_not_held_against_it() -> None:
    blind = {"tasks": None, "tasks_per_node": None, "cpus_per_task": None, "requeue": None, "exclusive": None}
    silent = dataclasses.replace(record(WHOLE), **blind)  # type: ignore[arg-type]
    assert submissions.differences(WHOLE, silent, 20001) == []
    short = dataclasses.replace(silent, array="1,3,5,...%2")
    assert submissions.differences(WHOLE, short, 20001) == []


def test_a_dependency_that_ended_between_sending_and_reading_back_is_no_difference(cluster: fake.Cluster) -> None:
    asked = dataclasses.replace(WHOLE, array="", dependencies=frozenset({"afterany:99"}))
    read = dataclasses.replace(record(asked), dependencies=frozenset())
    assert submissions.differences(asked, read, 20001) == ["dependencies"]
    assert submissions.compared(cluster.gateway(), asked, read, 20001) == ()
    other = dataclasses.replace(read, dependencies=frozenset({"afterok:1"}))
    assert submissions.compared(cluster.gateway(), asked, other, 20001) == ("dependencies",)


def test_of_an_array_it_waits_for_the_end_of_all_tasks(bench: Bench, cluster: fake.Cluster) -> None:
    first = bench.submit(array="1-3", gpus=1)
    second = bench.submit(after=after("any", first))
    handing.hand_over()
    first.refresh_from_db()
    cluster.tick()
    cluster.finish(first.slurm_job_id or 0, task=1)
    waits = dependencies.of([second])[second.pk]
    assert dependencies.still_open(cluster.gateway(), waits) == {f"afterany:{first.slurm_job_id}"}
