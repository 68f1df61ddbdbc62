"""The fake cluster's scheduler: pure rules over its jobs, in order of submission."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from slurm import text
from slurm.books import Limits
from slurm.fake import admission, hardware
from slurm.fake.jobs import FakeJob
from slurm.text import OVER

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
    job.reason = _impossible(cluster, job, partition) or _waits_for(cluster, job) or _limited(cluster, job)
    if job.reason:
        return
    if run.eligible_time and run.eligible_time > now:
        job.reason = "BeginTime"
        return
    room = [name for name in partition.nodes if hardware.has_room(cluster.nodes[name], job.share, taken(cluster, name))]
    if len(room) < job.asked.nodes:
        job.reason = "Resources"
        return
    until = now + timedelta(minutes=job.asked.time_limit_minutes)
    room = [name for name in room if not _is_kept(cluster, name, until)]
    if len(room) < job.asked.nodes:
        job.reason = "ReqNodeNotAvail, Reserved for maintenance"
        return
    run.state, run.start_time, run.nodes = "RUNNING", now, tuple(room[: job.asked.nodes])


def _is_kept(cluster: Cluster, node: str, until: datetime) -> bool:
    """Whether a window begins before then."""
    ahead = (nodes for nodes, start, end in cluster.windows.values() if start < until and end > cluster.now)
    return any(node in (nodes or cluster.nodes) for nodes in ahead)


def _impossible(cluster: Cluster, job: FakeJob, partition: hardware.Partition) -> str:
    if partition.state != "UP":
        return "PartitionDown"
    if partition.max_time_minutes and job.asked.time_limit_minutes > partition.max_time_minutes:
        return "PartitionTimeLimit"
    fitting = [name for name in partition.nodes if hardware.could_hold(cluster.nodes[name], job.share)]
    most = min(len(fitting), partition.max_nodes or len(fitting))
    return "" if job.asked.nodes <= most else "BadConstraints"


_MET_BY = {"afterok": {"COMPLETED"}, "afternotok": OVER - {"COMPLETED"}, "afterany": OVER}


def _waits_for(cluster: Cluster, job: FakeJob) -> str:
    """Other jobs, or the other tasks of its array."""
    for one in job.asked.dependencies:
        kind, _, number = one.partition(":")
        states = {row.run.state for row in cluster.present() if row.job_id == int(number)}
        if not states <= OVER:
            return "Dependency"
        if states and not states <= _MET_BY[kind]:
            return "DependencyNeverSatisfied"
    most = text.throttle(job.asked.array)
    beside = [other for other in _running(cluster) if other.asked is job.asked]
    return "JobArrayTaskLimit" if most and len(beside) >= most else ""


def _limited(cluster: Cluster, job: FakeJob) -> str:
    """The wall of its person, of the account, then of its QOS: the job waits, it is not refused."""
    member = admission.association(cluster, job.asked, job.user)
    if member is None:
        return "InvalidAccount"
    running = _running(cluster)
    own = [other for other in running if admission.association(cluster, other.asked, other.user) is member]
    ours = [other for other in running if other.asked.account == job.asked.account]
    mates = [other for other in running if other.asked.qos == job.asked.qos]
    qos = cluster.qos[job.asked.qos].limits
    own_row = cluster.associations[job.asked.account, "", ""].limits
    return (
        _wall(_beside(member.limits, qos), own, job, _OF_PERSON)
        or _wall(_beside(Limits(own_row.gpus_at_once, own_row.gpus_by_type), qos), ours, job, _OF_PERSON)
        or _wall(qos, mates, job, _OF_QOS)
    )


def _beside(limits: Limits, qos: Limits) -> Limits:
    """What Slurm looks at of an association's limits under this QOS; its untyped GPUs are a TRES of their own."""
    types = {kind: amount for kind, amount in limits.gpus_by_type.items() if kind not in qos.gpus_by_type}
    longest = limits.longest_minutes if qos.longest_minutes is None else None
    return dataclasses.replace(limits, gpus_by_type=types, longest_minutes=longest)


class _Reasons(NamedTuple):
    gpus: str
    types: str
    jobs: str
    wall: str


_OF_PERSON = _Reasons("AssocGrpBilling", "AssocGrpGRES", "AssocMaxJobsLimit", "AssocMaxWallDurationPerJobLimit")
_OF_QOS = _Reasons("QOSGrpGRES", "QOSGrpGRES", "QOSGrpJobsLimit", "QOSMaxWallDurationPerJobLimit")


def _wall(limits: Limits, running: Sequence[FakeJob], job: FakeJob, reasons: _Reasons) -> str:
    """`running` are the jobs that count against these limits already."""
    used = sum(mate.gpus for mate in running)
    typed = sum(mate.gpus for mate in running if mate.asked.gpu_type == job.asked.gpu_type)
    cap = limits.gpus_by_type.get(job.asked.gpu_type)
    if job.gpus and limits.gpus_at_once is not None and used + job.gpus > limits.gpus_at_once:
        return reasons.gpus
    if job.gpus and cap is not None and typed + job.gpus > cap:
        return reasons.types
    if limits.jobs_running is not None and len(running) >= limits.jobs_running:
        return reasons.jobs
    if limits.longest_minutes is not None and job.asked.time_limit_minutes > limits.longest_minutes:
        return reasons.wall
    return ""
