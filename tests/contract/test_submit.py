"""Submit held, read back, release, run, end, cancel: the same on every gateway."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from slurm.contract import Refused
from tests.contract.lab import Lab, is_over, is_running, new_key, submission

HOSTILE = "x|y\n999|RUNNING|0\t--uid=0 $(id) `id` '\"; \x1f ü %j"


def test_held_and_read_back(lab: Lab) -> None:
    began = lab.now()
    asked = submission(lab, lab.davi)
    job_id = lab.gateway.submit(asked, as_user="davi")
    record = lab.gateway.job(job_id, as_user="davi")
    assert record is not None
    assert (record.job_id, record.uid, record.user, record.states) == (job_id, 20004, "davi", {"PENDING"})
    assert (record.reason, record.restart_count, record.array_task) == ("JobHeldUser", 0, None)
    assert (record.account, record.partition, record.qos) == (asked.account, asked.partition, asked.qos)
    assert (record.name, record.comment, record.admin_comment) == (asked.name, asked.comment, asked.comment)
    assert (record.working_directory, record.time_limit_minutes) == (asked.working_directory, 5)
    assert record.standard_output.replace("%j", str(job_id)) == asked.standard_output.replace("%j", str(job_id))
    assert (record.node_count, record.cpus, record.memory_mb) == (1, 2, 500)
    assert (record.gpus, dict(record.gpu_types), record.requested_gpus_per_node) == (1, {"a100": 1}, 1)
    assert (record.start_time, record.end_time, record.exit_code, record.nodes) == (None, None, None, "")
    assert abs(record.submit_time - began) < timedelta(seconds=3)


def test_several_nodes_and_tasks(lab: Lab) -> None:
    asked = submission(lab, lab.davi, nodes=2, tasks=4, cpus_per_task=2, memory_mb=1500, gpus=2)
    record = lab.gateway.job(lab.gateway.submit(asked, as_user="davi"))
    assert record is not None
    assert (record.node_count, record.cpus, record.memory_mb, record.gpus) == (2, 8, 3000, 4)
    assert record.requested_gpus_per_node == 2


def test_without_gpus(lab: Lab) -> None:
    asked = submission(lab, lab.davi, partition="prep", gpus=0, gpu_type="")
    record = lab.gateway.job(lab.gateway.submit(asked, as_user="davi"))
    assert record is not None
    assert (record.gpus, dict(record.gpu_types), record.requested_gpus_per_node) == (0, {}, 0)


@pytest.mark.parametrize("exit_code", [0, 3])
def test_released_it_runs_and_ends(lab: Lab, exit_code: int) -> None:
    key = new_key()
    job_id = lab.gateway.submit(submission(lab, lab.davi, key), as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, job_id))
    running = lab.gateway.job(job_id)
    assert running is not None
    assert running.start_time is not None and running.end_time is None and running.exit_code is None
    assert running.nodes in ("gpu01", "gpu02") and (running.gpus, dict(running.gpu_types)) == (1, {"a100": 1})
    lab.end(job_id, key, exit_code=exit_code)
    over = lab.until(is_over(lab, job_id))
    assert over is not None
    assert over.states == {"FAILED" if exit_code else "COMPLETED"}
    assert (over.exit_code, over.exit_signal) == (exit_code, None)
    assert over.end_time >= over.start_time >= over.submit_time  # type: ignore[operator]


def test_hold_and_release_again(lab: Lab) -> None:
    job_id = lab.gateway.submit(submission(lab, lab.davi, gpus=4, nodes=2, tasks=2), as_user="davi")
    other = lab.gateway.submit(submission(lab, lab.davi, partition="large", gpu_type="h100"), as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, job_id))
    lab.gateway.release(other, as_user="davi")
    lab.until(lambda: lab.gateway.job(other).reason == "QOSGrpGRES")  # type: ignore[union-attr]
    lab.gateway.hold(other, as_user="davi")
    held = lab.gateway.job(other)
    assert held is not None and held.reason == "JobHeldUser"
    lab.gateway.release(other, as_user="davi")
    lab.until(lambda: lab.gateway.job(other).reason == "QOSGrpGRES")  # type: ignore[union-attr]
    lab.gateway.cancel(job_id, as_user="davi")
    lab.until(is_running(lab, other))


def test_cancel_while_held(lab: Lab) -> None:
    job_id = lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
    lab.gateway.cancel(job_id, as_user="davi")
    over = lab.until(is_over(lab, job_id))
    assert over is not None
    assert (over.states, over.start_time, over.nodes) == ({"CANCELLED"}, None, "")


def test_cancel_while_running(lab: Lab) -> None:
    job_id = lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, job_id))
    lab.gateway.cancel(job_id, as_user="davi")
    over = lab.until(is_over(lab, job_id))
    assert over is not None
    assert (over.states, over.exit_code, over.exit_signal) == ({"CANCELLED"}, None, 15)


def test_what_is_over_cannot_be_cancelled_or_released(lab: Lab) -> None:
    job_id = lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
    lab.gateway.cancel(job_id, as_user="davi")
    lab.until(is_over(lab, job_id))
    for act in (lab.gateway.cancel, lab.gateway.release, lab.gateway.hold):
        with pytest.raises(Refused):
            act(job_id, as_user="davi")


def test_a_job_that_does_not_exist(lab: Lab) -> None:
    assert lab.gateway.job(60_000_000) is None
    for act in (lab.gateway.cancel, lab.gateway.release, lab.gateway.hold):
        with pytest.raises(Refused) as refused:
            act(60_000_000, as_user="davi")
        assert refused.value.code == 2017


def test_other_people(lab: Lab) -> None:
    job_id = lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
    assert lab.gateway.job(job_id, as_user="felipe") is None
    for act in (lab.gateway.cancel, lab.gateway.release, lab.gateway.hold):
        with pytest.raises(Refused):
            act(job_id, as_user="felipe")
    record = lab.gateway.job(job_id)
    assert record is not None and (record.states, record.reason) == ({"PENDING"}, "JobHeldUser")


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        (2045, {"account": "nothing"}),
        (2045, {"account": "atlas"}),
        (2000, {"partition": "nowhere"}),
        (2066, {"qos": "normal"}),
        (2066, {"qos": "atlas-2026"}),
    ],
)
def test_refused(lab: Lab, code: int, changes: dict[str, object]) -> None:
    with pytest.raises(Refused) as refused:
        lab.gateway.submit(submission(lab, lab.davi, **changes), as_user="davi")
    assert refused.value.code == code and refused.value.message


def test_refused_without_an_environment(lab: Lab) -> None:
    """Otherwise 22.05 and 24.11 would differ in what a job sees."""
    with pytest.raises(Refused):
        lab.gateway.submit(submission(lab, lab.davi, environment={}), as_user="davi")


def test_refused_to_who_is_in_no_account_or_unknown(lab: Lab) -> None:
    for user in ("iara", "niemand"):
        with pytest.raises(Refused):
            lab.gateway.submit(submission(lab, lab.iara), as_user=user)


@pytest.mark.parametrize(
    "changes",
    [
        {"gpus": 9},
        {"gpu_type": "h100"},
        {"memory_mb": 900_000},
        {"partition": "prep"},
        {"time_limit_minutes": 100_000},
        {"cpus_per_task": 64},
    ],
)
def test_what_can_never_run_is_accepted_held_and_waits_with_a_reason(lab: Lab, changes: dict[str, object]) -> None:
    """Slurm's own way with held jobs: the caller must know the cluster, or show the reason."""
    job_id = lab.gateway.submit(submission(lab, lab.davi, **changes), as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    reason = lab.until(lambda: lab.gateway.job(job_id).reason)  # type: ignore[union-attr]
    assert reason in ("BadConstraints", "PartitionTimeLimit", "PartitionConfig", "QOSGrpGRES")
    assert lab.gateway.job(job_id).states == {"PENDING"}  # type: ignore[union-attr]


def test_free_text_stays_text(lab: Lab) -> None:
    """A name that looks like rows, options and commands comes back letter for letter, and the bulk reads hold."""
    asked = submission(lab, lab.davi, name=HOSTILE, environment={"PATH": "/bin", "NOTE": "a\nb=c|d"})
    before = {job.job_id for job in lab.gateway.jobs()}
    job_id = lab.gateway.submit(asked, as_user="davi")
    record = lab.gateway.job(job_id, as_user="davi")
    assert record is not None and record.name == HOSTILE
    assert {job.job_id for job in lab.gateway.jobs()} - before == {job_id}


def test_a_comment_that_is_no_token_is_no_admin_comment(lab: Lab) -> None:
    asked = dataclasses.replace(submission(lab, lab.davi), comment="bancada:not a token\nx")
    record = lab.gateway.job(lab.gateway.submit(asked, as_user="davi"))
    assert record is not None and record.admin_comment == ""
