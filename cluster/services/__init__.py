"""The cluster as one picture: what Slurm says of nodes and partitions, what Prometheus says of their GPUs."""

from cluster.services.gpus import look_at_gpus, see_gpus
from cluster.services.seeing import see_nodes, see_partitions, see_reservations

__all__ = ["look_at_gpus", "see_gpus", "see_nodes", "see_partitions", "see_reservations"]
