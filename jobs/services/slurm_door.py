"""The cluster's doors to Slurm, as this room's services call them."""

from cluster.slurm_door import accounts, gateway

__all__ = ["accounts", "gateway"]
