"""The follower's rhythm: one loop a cluster, whatever the number of viewers."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import close_old_connections

from audit.services import unseen
from cluster import services as clusters
from cluster import slurm_door
from cluster.models import Cluster
from jobs.services import asking, booking, catching_up, following, left_behind
from jobs.services.afterwards import measuring
from slurm.contract import Gateway, SlurmError

log = structlog.get_logger(__name__)
GLANCE, SOON = 1.0, 2.0  # seconds between two glances at our own rows; until a look when work has come
NODES_CHANGED = 15.0  # where jobs began or ended, the nodes are looked at sooner: at most four calls a minute
# seconds between two looks at the jobs: while they change, while they only run or wait, while there are none. squeue
# asks slurmctld for its partitions too, so that a look is two calls
BUSY, STEADY, IDLE = 5.0, 10.0, 30.0
LIVELY = 30.0  # seconds after a change in which another is likely
NODES, PARTITIONS, RESERVATIONS, VERSION = 30.0, 60.0, 120.0, 600.0
PEOPLE, USAGE = 5.0, 60.0  # our own rows only: who has left, and what runs have used so far
MEASURING = 15.0  # our own rows say whether anything ended that is not measured yet
ACCOUNTING = 300.0  # slurmctld shows a job for minutes after its end, so that there is seldom anything to catch up


class Follower:
    """Looks at each part of the cluster when its time has come."""

    def __init__(self, gateway: Gateway | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.gateway = gateway or slurm_door.gateway()
        self.clock = clock
        self.running: frozenset[following.Key] = frozenset()
        self.nodes_at = self.moved_at = 0.0
        self.pulse: following.Pulse | None = None
        self.due: dict[str, float] = dict.fromkeys(self._parts(), 0.0)

    def step(self) -> float:
        """Do what is due; seconds until the next thing is."""
        cluster = asking.the_cluster()
        if self.due["jobs"] - self.clock() > BUSY and following.pulse(cluster) != self.pulse:
            self.due["jobs"] = self.clock() + SOON  # somebody asked for something while nothing was expected
        for part, look in self._parts().items():
            if self.clock() >= self.due[part]:
                self.due[part] = self.clock() + self._look(cluster, part, look)
        return min(GLANCE, max(0.1, min(self.due.values()) - self.clock()))

    def _parts(self) -> dict[str, Callable[[Cluster], float]]:
        return {
            "version": self._version, "nodes": self._nodes, "partitions": self._partitions, "jobs": self._jobs,
            "people": self._people, "usage": self._usage, "accounting": self._accounting,
            "measuring": self._measuring, "reservations": self._reservations,
        }  # fmt: skip

    def _look(self, cluster: Cluster, part: str, look: Callable[[Cluster], float]) -> float:
        try:
            return look(cluster)
        except SlurmError as error:
            log.warning("Slurm does not answer", part=part, why=str(error))
            following.silent(cluster, f"{part}: {error}")
            return BUSY

    def _version(self, cluster: Cluster) -> float:
        cluster.slurm_version = self.gateway.version()
        cluster.simulated = settings.SIMULATED_GPUS
        cluster.save(update_fields=["slurm_version", "simulated"])
        return VERSION

    def _nodes(self, cluster: Cluster) -> float:
        self.nodes_at = self.clock()
        clusters.see_nodes(cluster, self.gateway.nodes())
        return NODES

    def _partitions(self, cluster: Cluster) -> float:
        clusters.see_partitions(cluster, self.gateway.partitions())
        return PARTITIONS

    def _reservations(self, cluster: Cluster) -> float:
        clusters.see_reservations(cluster, self.gateway.reservations())
        return RESERVATIONS

    def _jobs(self, cluster: Cluster) -> float:
        seen_at = cluster.jobs_seen_at
        running = following.look_at_jobs(self.gateway, cluster)
        unseen.back_again(seen_at, about=cluster)
        if running != self.running:
            self.running = running
            self.due["nodes"] = min(self.due["nodes"], self.nodes_at + NODES_CHANGED)
        return self._pace(following.pulse(cluster))

    def _people(self, cluster: Cluster) -> float:
        left_behind.follow_memberships(cluster)
        return PEOPLE

    def _usage(self, cluster: Cluster) -> float:
        booking.book_under_way(cluster)
        return USAGE

    def _accounting(self, cluster: Cluster) -> float:
        try:
            catching_up.catch_up(self.gateway, cluster)
        except SlurmError as error:  # slurmctld may answer meanwhile, and what it says is the picture
            log.info("accounting does not answer", why=str(error))
            return USAGE
        return ACCOUNTING

    def _measuring(self, cluster: Cluster) -> float:
        try:
            measuring.measure(self.gateway, cluster)
        except SlurmError as error:  # as with the accounting
            log.info("accounting does not answer", why=str(error))
            return USAGE
        return MEASURING

    def _pace(self, pulse: following.Pulse) -> float:
        if pulse != self.pulse:
            self.pulse, self.moved_at = pulse, self.clock()
        if not pulse.open:
            return IDLE
        return BUSY if pulse.on_their_way or self.clock() - self.moved_at < LIVELY else STEADY


def run(stop: Callable[[], bool], wait: Callable[[float], object]) -> None:
    """Until told to stop; what breaks a look does not break the loop."""
    follower = Follower()
    while not stop():
        try:
            pause = follower.step()
        except Exception:
            log.exception("a look failed")
            pause = BUSY
            close_old_connections()
        wait(pause)
