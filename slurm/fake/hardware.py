"""The fake cluster's machines: what is in them, what is taken, where a job fits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from slurm.contract import NodeRecord, PartitionRecord, Submission


@dataclasses.dataclass
class Node:
    """Memory in MB; `state` IDLE means in service, DOWN and DRAIN out of it."""

    name: str
    cpus: int
    memory_mb: int
    gpu_type: str = ""
    gpus: int = 0
    state: str = "IDLE"
    reason: str = ""


@dataclasses.dataclass
class Partition:
    """None means no limit; `memory_per_cpu` in MB is what a job gets that asks for none."""

    name: str
    nodes: tuple[str, ...]
    max_time_minutes: int | None = None
    default_time_minutes: int | None = None
    max_nodes: int | None = None
    memory_per_cpu: int = 2000
    state: str = "UP"


@dataclasses.dataclass(frozen=True)
class Share:
    """What a job takes on each of its nodes."""

    cpus: int
    memory_mb: int
    gpus: int
    gpu_type: str
    exclusive: bool = False


def default_nodes() -> dict[str, Node]:
    listed = (
        Node("gpu01", 16, 64000, "a100", 4),
        Node("gpu02", 16, 64000, "a100", 4),
        Node("big01", 64, 256000, "h100", 8),
        Node("prep01", 8, 16000),
    )
    return {node.name: node for node in listed}


def default_partitions() -> dict[str, Partition]:
    listed = (
        Partition("gpu", ("gpu01", "gpu02"), 1440, 60, 2),
        Partition("large", ("big01",), 2880, 60, 1),
        Partition("prep", ("prep01",), 720, 30, 1, memory_per_cpu=1000),
    )
    return {partition.name: partition for partition in listed}


def share(asked: Submission, partition: Partition) -> Share:
    cpus = -(-asked.tasks * asked.cpus_per_task // asked.nodes)
    return Share(cpus, asked.memory_mb or cpus * partition.memory_per_cpu, asked.gpus, asked.gpu_type, asked.exclusive)


def could_hold(node: Node, want: Share) -> bool:
    """Whether an empty node of this kind would do."""
    typed = not want.gpus or want.gpu_type in ("", node.gpu_type)
    return typed and want.cpus <= node.cpus and want.memory_mb <= node.memory_mb and want.gpus <= node.gpus


def has_room(node: Node, want: Share, taken: Iterable[Share]) -> bool:
    used = list(taken)
    left = Node(
        node.name,
        node.cpus - sum(one.cpus for one in used),
        node.memory_mb - sum(one.memory_mb for one in used),
        node.gpu_type,
        node.gpus - sum(one.gpus for one in used),
    )
    alone = not used or not (want.exclusive or any(one.exclusive for one in used))
    return node.state == "IDLE" and alone and could_hold(left, want)


def node_record(node: Node, taken: Iterable[Share], partitions: Mapping[str, Partition]) -> NodeRecord:
    used = list(taken)
    cpus = sum(one.cpus for one in used)
    busy = "IDLE" if not cpus else "ALLOCATED" if cpus >= node.cpus else "MIXED"
    states = {"DOWN"} if node.state == "DOWN" else {busy, *({node.state} - {"IDLE"})}
    return NodeRecord(
        name=node.name,
        states=frozenset(states),
        cpus=node.cpus,
        cpus_allocated=cpus,
        memory_mb=node.memory_mb,
        memory_allocated_mb=sum(one.memory_mb for one in used),
        gpu_types={node.gpu_type: node.gpus} if node.gpus else {},
        gpus_allocated=sum(one.gpus for one in used),
        partitions=tuple(name for name, one in partitions.items() if node.name in one.nodes),
        reason=node.reason,
    )


def partition_record(partition: Partition, nodes: Mapping[str, Node]) -> PartitionRecord:
    return PartitionRecord(
        name=partition.name,
        state=partition.state,
        nodes=partition.nodes,
        max_time_minutes=partition.max_time_minutes,
        default_time_minutes=partition.default_time_minutes,
        max_nodes=partition.max_nodes,
        total_cpus=sum(nodes[name].cpus for name in partition.nodes),
        billing={"gres/gpu": 1.0},
    )
