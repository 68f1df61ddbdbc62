"""The fake's door for orders to nodes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from slurm.contract import Refused
from slurm.operating import checked, window

if TYPE_CHECKING:
    from slurm.fake.cluster import Cluster


class FakeNodes:
    """As slurm.operating.Nodes says."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def drain(self, node: str, reason: str) -> None:
        self._set(node, "DRAIN", reason)

    def resume(self, node: str) -> None:
        self._set(node, "IDLE", "")

    def reserve(self, name: str, nodes: Sequence[str], start: datetime, end: datetime) -> None:
        self.cluster.health.check("slurmctld")
        for node in nodes:
            self._known(node)
        self.cluster.windows[window(name)] = (tuple(nodes), start, end)

    def unreserve(self, name: str) -> None:
        self.cluster.health.check("slurmctld")
        self.cluster.windows.pop(window(name), None)

    def _set(self, name: str, state: str, reason: str) -> None:
        self.cluster.health.check("slurmctld")
        with self.cluster.lock:
            self._known(name)
            self.cluster.nodes[name].state, self.cluster.nodes[name].reason = state, reason

    def _known(self, name: str) -> None:
        if checked(name) not in self.cluster.nodes:
            raise Refused("slurm_update error: Invalid node name specified", code=2009)
