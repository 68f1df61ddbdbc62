"""What the child does with pyslurm: the calls that were tried; some others end the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slurm.contract import Refused, Unreachable
from slurm.native import facts
from slurm.native.submission import described, unpacked


def release_of(pyslurm: Any) -> str:
    """Slurm's release, and that a slurmctld answers."""
    if not any(ping.is_responding for ping in pyslurm.slurmctld.ping_all()):
        raise Unreachable("no slurmctld answers: is it running?")
    return str(pyslurm.slurmctld.Config.load().version)


def submit(pyslurm: Any, *, asked: dict[str, Any], user: str) -> int:
    words = described(unpacked(asked), user)
    try:
        return int(pyslurm.JobSubmitDescription(**words).submit())
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # raised before anything is sent
        raise Refused(f"pyslurm does not take this: {error}") from None


def hold(pyslurm: Any, *, job_id: int, held: bool) -> None:
    """Held by whom it is: its owner, or an administrator. Job.hold("user") would end the process."""
    if held:
        pyslurm.Job(job_id).modify(pyslurm.JobSubmitDescription(priority=0))
    else:
        pyslurm.Job(job_id).release()


def cancel(pyslurm: Any, *, job_id: int) -> None:
    pyslurm.Job(job_id).cancel()


def jobs_of(pyslurm: Any, *, job_id: int) -> list[dict[str, Any]]:
    """The job, or the tasks of the array."""
    one = pyslurm.Job.load(job_id)
    if one.array_id is None:
        return [facts.job(one)]
    return [facts.job(other) for other in pyslurm.Jobs.load().values() if other.array_id == one.array_id]


def accounted(pyslurm: Any, *, account: str, since: int) -> list[dict[str, Any]]:
    wanted = pyslurm.db.JobFilter(accounts=[account], start_time=since)
    return [facts.accounted(one) for one in pyslurm.db.Jobs.load(wanted).values()]


def backlog(pyslurm: Any) -> int:
    return int(pyslurm.slurmctld.diag().dbd_agent_queue_size)


def nodes(pyslurm: Any) -> list[dict[str, Any]]:
    return [facts.node(one) for one in pyslurm.Nodes.load().values()]


def partitions(pyslurm: Any) -> list[dict[str, Any]]:
    return [facts.partition(one) for one in pyslurm.Partitions.load().values()]


KNOWN: dict[str, Callable[..., Any]] = {
    "release_of": release_of,
    "submit": submit,
    "hold": hold,
    "cancel": cancel,
    "jobs_of": jobs_of,
    "accounted": accounted,
    "backlog": backlog,
    "nodes": nodes,
    "partitions": partitions,
}
