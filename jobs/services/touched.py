"""Which jobs, and whose, an act on nodes touches."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from accounts.models import User
from cluster.models import Maintenance
from jobs.models import Job, Phase
from jobs.states import State
from slurm.text import hosts

RUNNING = (State.RUNNING, State.ENDING)


def on_node(name: str) -> list[Job]:
    """The jobs that run on a node now."""
    rows = Job.objects.lines("owner").filter(state__in=RUNNING, phase=Phase.ACCEPTED).order_by("pk")
    return [job for job in rows if name in hosts(job.node_list)]


def by_window(nodes: Collection[str]) -> list[User]:
    """Whoever has work under way that the window may hold up: all that waits, and what runs on its nodes."""
    rows = Job.objects.open().exclude(owner=None).select_related("owner").only("owner", "node_list", "state")
    people = {job.owner for job in rows if job.owner and _concerns(job, nodes)}
    return sorted((one for one in people if one.is_active), key=lambda one: one.username)


def _concerns(job: Job, nodes: Collection[str]) -> bool:
    return not nodes or not job.node_list or bool(set(nodes) & set(hosts(job.node_list)))


def fits(window: Maintenance, minutes: int, now: datetime) -> bool:
    """Whether a job of so many minutes would end before the window, were it to start now."""
    return now.timestamp() + 60 * minutes <= window.starts_at.timestamp()
