"""GET /cluster: partitions and nodes as last seen, and how old that picture is."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Router, Schema

from access import gate
from access.permissions import Permission
from cluster.models import Cluster, Node, Partition

router = Router()


class KindOut(Schema):
    """GPUs of one type in a partition: on one node at the most, and on all."""

    per_node: int
    total: int


class PartitionOut(Schema):
    """A partition and its limits; null where it sets none."""

    name: str
    state: str
    nodes: list[str]
    gpu_types: dict[str, KindOut]
    cpus_per_node: int
    memory_gb_per_node: int
    max_nodes: int | None
    max_time_minutes: int | None
    default_time_minutes: int | None


class NodeOut(Schema):
    """A node; `gpus_free` is what could be had now. `reason` is for cluster administrators and auditors."""

    name: str
    states: list[str]
    partitions: list[str]
    cpus: int
    cpus_allocated: int
    memory_gb: int
    memory_allocated_gb: int
    gpu_types: dict[str, int]
    gpus_allocated: int
    gpus_free: int
    out_of_service: bool
    reason: str


class ClusterOut(Schema):
    """The picture; `age_seconds` is null before the first look at Slurm."""

    name: str
    slurm_version: str
    simulated_gpus: bool
    reachable: bool
    stale: bool
    age_seconds: float | None
    seen_at: datetime | None
    partitions: list[PartitionOut]
    nodes: list[NodeOut]


@router.get("", response=ClusterOut, operation_id="cluster")
def cluster(request: HttpRequest) -> dict[str, Any]:
    """The cluster as one picture."""
    row = Cluster.objects.filter(name=settings.CLUSTER_NAME).first() or Cluster(name=settings.CLUSTER_NAME)
    reasons = gate.site_can(request.user, Permission.CLUSTER_VIEW)
    return {
        "name": row.name,
        "slurm_version": row.slurm_version,
        "simulated_gpus": row.simulated,
        "reachable": not row.unreachable,
        "stale": row.stale,
        "age_seconds": row.age_seconds,
        "seen_at": row.jobs_seen_at,
        "partitions": [_partition(part) for part in Partition.objects.filter(cluster__name=row.name)],
        "nodes": [_node(node, reasons=reasons) for node in Node.objects.filter(cluster__name=row.name)],
    }


def _partition(row: Partition) -> dict[str, Any]:
    return {
        "name": row.name,
        "state": row.state,
        "nodes": row.node_names,
        "gpu_types": row.gpu_types,
        "cpus_per_node": row.cpus_per_node,
        "memory_gb_per_node": row.memory_mb_per_node // 1024,
        "max_nodes": row.max_nodes,
        "max_time_minutes": row.max_time_minutes,
        "default_time_minutes": row.default_time_minutes,
    }


def _node(row: Node, *, reasons: bool) -> dict[str, Any]:
    return {
        "name": row.name,
        "states": row.states,
        "partitions": row.partition_names,
        "cpus": row.cpus,
        "cpus_allocated": row.cpus_allocated,
        "memory_gb": row.memory_mb // 1024,
        "memory_allocated_gb": row.memory_allocated_mb // 1024,
        "gpu_types": row.gpu_types,
        "gpus_allocated": row.gpus_allocated,
        "gpus_free": 0 if row.out_of_service else max(0, row.gpus - row.gpus_allocated),
        "out_of_service": row.out_of_service,
        "reason": row.reason if reasons else "",
    }
