"""The cluster as one picture, and what is done about it."""

from cluster.models.picture import NODES, PARTITIONS, STALE_AFTER, Cluster, Node, Partition

__all__ = ["NODES", "PARTITIONS", "STALE_AFTER", "Cluster", "Node", "Partition"]
