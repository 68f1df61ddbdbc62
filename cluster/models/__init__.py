"""The cluster as one picture, and what is done about it."""

from cluster.models.gpus import GPUS, NOTICE_AFTER, Gpu, OutsideUse
from cluster.models.picture import NODES, PARTITIONS, STALE_AFTER, Cluster, Node, Partition

__all__ = [
    "GPUS", "NODES", "NOTICE_AFTER", "PARTITIONS", "STALE_AFTER", "Cluster", "Gpu", "Node", "OutsideUse", "Partition",
]  # fmt: skip
