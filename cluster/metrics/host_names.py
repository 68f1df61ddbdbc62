"""What a site's exporters call what a job uses of its nodes beside the GPUs: our agent, or node_exporter."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from cluster.metrics.names import MIB

# of the job itself; the others are of the whole node, whoever causes them
OF_JOB = ("cpu", "job_memory", "pressure_cpu", "pressure_memory", "pressure_io", "read", "written")
OF_NODE = ("storage_read", "storage_written", "received", "sent")
VOLUMES = frozenset(("read", "written", *OF_NODE))  # of which a run has so much in all
UNITS = {
    "cpu": "CPU", "job_memory": "MiB", "pressure_cpu": "%", "pressure_memory": "%", "pressure_io": "%",
} | dict.fromkeys(("read", "written", *OF_NODE), "MiB/s")  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """One question about all nodes of a job; each value of `label` is a reading of its own.

    In `expression`: `{of}` chooses job and nodes, `{nodes}` the nodes alone, `{window}` is the span of a rate.
    """

    expression: str
    readings: Mapping[str, str]
    label: str = ""
    factor: float = 1.0


def _rate(series: str, by: str = "node", of: str = "{of}") -> str:
    return f"sum by ({by}) (rate({series}{{{{{of}}}}}[{{window}}]))"


def _both(*series: str) -> str:
    """Of all network cards and InfiniBand ports but the loopback."""
    return _rate("", of=f'__name__=~"{"|".join(series)}",device!="lo",{{nodes}}')


OURS = (
    Asked(_rate("bancada_job_cpu_seconds_total"), {"": "cpu"}),
    Asked("sum by (node) (bancada_job_memory_bytes{{{of}}})", {"": "job_memory"}, factor=MIB),
    Asked(
        "max by (node, resource) (bancada_job_pressure_ratio{{{of}}})",
        {"cpu": "pressure_cpu", "memory": "pressure_memory", "io": "pressure_io"}, "resource", 100,
    ),
    Asked(_rate("bancada_job_read_bytes_total"), {"": "read"}, factor=MIB),
    Asked(_rate("bancada_job_written_bytes_total"), {"": "written"}, factor=MIB),
    Asked(
        _rate("bancada_storage_bytes_total", "node, direction", "{nodes}"),
        {"read": "storage_read", "written": "storage_written"}, "direction", MIB,
    ),
    Asked(
        _rate("bancada_network_bytes_total", "node, direction", "{nodes}"),
        {"received": "received", "sent": "sent"}, "direction", MIB,
    ),
)  # fmt: skip
# node_exporter knows nodes and no jobs: only what is of the whole node is asked of it, never called a job's
NODE_EXPORTER = (
    Asked(_rate("node_mountstats_nfs_total_read_bytes_total", of="{nodes}"), {"": "storage_read"}, factor=MIB),
    Asked(_rate("node_mountstats_nfs_total_write_bytes_total", of="{nodes}"), {"": "storage_written"}, factor=MIB),
    Asked(
        _both("node_network_receive_bytes_total", "node_infiniband_port_data_received_bytes_total"),
        {"": "received"},
        factor=MIB,
    ),
    Asked(
        _both("node_network_transmit_bytes_total", "node_infiniband_port_data_transmitted_bytes_total"),
        {"": "sent"},
        factor=MIB,
    ),
)
BY_NAMES = {"bancada": OURS, "dcgm": NODE_EXPORTER}
