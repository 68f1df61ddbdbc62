"""The scenes a test can play that the real cluster is not asked to play."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

import slurm
from slurm import fake
from slurm.books import Limits, Qos
from slurm.contract import Refused, Submission, Unanswered, Unreachable
from slurm.fake.gateway import FakeGateway

ASKED = Submission(
    name="train",
    account="visao",
    partition="gpu",
    qos="q",
    script="#!/bin/sh\n",
    working_directory="/srv",
    standard_output="/srv/%j.out",
    time_limit_minutes=10,
    comment="bancada:" + "0" * 32,
    gpus=1,
    gpu_type="a100",
    environment={"PATH": "/bin"},
)


@pytest.fixture
def cluster() -> fake.Cluster:
    cluster = fake.reset("scenes")
    cluster.open_account("visao", users={"ana": 20001, "bia": 20002}, partitions=("gpu", "large"), qos="q")
    return cluster


@pytest.fixture
def gateway(cluster: fake.Cluster) -> FakeGateway:
    gateway = slurm.connect("fake:scenes")
    assert isinstance(gateway, FakeGateway)
    return gateway


def run(gateway: FakeGateway, **changes: object) -> int:
    job_id = gateway.submit(dataclasses.replace(ASKED, **changes), as_user="ana")  # type: ignore[arg-type]
    gateway.release(job_id, as_user="ana")
    return job_id


def states(gateway: FakeGateway, job_id: int) -> set[str]:
    record = gateway.job(job_id)
    return set(record.states) if record else set()


def test_time_runs_out(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    job_id = run(gateway)
    assert states(gateway, job_id) == {"RUNNING"}
    cluster.turn(minutes=11)
    record = gateway.job(job_id)
    assert record is not None and record.states == {"TIMEOUT"}
    assert record.end_time - record.start_time == timedelta(minutes=10)  # type: ignore[operator]


def test_min_job_age(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    began = cluster.now
    job_id = run(gateway)
    cluster.finish(job_id, state="OUT_OF_MEMORY", signal=9)
    cluster.turn(seconds=299)
    assert states(gateway, job_id) == {"OUT_OF_MEMORY"}
    cluster.turn(seconds=10)
    assert gateway.job(job_id) is None and gateway.jobs() == []
    (row,) = gateway.accounting(since=began)
    assert (row.job_id, row.exit_code, row.exit_signal) == (job_id, None, 9)


def test_gpus_are_shared_out_and_freed(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    first, second, third = (run(gateway, gpus=4) for _ in range(3))
    assert [states(gateway, job) for job in (first, second, third)] == [{"RUNNING"}, {"RUNNING"}, {"PENDING"}]
    assert gateway.job(third).reason == "Resources"  # type: ignore[union-attr]
    cluster.finish(first)
    assert states(gateway, third) == {"RUNNING"}


def test_a_node_out_of_service(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    cluster.nodes["gpu01"].state, cluster.nodes["gpu01"].reason = "DRAIN", "fan"
    cluster.nodes["gpu02"].state = "DOWN"
    assert gateway.job(run(gateway)).reason == "Resources"  # type: ignore[union-attr]
    nodes = {node.name: node for node in gateway.nodes()}
    assert (nodes["gpu01"].states, nodes["gpu01"].reason) == ({"IDLE", "DRAIN"}, "fan")
    assert nodes["gpu02"].states == {"DOWN"}


def test_a_scheduler_that_does_not_look(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    cluster.is_scheduling = False
    job_id = run(gateway)
    assert (states(gateway, job_id), gateway.job(job_id).reason) == ({"PENDING"}, "")  # type: ignore[union-attr]
    cluster.is_scheduling = True
    assert states(gateway, job_id) == {"RUNNING"}


def test_a_lost_job_and_its_number_that_comes_back(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    began = cluster.now
    job_id = gateway.submit(ASKED, as_user="ana")
    cluster.lose(job_id)
    assert gateway.job(job_id) is None
    assert list(gateway.find(comment=ASKED.comment, uid=20001, account="visao", since=began)) == []
    again = gateway.submit(dataclasses.replace(ASKED, comment="bancada:" + "1" * 32), as_user="bia")
    assert again == job_id and gateway.job(job_id).uid == 20002  # type: ignore[union-attr]


def test_a_lost_answer(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    began = cluster.now
    cluster.lose_next_answer()
    with pytest.raises(Unanswered):
        gateway.submit(ASKED, as_user="ana")
    assert len(gateway.find(comment=ASKED.comment, uid=20001, account="visao", since=began)) == 1
    gateway.submit(ASKED, as_user="ana")


def test_said_errors(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    for error in (Refused("no", code=2014), Unreachable("down"), Unanswered("slow")):
        cluster.refuse_next(error)
        with pytest.raises(type(error)):
            gateway.submit(ASKED, as_user="ana")
    assert gateway.jobs() == []


def test_what_waits_for_a_stopped_slurmctld_is_done_in_order(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    job_id = gateway.submit(ASKED, as_user="ana")
    cluster.stop()
    for act in (gateway.release, gateway.cancel):
        with pytest.raises(Unanswered):
            act(job_id, as_user="ana")
    cluster.go_on()
    assert states(gateway, job_id) == {"CANCELLED"}


def test_a_requeue_runs_again_after_its_delay(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    job_id = run(gateway)
    cluster.requeue(job_id)
    assert states(gateway, job_id) == {"PENDING"}
    cluster.turn(minutes=3)
    record = gateway.job(job_id)
    assert record is not None and (record.states, record.restart_count) == ({"RUNNING"}, 1)


def test_limits_of_a_qos(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    for limits, reason in (
        (Limits(gpus_by_type={"a100": 0}), "QOSGrpGRES"),
        (Limits(jobs_running=0), "QOSGrpJobsLimit"),
        (Limits(longest_minutes=5), "QOSMaxWallDurationPerJobLimit"),
    ):
        cluster.qos["q"] = Qos("q", limits)
        assert gateway.job(run(gateway)).reason == reason  # type: ignore[union-attr]


def test_finish_wants_a_running_job(cluster: fake.Cluster, gateway: FakeGateway) -> None:
    job_id = gateway.submit(ASKED, as_user="ana")
    with pytest.raises(ValueError, match="JobHeldUser"):
        cluster.finish(job_id)
