"""The picture of the cluster as rooms: what runs gives back at its limit, what waits comes first, windows are shut."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from cluster.models import NODES, PARTITIONS, Cluster, Maintenance, Node
from jobs.models import Job, Run
from jobs.services.planning.rooms import FOR_EVER, Demand, Room, Rooms
from jobs.states import State
from slurm.text import hosts

KEPT = 15.0  # seconds that one picture, and each answer from it, is good for
MOST_BEFORE, MOST_TASKS = 200, 50  # waiting jobs that are placed, and tasks of each
WAITS = (State.WAITING, State.REQUEUED, State.HANDING, State.CONFIRMING)
RUNS = (State.RUNNING, State.ENDING)
LONGEST = 366 * 24 * 60  # minutes: where nothing says how long
NOT_YET = ("Dependency", "BeginTime", "JobHeld")
_FACTS = ("partition", "gpu_type", "gpus", "nodes", "cpus", "memory_mb", "time_limit_minutes")


@dataclasses.dataclass(slots=True)
class Picture:
    """One look: rooms with all that is ahead, the windows to come, what allocations use, and answers given so far."""

    now: float
    seen_at: datetime | None
    rooms: Rooms
    windows: Sequence[Maintenance]
    places: dict[str, frozenset[str]]  # partition -> its nodes
    running: dict[int, list[tuple[float, int]]]  # allocation -> (end, GPUs) of each job that runs
    ahead: dict[str, int]  # partition -> how many jobs wait there
    answers: dict[Demand, float | None] = dataclasses.field(default_factory=dict)

    def start(self, demand: Demand) -> float | None:
        """When this could start; the same question is answered once."""
        if demand not in self.answers:
            found = self.rooms.first(demand)
            self.answers[demand] = found[0] if found else None
        return self.answers[demand]


_lock = threading.Lock()
_last: dict[str, Picture] = {}


def look(at: float | None = None) -> Picture:
    """The picture of this moment, made at most every 15 seconds by a process."""
    now = time.time() if at is None else at
    with _lock:
        last = _last.get(settings.CLUSTER_NAME)
        if last is None or not 0 <= now - last.now < KEPT:
            last = _last[settings.CLUSTER_NAME] = _drawn(now)
        return last


def forget() -> None:
    """The next look is a new one."""
    _last.clear()


def _drawn(now: float) -> Picture:
    cluster = Cluster.objects.filter(name=settings.CLUSTER_NAME).first()
    rooms = Rooms({node.name: _room(node, now) for node in NODES.all()})
    running: dict[int, list[tuple[float, int]]] = {}
    for run in _runs():
        _give_back(rooms, run, now, running)
    windows = list(Maintenance.objects.filter(cancelled_at=None, ends_at__gt=timezone.now())) if cluster else []
    for window in windows:
        for name in window.node_names or rooms.rooms:
            if name in rooms.rooms:
                room = rooms.rooms[name]
                room.take(max(now, window.starts_at.timestamp()), window.ends_at.timestamp(), room.whole)
    places = {row.name: frozenset(row.node_names) for row in PARTITIONS.all()}
    seen = cluster.jobs_seen_at if cluster else None
    return Picture(now, seen, rooms, windows, places, running, _place(rooms, places, now))


def _room(node: Node, now: float) -> Room:
    whole = (node.cpus, node.memory_mb, node.gpus)
    used = (node.cpus_allocated, node.memory_allocated_mb, node.gpus_allocated)
    free = (0, 0, 0) if node.out_of_service else tuple(max(0, a - b) for a, b in zip(whole, used, strict=True))
    return Room(now, free, (0, 0, 0) if node.out_of_service else whole, node.gpu_types)  # type: ignore[arg-type]


def _runs() -> Iterable[Run]:
    rows = Run.objects.filter(ended_at=None, handover__job__state__in=RUNS).exclude(started_at=None)
    facts = [f"handover__job__{name}" for name in (*_FACTS, "allocation_id")]
    return rows.select_related("handover__job").only("started_at", "node_list", "handover__id", *facts)


def _give_back(rooms: Rooms, run: Run, now: float, running: dict[int, list[tuple[float, int]]]) -> None:
    """At its limit: many end sooner. One that is past it ends any moment."""
    job = run.handover.job
    if run.started_at is None or not job.time_limit_minutes:
        return
    end = max(now, run.started_at.timestamp() + 60 * job.time_limit_minutes)
    for name in hosts(run.node_list):
        if name in rooms.rooms:
            rooms.rooms[name].give_back(end, (job.cpus, job.memory_mb, job.gpus))
    if job.allocation_id:
        running.setdefault(job.allocation_id, []).append((end, job.total_gpus))


def _place(rooms: Rooms, places: dict[str, frozenset[str]], now: float) -> dict[str, int]:
    """What was asked for earlier, in its order; each takes its room. How many wait, by partition."""
    facts = (*_FACTS, "reason", "options", "task_counts", "planned_at")
    rows = Job.objects.open().filter(state__in=WAITS).only(*facts).order_by("pk")
    counts: dict[str, int] = {}
    for job in rows[:MOST_BEFORE]:
        if job.reason.strip("() ").startswith(NOT_YET):
            continue
        counts[job.partition] = counts.get(job.partition, 0) + 1
        demand = demand_of(job, places.get(job.partition, frozenset()), now)
        left = int(job.task_counts.get("waiting", job.asked.tasks)) if job.is_array else 1
        for _task in range(min(left, MOST_TASKS)):
            if rooms.place(demand) is None:
                break
    return counts


def demand_of(job: Job, places: frozenset[str], now: float) -> Demand:
    """What a job asks of its nodes; not before Slurm means to start it."""
    seconds = 60.0 * (job.time_limit_minutes or LONGEST)
    earliest = max(now, job.planned_at.timestamp()) if job.planned_at else now
    return Demand(places, job.nodes, (job.cpus, job.memory_mb, job.gpus), seconds, job.gpu_type, earliest)


__all__ = ["FOR_EVER", "Picture", "demand_of", "forget", "look"]
