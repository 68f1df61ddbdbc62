"""What the fake slurmctld refuses at the door. Requests that merely cannot run now, or ever, are accepted held."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slurm.contract import Refused, Submission

if TYPE_CHECKING:
    from slurm.books import Association, Limits
    from slurm.fake.cluster import Cluster
    from slurm.fake.jobs import FakeJob


def check(cluster: Cluster, asked: Submission, user: str) -> None:
    """Raise Refused with the errno the real one answers."""
    if asked.partition not in cluster.partitions:
        raise Refused("Invalid partition name specified", code=2000)
    member = association(cluster, asked, user)
    if member is None:
        raise Refused("Invalid account or account/partition combination specified", code=2045)
    if asked.qos not in member.qos or asked.qos not in cluster.qos:
        raise Refused("Invalid qos specification", code=2066)
    if not asked.environment:
        raise Refused("environment must be set", code=2127)
    if not asked.script.startswith("#!"):
        raise Refused("This does not look like a batch script", code=2125)
    if asked.constraint and not set(re.findall(r"[\w.-]+", asked.constraint)) <= cluster.features:
        raise Refused("Invalid feature specification", code=2029)
    if asked.reservation and asked.reservation not in cluster.reservations:
        raise Refused("Requested reservation is invalid", code=2053)
    _limits(cluster, asked, user, member)


def association(cluster: Cluster, asked: Submission, user: str) -> Association | None:
    """The person's row a job counts under: that of its partition, or the one for all."""
    mine = cluster.associations
    return mine.get((asked.account, user, asked.partition)) or mine.get((asked.account, user, ""))


def _limits(cluster: Cluster, asked: Submission, user: str, member: Association) -> None:
    """Only these refuse: too many jobs, and with DenyOnLimit a job that breaks a limit standing alone."""
    waiting = [job for job in cluster.present() if not job.is_over]
    own = [job for job in waiting if association(cluster, job.asked, job.user) is member]
    of_qos = [job for job in waiting if job.asked.qos == asked.qos]
    qos = cluster.qos[asked.qos]
    overruled = any(word.startswith("MaxSubmitJobs") for word in qos.overrules)
    if (_is_full(member.limits, own) and not overruled) or _is_full(qos.limits, of_qos):
        raise Refused(_POLICY, code=2050)
    if qos.deny_on_limit and _breaks_alone(cluster, asked):
        raise Refused(_POLICY, code=2050)


def _is_full(limits: Limits, jobs: Sequence[FakeJob]) -> bool:
    return limits.jobs_submitted is not None and len(jobs) >= limits.jobs_submitted


def _breaks_alone(cluster: Cluster, asked: Submission) -> bool:
    limits, gpus = cluster.qos[asked.qos].limits, asked.gpus * asked.nodes
    typed = limits.gpus_by_type.get(asked.gpu_type)
    return (
        (limits.gpus_at_once is not None and gpus > limits.gpus_at_once)
        or (typed is not None and gpus > typed)
        or (limits.longest_minutes is not None and asked.time_limit_minutes > limits.longest_minutes)
    )


_POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
