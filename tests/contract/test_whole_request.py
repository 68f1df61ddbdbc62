"""Arrays, several nodes, dependencies, times, signals and the rest of a request: sent once, read back whole."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from jobs.services.submissions import differences
from slurm.contract import JobRecord, Refused
from tests.contract.lab import Lab, is_over, is_running, new_key, submission


def read_back(lab: Lab, **changes: object) -> tuple[JobRecord, list[str]]:
    asked = submission(lab, lab.davi, **changes)
    record = lab.gateway.job(lab.gateway.submit(asked, as_user="davi"), as_user="davi")
    assert record is not None
    return record, differences(asked, record, lab.davi.uid)


def tasks(lab: Lab, job_id: int) -> dict[int | None, JobRecord]:
    return {record.array_task: record for record in lab.gateway.jobs() if record.job_id == job_id}


NO_PREEMPTION = 2179
LONG = "1,3,5,7-20:3,100-200:2,300,302,305,308,310,315,318,320,322,325,328,330,333"


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"gpus": 0, "gpu_type": "", "partition": "prep"}, {"memory_mb": 1536, "cpus_per_task": 3},
        {"nodes": 2, "tasks": 2, "gpus": 4}, {"nodes": 2, "tasks": 4, "tasks_per_node": 2, "gpus": 2},
        {"nodes": 2, "tasks": 4, "tasks_per_node": 2, "gpus": 2, "gpus_per_task": 1}, {"gpus_per_task": 1},
        {"array": "1-100%8"}, {"array": "0-9:3"}, {"array": "7"}, {"array": f"{LONG}%3"}, {"array": "5,1-3"},
        {"exclusive": True}, {"requeue": True}, {"requeue": False}, {"signal": "USR1@120"},
        {"standard_error": "/srv/var/projects/visao/x-%j.err"},
        {"standard_output": "/srv/var/projects/visao/x-%A_%a.out", "array": "1-2"},
        {"array": "1-4%2", "exclusive": True, "requeue": False, "nodes": 2, "tasks": 2},
    ],
)  # fmt: skip
def test_what_was_asked_for_is_what_is_there(lab: Lab, changes: dict[str, object]) -> None:
    assert read_back(lab, **changes)[1] == []


def test_a_signal_for_reservations_is_taken_or_refused_as_sbatch_is(lab: Lab) -> None:
    """24.11 wants preemption switched on for it, which a cluster need not have."""
    try:
        assert read_back(lab, signal="R:TERM@60")[1] == []
    except Refused as refused:
        assert refused.code == NO_PREEMPTION


def test_a_constraint_of_the_nodes_is_kept(lab: Lab) -> None:
    with lab.feature("gpu01", "fast"):
        record, differs = read_back(lab, constraint="fast")
        assert differs == [] and record.constraint == "fast"


def test_a_reservation_for_this_person_is_kept(lab: Lab) -> None:
    with lab.reservation("contract-davi", "gpu01", "davi"):
        record, differs = read_back(lab, reservation="contract-davi")
        assert differs == [] and record.reservation == "contract-davi"


def test_a_begin_time_is_kept_and_waited_for(lab: Lab) -> None:
    record, differs = read_back(lab, begin=(lab.now() + timedelta(hours=1)).replace(microsecond=0))
    assert differs == []
    lab.gateway.release(record.job_id, as_user="davi")
    lab.until(lambda: lab.gateway.job(record.job_id).reason == "BeginTime")  # type: ignore[union-attr]


@pytest.mark.parametrize(("code", "changes"), [(2029, {"constraint": "moon"}), (2053, {"reservation": "nobodys"})])
def test_what_the_cluster_does_not_have_is_refused(lab: Lab, code: int, changes: dict[str, object]) -> None:
    with pytest.raises(Refused) as refused:
        lab.gateway.submit(submission(lab, lab.davi, **changes), as_user="davi")
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("name", "changes"),
    [("array", {"array": "1-5%2"}), ("array", {"array": ""}), ("GPU type", {"gpu_type": "h100"}),
     ("nodes", {"nodes": 1, "gpus": 2}), ("memory", {"memory_mb": 400}), ("requeue", {"requeue": False})],
)  # fmt: skip
def test_a_record_of_something_else_is_told_apart(lab: Lab, name: str, changes: dict[str, object]) -> None:
    asked = submission(lab, lab.davi, array="1-4%2", nodes=2, tasks=2, requeue=True)
    record = lab.gateway.job(lab.gateway.submit(asked, as_user="davi"), as_user="davi")
    assert record is not None
    assert name in differences(dataclasses.replace(asked, **changes), record, lab.davi.uid)  # type: ignore[arg-type]


def test_an_array_runs_task_by_task_within_its_throttle(lab: Lab) -> None:
    key = new_key()
    asked = submission(lab, lab.davi, key, array="1-3%2", cpus_per_task=1, memory_mb=100)
    job_id = lab.gateway.submit(asked, as_user="davi")
    assert {one.reason for one in tasks(lab, job_id).values()} == {"JobHeldUser"}
    assert sorted(tasks(lab, job_id)) == [1, 2, 3]  # type: ignore[type-var]
    lab.gateway.release(job_id, as_user="davi")
    lab.until(lambda: sum("RUNNING" in one.states for one in tasks(lab, job_id).values()) == 2)
    shown = tasks(lab, job_id)
    assert {one.submit_time for one in shown.values()} == {shown[1].submit_time}
    assert shown[3].states == {"PENDING"} and lab.gateway.job(job_id).uid == lab.davi.uid  # type: ignore[union-attr]
    lab.gateway.cancel(job_id, as_user="davi")
    lab.until(lambda: all(one.states == {"CANCELLED"} for one in tasks(lab, job_id).values()))
    assert tasks(lab, job_id)[3].start_time is None
    with pytest.raises(Refused):
        lab.gateway.cancel(job_id, as_user="davi")


def test_an_array_can_be_held_and_let_go(lab: Lab) -> None:
    job_id = lab.gateway.submit(submission(lab, lab.davi, array="1-3", gpus=9), as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    lab.gateway.hold(job_id, as_user="davi")
    assert {one.reason for one in tasks(lab, job_id).values()} == {"JobHeldUser"}
    lab.gateway.release(job_id, as_user="davi")
    assert "JobHeldUser" not in {one.reason for one in tasks(lab, job_id).values()}


@pytest.mark.parametrize(("kind", "exit_code"), [("afterok", 0), ("afterany", 3), ("afternotok", 3)])
def test_it_waits_for_the_end_of_another(lab: Lab, kind: str, exit_code: int) -> None:
    key, mine = new_key(), new_key()
    first = lab.gateway.submit(submission(lab, lab.davi, key), as_user="davi")
    asked = submission(lab, lab.davi, mine, dependencies=frozenset({f"{kind}:{first}"}))
    second = lab.gateway.submit(asked, as_user="davi")
    record = lab.gateway.job(second, as_user="davi")
    assert record is not None and differences(asked, record, lab.davi.uid) == []
    for job_id in (first, second):
        lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, first))
    lab.until(lambda: lab.gateway.job(second).reason == "Dependency")  # type: ignore[union-attr]
    lab.end(first, key, exit_code=exit_code)
    lab.until(is_running(lab, second))
    lab.end(second, mine)
    lab.until(is_over(lab, second))


def test_a_dependency_that_cannot_be_met_any_more_says_so(lab: Lab) -> None:
    key = new_key()
    first = lab.gateway.submit(submission(lab, lab.davi, key), as_user="davi")
    second = lab.gateway.submit(submission(lab, lab.davi, dependencies=frozenset({f"afterok:{first}"})), as_user="davi")
    for job_id in (first, second):
        lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, first))
    lab.end(first, key, exit_code=1)
    lab.until(lambda: lab.gateway.job(second).reason == "DependencyNeverSatisfied")  # type: ignore[union-attr]
