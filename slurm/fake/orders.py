"""How the fake cluster takes orders: as scontrol and scancel do, with their refusals."""

from __future__ import annotations

import dataclasses

from slurm.contract import Refused, Submission
from slurm.fake import scheduling
from slurm.fake.cluster import Cluster
from slurm.fake.jobs import FakeJob
from slurm.orders import Order, Verb


def obey(cluster: Cluster, order: Order, *, user: str | None) -> None:
    """`user` None is the administrator. Raises Refused."""
    order.check()
    jobs = [job for job in cluster.present() if job.job_id == order.job_id]
    if not jobs:
        raise Refused("Invalid job id specified", code=2017)
    if user is not None and jobs[0].user != user:
        raise Refused("Access/permission denied", code=2002)
    _ACTS[order.verb](cluster, order, jobs, user)


def _requeue(cluster: Cluster, order: Order, jobs: list[FakeJob], _user: str | None) -> None:
    if not any(job.is_running for job in jobs):
        raise Refused("Job is pending execution", code=2056)
    cluster.requeue(order.job_id)


def _limit(_cluster: Cluster, order: Order, jobs: list[FakeJob], user: str | None) -> None:
    asked = jobs[0].asked
    if all(job.is_over for job in jobs):
        raise Refused("Job has already finished", code=2084)
    if user is not None and order.number > asked.time_limit_minutes:
        raise Refused("Access/permission denied", code=2002)
    _ask(jobs, dataclasses.replace(asked, time_limit_minutes=order.number))


def _at_once(_cluster: Cluster, order: Order, jobs: list[FakeJob], _user: str | None) -> None:
    if jobs[0].array_task is None:
        raise Refused("Job is not an array", code=2021)
    tasks = jobs[0].asked.array.partition("%")[0]
    _ask(jobs, dataclasses.replace(jobs[0].asked, array=tasks + (f"%{order.number}" if order.number else "")))


def _ask(jobs: list[FakeJob], asked: Submission) -> None:
    """All tasks of an array share one request."""
    for job in jobs:
        job.asked = asked


def _end_tasks(cluster: Cluster, order: Order, jobs: list[FakeJob], _user: str | None) -> None:
    wanted = set()
    for part in order.tasks.split(","):
        first, _, last = part.partition("-")
        wanted |= set(range(int(first), int(last or first) + 1))
    for job in jobs:
        if job.array_task in wanted and not job.is_over:
            signal = scheduling.SIGTERM if job.is_running else None
            scheduling.end(job, cluster.now, "CANCELLED", exit_code=None if signal else 0, signal=signal)


def _release(cluster: Cluster, _order: Order, jobs: list[FakeJob], user: str | None) -> None:
    for job in jobs:
        if user is not None and job.held == "JobHeldAdmin":
            raise Refused("Access/permission denied", code=2002)
        job.held = job.reason = ""
        job.run.eligible_time = job.run.eligible_time or cluster.now
        job.was_released = True


_ACTS = {
    Verb.REQUEUE: _requeue, Verb.LIMIT: _limit, Verb.AT_ONCE: _at_once, Verb.END_TASKS: _end_tasks,
    Verb.RELEASE: _release,
}  # fmt: skip
