"""Down, stopped, restarted: refused, never sent and unknown are three different things."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from slurm.contract import SlurmError, Unanswered, Unreachable
from tests.contract.lab import Lab, is_running, submission


def test_a_stopped_slurmctld_leaves_the_outcome_unknown(lab: Lab) -> None:
    """Its answer never comes, and it carries the request out all the same once it goes on."""
    asked, began = submission(lab, lab.davi), lab.now()
    lab.gateway.version()
    with lab.slurmctld_stopped():
        with pytest.raises(Unanswered):
            lab.gateway.submit(asked, as_user="davi")
        with pytest.raises(SlurmError):
            lab.gateway.jobs()
    lab.until(lambda: _found(lab, asked.comment, began))


def test_a_slurmctld_that_is_down_was_never_reached(lab: Lab) -> None:
    asked, began = submission(lab, lab.davi), lab.now()
    lab.gateway.version()
    with lab.slurmctld_down():
        with pytest.raises(Unreachable):
            lab.gateway.submit(asked, as_user="davi")
        for look in (lab.gateway.jobs, lab.gateway.version):
            with pytest.raises((Unreachable, Unanswered)):
                look()
    lab.until(lambda: _is_absent(lab, asked.comment, began))


def _is_absent(lab: Lab, comment: str, began: datetime) -> bool:
    """As long as slurmctld has not told slurmdbd all, find raises."""
    try:
        return not lab.gateway.find(comment=comment, uid=20004, account="visao", since=began)
    except SlurmError:
        return False


def test_slurmrestd_gone(lab: Lab) -> None:
    job_id = lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
    with lab.slurmrestd_down():
        for act in (lab.gateway.release, lab.gateway.cancel):
            with pytest.raises(Unreachable):
                act(job_id, as_user="davi")
        with pytest.raises(Unreachable):
            lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
        with pytest.raises(Unreachable):
            lab.gateway.version()
    lab.gateway.release(job_id, as_user="davi")


def test_without_slurmdbd_nothing_is_said_to_be_absent(lab: Lab) -> None:
    asked, began = submission(lab, lab.davi), lab.now()
    with lab.slurmdbd_down():
        with pytest.raises((Unreachable, Unanswered)):
            lab.gateway.find(comment=asked.comment, uid=20004, account="visao", since=began)
        with pytest.raises((Unreachable, Unanswered)):
            lab.gateway.accounting(since=began)
        with pytest.raises((Unreachable, Unanswered)):
            lab.accounts.books(["visao"])
        job_id = lab.gateway.submit(asked, as_user="davi")
        assert job_id in {job.job_id for job in lab.gateway.jobs()}
    lab.until(lambda: _found(lab, asked.comment, began))


def _found(lab: Lab, comment: str, began: datetime) -> bool:
    try:
        return bool(lab.gateway.find(comment=comment, uid=20004, account="visao", since=began))
    except SlurmError:
        return False


def test_jobs_live_through_a_restart_of_slurmctld(lab: Lab) -> None:
    held = lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
    running = lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
    lab.gateway.release(running, as_user="davi")
    lab.until(is_running(lab, running))
    before = {number: lab.gateway.job(number) for number in (held, running)}
    if lab.name == "real":
        time.sleep(6)  # its state is written every five seconds
    with lab.slurmctld_down():
        pass
    for number, record in before.items():
        after = lab.gateway.job(number)
        assert record is not None and after is not None
        assert (after.submit_time, after.uid, after.states) == (record.submit_time, record.uid, record.states)
        assert after.admin_comment == record.admin_comment
