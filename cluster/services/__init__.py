"""The cluster as one picture: what Slurm says of nodes and partitions, what Prometheus says of their GPUs."""

from cluster.services.seeing import see_nodes, see_partitions

__all__ = ["see_nodes", "see_partitions"]
