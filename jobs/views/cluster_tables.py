"""The tables of the cluster's pages as CSV: nodes, queues, a node's GPUs, who used GPUs outside the queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from audit import trail
from audit.actions import Action
from cluster.models import Gpu, Node
from jobs.views.cluster import NODES, queues
from jobs.views.operating import only_operators, outside_use, the_node
from projects import tables


@login_required
@require_safe
def nodes_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """Every node; why one is out is for cluster administrators, as on the page."""
    operates = gate.site_can(request.user, Permission.CLUSTER_OPERATE)
    head = [
        _("node"), _("queues"), _("state"), _("GPUs"), _("GPUs in use"), _("GPU type"), _("CPUs"), _("CPUs in use"),
        _("memory (MB)"), _("memory in use (MB)"), *([_("reason")] if operates else []),
    ]  # fmt: skip
    rows = ([*_node(node), *([node.reason] if operates else [])] for node in NODES.all())
    return tables.of_today("nodes", head, rows)


def _node(node: Node) -> list[Any]:
    return [
        node.name, "; ".join(node.partition_names), " ".join(node.states), node.gpus, node.gpus_allocated,
        "; ".join(sorted(node.gpu_types)), node.cpus, node.cpus_allocated, node.memory_mb, node.memory_allocated_mb,
    ]  # fmt: skip


@login_required
@require_safe
def queues_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """Every queue, how full it is, what waits and how long that usually takes."""
    head = [
        _("queue"), _("GPUs"), _("GPUs in use"), _("GPUs out of service"), _("waiting"), _("usual wait (seconds)"),
        _("time limit (minutes)"),
    ]  # fmt: skip
    return tables.of_today("queues", head, _queues())


def _queues() -> Iterator[list[Any]]:
    for one in queues(NODES.all()):
        wait = None if one.wait is None else round(one.wait.total_seconds())
        yield [one.row.name, one.gpus, one.taken, one.out, one.waiting, wait, one.row.max_time_minutes]


@login_required
@require_safe
def gpus_csv(request: SignedInRequest, name: str) -> StreamingHttpResponse:
    """What was last read of each GPU of a node."""
    node = the_node(name)
    head = [
        "GPU", _("GPU type"), _("state"), _("use (%)"), _("memory (MiB)"), _("memory there is (MiB)"), _("power (W)"),
        _("temperature (°C)"), _("faults"), _("slowed by"), _("read at"),
    ]  # fmt: skip
    rows = Gpu.objects.filter(cluster=node.cluster, node_name=node.name)
    return tables.of_today(f"{node.name}-gpus", head, map(_gpu, rows))


def _gpu(row: Gpu) -> list[Any]:
    return [
        row.index, row.model, row.state, row.utilization, row.memory_mib, row.memory_total_mib, row.power_watts,
        row.temperature, "; ".join(row.faults), "; ".join(row.throttled), row.seen_at.isoformat(timespec="seconds"),
    ]  # fmt: skip


@login_required
@require_GET
def outside_csv(request: SignedInRequest) -> StreamingHttpResponse:
    """Who used GPUs outside the queue in the last thirty days; that an administrator took it is recorded."""
    only_operators(request)
    found = outside_use()
    trail.record(Action.REPORT_READ, by=request.user, table="outside")
    people, uses = found["people"], found["outside"]
    rows = ([one.uid, people.get(one.uid), "; ".join(one.nodes), round(one.hours, 2)] for one in uses)
    return tables.of_today("outside-the-queue", [_("user number"), _("login"), _("nodes"), _("GPU-hours")], rows)
