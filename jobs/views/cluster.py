"""The cluster page: nodes with their GPUs, queues with what waits in them, windows, why nodes are out. One picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Aggregate, Count, DurationField, F, OuterRef, Value
from django.db.models.functions import JSONObject
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_safe

from access import gate
from access.compiled import Fixed
from access.ids import first_at
from access.permissions import Permission
from accounts.http import SignedInRequest
from cluster.models import PARTITIONS, Gpu, Node, Partition
from jobs.models import Job
from jobs.services.gpus import boxes
from jobs.states import State

MOST = 200  # running jobs that are listed
LATELY = timedelta(days=1)  # of which the usual wait is told
_GPU = ("index", "state", "utilization", "temperature", "throttled", "faults", "slurm_jobs", "strangers", "seen_at")


def _nodes() -> Any:
    """With the cards of each, so that all is one question."""
    cards = Gpu.objects.filter(cluster=OuterRef("cluster"), node_name=OuterRef("name")).order_by("index")
    return Node.objects.annotate(cards=ArraySubquery(cards.values(json=JSONObject(**{name: name for name in _GPU}))))


NODES = Fixed(_nodes)
RUNNING = gate.Listing(
    lambda: Job.objects.lines().filter(state__in=(State.RUNNING, State.ENDING)).open().order_by("-pk"), most=MOST
)


class Median(Aggregate):
    """PostgreSQL's percentile_cont(0.5)."""

    function, template = "PERCENTILE_CONT", "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = DurationField()


@dataclasses.dataclass(frozen=True, slots=True)
class Queue:
    """One partition: how many of its GPUs are taken, how many jobs wait, how long they usually do."""

    row: Partition
    gpus: int
    taken: int
    out: int
    waiting: int
    wait: timedelta | None


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """Nodes that are out of service for the same reason; `since` is the first of them."""

    words: str
    nodes: list[Node]
    since: datetime | None


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One node as the table shows it."""

    node: Node
    boxes: list[boxes.Box]


@login_required
@require_safe
def cluster(request: SignedInRequest) -> HttpResponse:
    """Nodes, their GPUs, the partitions and their queues, as last seen."""
    running = RUNNING.allowing(request.user, Permission.JOB_VIEW)
    nodes: Sequence[Any] = NODES.all()
    visible = {job.pk for job in running}
    lines = [Line(node, boxes.of_node(node, _cards(node), running, visible, request.user.pk)) for node in nodes]
    context = {
        "lines": lines, "nodes": nodes, "queues": queues(nodes), "running": running, "causes": _causes(nodes),
        "outside": sum(box.kind == boxes.OUTSIDE for line in lines for box in line.boxes),
    }  # fmt: skip
    return render(request, "cluster/overview.html", context)


def _cards(node: Any) -> list[Gpu]:
    return [Gpu(node_name=node.name, **(card | {"seen_at": parse_datetime(card["seen_at"])})) for card in node.cards]


def queues(nodes: Iterable[Node]) -> list[Queue]:
    """What waits now, and how long jobs of the last day waited: one question."""
    now = timezone.now()
    waiting = Job.objects.filter(state=State.WAITING).open().order_by().values("partition")
    lately = Job.objects.filter(pk__gte=first_at((now - LATELY).timestamp()), started_at__isnull=False)
    waited = Median(F("started_at") - F("created_at"))
    rows = waiting.annotate(n=Count("pk"), wait=Value(None, DurationField())).union(
        lately.order_by().values("partition").annotate(n=Value(0), wait=waited), all=True
    )
    counts: dict[str, int] = {}
    waits: dict[str, timedelta] = {}
    for row in rows:
        counts[row["partition"]] = counts.get(row["partition"], 0) + row["n"]
        waits |= {row["partition"]: row["wait"]} if row["wait"] is not None else {}
    return [_queue(row, list(nodes), counts, waits) for row in PARTITIONS.all()]


def _queue(row: Partition, nodes: list[Node], counts: dict[str, int], waits: dict[str, timedelta]) -> Queue:
    own = [node for node in nodes if node.name in row.node_names]
    out = sum(node.gpus - min(node.gpus, node.gpus_allocated) for node in own if node.out_of_service)
    return Queue(
        row, sum(node.gpus for node in own), sum(min(node.gpus, node.gpus_allocated) for node in own), out,
        counts.get(row.name, 0), waits.get(row.name),
    )  # fmt: skip


def _causes(nodes: Iterable[Node]) -> list[Cause]:
    """Nodes out of service by their reason, the oldest first; its words are for administrators to read."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        if node.out_of_service:
            found.setdefault(node.reason.strip(), []).append(node)
    causes = [
        Cause(words, own, min((n.reason_since for n in own if n.reason_since), default=None))
        for words, own in found.items()
    ]
    return sorted(causes, key=lambda cause: (cause.since is None, cause.since, cause.words))
