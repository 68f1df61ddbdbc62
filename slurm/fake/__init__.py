"""A cluster in memory that behaves as the real one does, held to the same contract tests.

cluster = slurm.fake.named("unit")          # what slurm.connect("fake:unit") speaks to
cluster.open_account("visao", users={"ana": 20001}, partitions=("gpu",), qos="visao-2026")
cluster.finish(job_id, exit_code=1)         # scenes: finish, requeue, lose, refuse_next, lose_next_answer, ...
cluster.turn(minutes=5)                     # its clock is the wall clock plus what it was turned
"""

from __future__ import annotations

from slurm.fake.cluster import Cluster
from slurm.fake.faults import Health
from slurm.fake.hardware import Node, Partition

__all__ = ["Cluster", "Health", "Node", "Partition", "named", "reset"]
_CLUSTERS: dict[str, Cluster] = {}


def named(name: str) -> Cluster:
    """The cluster of this name in this process; made on first use."""
    return _CLUSTERS.setdefault(name, Cluster())


def reset(name: str) -> Cluster:
    """A fresh one under this name, for gateways already connected too."""
    cluster = named(name)
    cluster.__dict__.clear()
    Cluster.__init__(cluster)
    return cluster
