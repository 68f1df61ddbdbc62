"""The fake cluster's scheduler: pure rules over its jobs, in order of submission."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from slurm.books import Limits
from slurm.fake import admission, hardware
from slurm.fake.jobs import FakeJob

if TYPE_CHECKING:
    from slurm.fake.cluster import Cluster

SIGTERM = 15


def look(cluster: Cluster) -> None:
    """End what has run out of time, start what fits, and say of the rest why not."""
    now = cluster.now
    for job in _running(cluster):
        limit = job.ends_by()
        if limit and limit <= now:
            end(job, limit, "TIMEOUT", exit_code=0, signal=None)
            job.reason = "TimeLimit"
    if cluster.is_scheduling:
        for job in cluster.present():
            if job.run.state == "PENDING" and not job.held:
                _consider(cluster, job, now)


def end(job: FakeJob, at: datetime, state: str, *, exit_code: int | None, signal: int | None) -> None:
    run = job.run
    run.state, run.end_time, run.exit_code, run.exit_signal = state, at, exit_code, signal


def taken(cluster: Cluster, node: str) -> list[hardware.Share]:
    return [job.share for job in _running(cluster) if node in job.run.nodes]


def _running(cluster: Cluster) -> list[FakeJob]:
    return [job for job in cluster.every_job if job.is_running and not job.is_lost]


def _consider(cluster: Cluster, job: FakeJob, now: datetime) -> None:
    partition = cluster.partitions[job.asked.partition]
    run = job.run
    job.reason = _impossible(cluster, job, partition) or _limited(cluster, job)
    if job.reason:
        return
    if run.eligible_time and run.eligible_time > now:
        job.reason = "BeginTime"
        return
    room = [name for name in partition.nodes if hardware.has_room(cluster.nodes[name], job.share, taken(cluster, name))]
    if len(room) < job.asked.nodes:
        job.reason = "Resources"
        return
    run.state, run.start_time, run.nodes = "RUNNING", now, tuple(room[: job.asked.nodes])


def _impossible(cluster: Cluster, job: FakeJob, partition: hardware.Partition) -> str:
    if partition.state != "UP":
        return "PartitionDown"
    if partition.max_time_minutes and job.asked.time_limit_minutes > partition.max_time_minutes:
        return "PartitionTimeLimit"
    fitting = [name for name in partition.nodes if hardware.could_hold(cluster.nodes[name], job.share)]
    most = min(len(fitting), partition.max_nodes or len(fitting))
    return "" if job.asked.nodes <= most else "BadConstraints"


def _limited(cluster: Cluster, job: FakeJob) -> str:
    """The wall of its person, of the account, then of its QOS: the job waits, it is not refused."""
    member = admission.association(cluster, job.asked, job.user)
    if member is None:
        return "InvalidAccount"
    running = _running(cluster)
    own = [other for other in running if admission.association(cluster, other.asked, other.user) is member]
    ours = [other for other in running if other.asked.account == job.asked.account]
    mates = [other for other in running if other.asked.qos == job.asked.qos]
    return (
        _wall(member.limits, own, job, _OF_PERSON)
        or _wall(_of_all(cluster, job.asked.account), ours, job, _OF_PERSON)
        or _wall(cluster.qos[job.asked.qos].limits, mates, job, _OF_QOS)
    )


def _of_all(cluster: Cluster, account: str) -> Limits:
    """Of an account's own row the GPUs: those all its people have at once."""
    own = cluster.associations[account, "", ""].limits
    return Limits(own.gpus_at_once, own.gpus_by_type)


class _Reasons(NamedTuple):
    gpus: str
    jobs: str
    wall: str


_OF_PERSON = _Reasons("AssocGrpGRES", "AssocMaxJobsLimit", "AssocMaxWallDurationPerJobLimit")
_OF_QOS = _Reasons("QOSGrpGRES", "QOSGrpJobsLimit", "QOSMaxWallDurationPerJobLimit")


def _wall(limits: Limits, running: Sequence[FakeJob], job: FakeJob, reasons: _Reasons) -> str:
    """`running` are the jobs that count against these limits already."""
    used = sum(mate.gpus for mate in running)
    typed = sum(mate.gpus for mate in running if mate.asked.gpu_type == job.asked.gpu_type)
    cap = limits.gpus_by_type.get(job.asked.gpu_type)
    if job.gpus and limits.gpus_at_once is not None and used + job.gpus > limits.gpus_at_once:
        return reasons.gpus
    if job.gpus and cap is not None and typed + job.gpus > cap:
        return reasons.gpus
    if limits.jobs_running is not None and len(running) >= limits.jobs_running:
        return reasons.jobs
    if limits.longest_minutes is not None and job.asked.time_limit_minutes > limits.longest_minutes:
        return reasons.wall
    return ""
