"""Put what Slurm says of its nodes and partitions into the one picture everybody sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from cluster.models import Cluster, Maintenance, Node, Partition
from slurm.contract import NodeRecord, PartitionRecord, ReservationRecord

MOST_NAMES = 200  # of users, and of accounts, that one reservation is kept for
MOST_RESERVATIONS = 50  # what every page may load with the picture


@transaction.atomic
def see_nodes(cluster: Cluster, records: Sequence[NodeRecord]) -> None:
    """Keep one row a node; nodes that Slurm no longer has go."""
    cluster.nodes.exclude(name__in=[record.name for record in records]).delete()
    for record in records:
        Node.objects.update_or_create(cluster=cluster, name=record.name, defaults=_node(record))
    cluster.nodes_seen_at = timezone.now()
    cluster.save(update_fields=["nodes_seen_at"])


def _node(record: NodeRecord) -> dict[str, Any]:
    return {
        "states": sorted(record.states),
        "cpus": record.cpus,
        "cpus_allocated": record.cpus_allocated,
        "memory_mb": record.memory_mb,
        "memory_allocated_mb": record.memory_allocated_mb,
        "gpu_types": dict(record.gpu_types),
        "gpus_allocated": record.gpus_allocated,
        "partition_names": list(record.partitions),
        "reason": record.reason[:300],
        "reason_since": record.reason_since,
    }


@transaction.atomic
def see_partitions(cluster: Cluster, records: Sequence[PartitionRecord]) -> None:
    """Keep one row a partition, its GPU types and largest node counted from the nodes of the picture."""
    nodes = {node.name: node for node in cluster.nodes.all()}
    cluster.partitions.exclude(name__in=[record.name for record in records]).delete()
    for record in records:
        members = [nodes[name] for name in record.nodes if name in nodes]
        Partition.objects.update_or_create(cluster=cluster, name=record.name, defaults=_partition(record, members))
    cluster.partitions_seen_at = timezone.now()
    cluster.save(update_fields=["partitions_seen_at"])


def see_reservations(cluster: Cluster, records: Sequence[ReservationRecord]) -> None:
    """Keep when which nodes are reserved and for whom; not the portal's own windows, which have their rows."""
    cluster.reservations = [
        {
            "name": record.name[:80],
            "starts_at": record.start_time.isoformat(),
            "ends_at": record.end_time.isoformat(),
            "nodes": list(record.nodes),
            "users": list(record.users[:MOST_NAMES]),
            "accounts": list(record.accounts[:MOST_NAMES]),
        }
        for record in sorted(records, key=lambda record: record.start_time)[:MOST_RESERVATIONS]
        if not record.name.startswith(Maintenance.PREFIX)
    ]
    cluster.save(update_fields=["reservations"])


def _partition(record: PartitionRecord, nodes: list[Node]) -> dict[str, Any]:
    return {
        "state": record.state,
        "node_names": list(record.nodes),
        "gpu_types": _gpu_types(nodes),
        "max_time_minutes": record.max_time_minutes,
        "default_time_minutes": record.default_time_minutes,
        "max_nodes": record.max_nodes,
        "cpus_per_node": max((node.cpus for node in nodes), default=0),
        "memory_mb_per_node": max((node.memory_mb for node in nodes), default=0),
        "allowed_accounts": list(record.allowed_accounts),
        "allowed_qos": list(record.allowed_qos),
    }


def _gpu_types(nodes: list[Node]) -> dict[str, dict[str, int]]:
    types: dict[str, dict[str, int]] = {}
    for node in nodes:
        for kind, count in node.gpu_types.items():
            row = types.setdefault(kind, {"per_node": 0, "total": 0})
            row["per_node"] = max(row["per_node"], count)
            row["total"] += count
    return types
