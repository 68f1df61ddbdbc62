"""The cluster as one picture, and what is done about it."""

from cluster.models.acts import Change, Maintenance, NodeChange
from cluster.models.announcements import AT_SIGN_IN, Announcement, Dismissal, Tone, shown_to
from cluster.models.gpus import GPUS, NOTICE_AFTER, Gpu, OutsideUse
from cluster.models.picture import NODES, PARTITIONS, STALE_AFTER, Cluster, Node, Partition

__all__ = [
    "AT_SIGN_IN", "GPUS", "NODES", "NOTICE_AFTER", "PARTITIONS", "STALE_AFTER", "Announcement", "Change", "Cluster",
    "Dismissal", "Gpu", "Maintenance", "Node", "NodeChange", "OutsideUse", "Partition", "Tone", "shown_to",
]  # fmt: skip
