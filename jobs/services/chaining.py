"""The chain a job stands in: what it waits for and what waits for it, as far as the reader may see."""

from __future__ import annotations

import dataclasses
from uuid import UUID

from django.db.models import Q

from access import gate
from access.permissions import Permission
from accounts.models import User
from jobs import chains
from jobs.models import Job
from jobs.states import State

MOST, ROUNDS = 24, 6  # jobs drawn, and steps to each side


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """A box with its job; None for one that the reader may not see."""

    box: chains.Box
    job: Job | None
    is_here: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Chain:
    """`broken`: this very job can never start."""

    drawing: chains.Drawing
    nodes: list[Node]
    broken: bool


def of(job: Job, user: User) -> Chain | None:
    """None where it waits for nothing and nothing waits for it."""
    found = _gathered(job)
    if len(found) < 2:
        return None
    edges = [
        chains.Edge(after["job"], str(row.pk), after["kind"])
        for row in found.values()
        for after in row.options.get("after", ())
        if UUID(after["job"]) in found
    ]
    drawing = chains.draw(edges, {str(pk): State(row.state) for pk, row in found.items()})
    rows = Job.objects.filter(pk__in=list(found))
    seen = set(gate.allowing(rows, user, Permission.JOB_VIEW).values_list("pk", flat=True))
    nodes = [
        Node(box, found[UUID(box.key)] if UUID(box.key) in seen else None, UUID(box.key) == job.pk)
        for box in drawing.boxes
    ]
    return Chain(drawing, nodes, any(node.is_here and node.box.never for node in nodes))


def _gathered(job: Job) -> dict[UUID, Job]:
    """The jobs of the chain by their ids, oldest first."""
    rows = Job.objects.only("name", "alias", "state", "options", "owner_login", "project")
    found = {row.pk: row for row in rows.filter(pk=job.pk)}
    edge = dict(found)
    for _round in range(ROUNDS):
        before = {UUID(one["job"]) for row in edge.values() for one in row.options.get("after", ())} - set(found)
        waits = Q(pk__in=before)
        for pk in edge:
            waits |= Q(options__has_key="after", options__contains={"after": [{"job": str(pk)}]})
        edge = {row.pk: row for row in rows.filter(waits).exclude(pk__in=list(found)).order_by("pk")[:MOST]}
        if not edge or len(found) >= MOST:
            break
        found |= edge
    return dict(sorted(found.items())[:MOST])
