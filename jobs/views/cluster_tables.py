"""The cluster page's tables of nodes and of queues as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from access import gate
from access.permissions import Permission
from accounts.http import SignedInRequest
from cluster.models import Node
from jobs.views.cluster import NODES, queues
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
