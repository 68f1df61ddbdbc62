"""The administrator's door: what it ensures is what Slurm then enforces."""

from __future__ import annotations

import secrets

import pytest

from slurm.contract import Limits, Refused
from tests.contract.lab import Lab, is_over, is_running, submission


@pytest.fixture
def account(lab: Lab) -> str:
    """A new account with a QOS of the same name, in which davi may use the partition gpu."""
    name = f"t{secrets.token_hex(4)}"
    for _ in range(2):  # each call twice: the second changes nothing
        lab.accounts.ensure_account(name, description='A, "test"; of=mine', organization="tests")
        lab.accounts.ensure_qos(name, Limits(gpus_at_once=2, longest_minutes=30))
        lab.accounts.ensure_user("davi", account=name, partitions=["gpu"], qos=[name], default_qos=name)
    return name


def submit(lab: Lab, account: str, **changes: object) -> int:
    asked = submission(lab, lab.davi, account=account, qos=account, **changes)
    return lab.gateway.submit(asked, as_user="davi")


def accepted(lab: Lab, account: str, **changes: object) -> bool:
    try:
        return bool(submit(lab, account, **changes))
    except Refused:
        return False


def test_ensured_and_enforced(lab: Lab, account: str) -> None:
    (mine,) = [row for row in lab.accounts.associations(account) if row.user == "davi"]
    assert (mine.partition, mine.qos, mine.default_qos, mine.max_submit_jobs) == ("gpu", (account,), account, None)
    assert lab.until(lambda: accepted(lab, account))
    with pytest.raises(Refused) as refused:
        submit(lab, account, partition="prep", gpus=0, gpu_type="")
    assert refused.value.code == 2045


def test_the_limit_is_a_wall_that_lets_through_again(lab: Lab, account: str) -> None:
    first, second = submit(lab, account, gpus=2), submit(lab, account)
    for job_id in (first, second):
        lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, first))
    lab.until(lambda: lab.gateway.job(second).reason == "QOSGrpGRES")  # type: ignore[union-attr]
    lab.accounts.ensure_qos(account, Limits(gpus_at_once=3))
    lab.until(is_running(lab, second), seconds=60)


def test_deny_on_limit_refuses_what_breaks_it_alone(lab: Lab, account: str) -> None:
    lab.accounts.ensure_qos(account, Limits(gpus_at_once=2, gpus_by_type={"a100": 1}), deny_on_limit=True)
    assert lab.until(lambda: not accepted(lab, account, gpus=2))
    with pytest.raises(Refused) as refused:
        submit(lab, account, gpus=2)
    assert refused.value.code == 2050
    assert accepted(lab, account, gpus=1)


def test_a_stopped_user_submits_nothing_and_keeps_what_runs(lab: Lab, account: str) -> None:
    running = submit(lab, account)
    lab.gateway.release(running, as_user="davi")
    lab.until(is_running(lab, running))
    for _ in range(2):
        lab.accounts.stop_user("davi", account=account)
    lab.until(lambda: not accepted(lab, account))
    with pytest.raises(Refused) as refused:
        submit(lab, account)
    assert refused.value.code == 2050
    assert lab.gateway.job(running).states == {"RUNNING"}  # type: ignore[union-attr]
    lab.accounts.ensure_user("davi", account=account, partitions=["gpu"], qos=[account], default_qos=account)
    lab.until(lambda: accepted(lab, account))


def test_a_partition_taken_away_is_stopped_not_deleted(lab: Lab, account: str) -> None:
    lab.accounts.ensure_user("davi", account=account, partitions=["gpu", "prep"], qos=[account], default_qos=account)
    lab.accounts.ensure_user("davi", account=account, partitions=["prep"], qos=[account], default_qos=account)
    rows = {row.partition: row.max_submit_jobs for row in lab.accounts.associations(account) if row.user}
    assert rows == {"gpu": 0, "prep": None}
    lab.until(lambda: not accepted(lab, account))


def test_at_most_so_many_jobs(lab: Lab, account: str) -> None:
    lab.accounts.ensure_qos(account, Limits(jobs_submitted=2, jobs_running=1))
    lab.until(lambda: not accepted(lab, account))
    jobs = [job for job in lab.gateway.jobs() if job.account == account]
    assert len(jobs) == 2


def test_what_cannot_be_is_refused(lab: Lab, account: str) -> None:
    ensure = lab.accounts.ensure_user
    with pytest.raises(Refused):
        ensure("davi", account="no-such-account", partitions=["gpu"], qos=[account], default_qos=account)
    with pytest.raises(Refused):
        ensure("davi", account=account, partitions=["gpu"], qos=["no-such-qos"], default_qos="no-such-qos")
    for name in ("", "A", "x y", "a,b", "a=b", "-i", "x\n", "é", "where"[:0]):
        with pytest.raises(Refused):
            lab.accounts.ensure_account(name)


def test_the_administrator_cancels_anybody(lab: Lab, account: str) -> None:
    job_id = submit(lab, account)
    lab.accounts.cancel_any(job_id)
    over = lab.until(is_over(lab, job_id))
    assert over is not None and over.states == {"CANCELLED"}
    for number in (job_id, 60_000_000):
        with pytest.raises(Refused):
            lab.accounts.cancel_any(number)
