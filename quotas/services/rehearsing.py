"""What the next comparison with Slurm would do, from what was seen last; nothing is told to anybody."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef
from django.db.models.functions import JSONObject

from projects.models import Project
from quotas.models import Allocation, Enforcement
from quotas.services import seen
from quotas.services.wanted import digest, parts, wanted
from slurm.books import Books
from slurm.plan import plan

MOST = 5000  # projects rehearsed at once


@dataclasses.dataclass(frozen=True, slots=True)
class Rehearsal:
    """One project: the steps that would be told to Slurm now, and those that would only be shown, as plain values.

    `titles`: the allocation behind each QOS.
    """

    project: Project
    titles: dict[str, str]
    steps: Sequence[dict[str, Any]]
    shown: Sequence[dict[str, Any]]


def rehearse() -> list[Rehearsal]:
    """The projects of which the next pass would do or show something; a fixed number of queries."""
    names = Allocation.objects.filter(project=OuterRef("pk")).values(facts=JSONObject(qos="qos", title="title"))
    rows = Project.objects.select_related("enforcement").annotate(names=ArraySubquery(names))
    projects: list[Any] = list(rows.order_by("code")[:MOST])
    owners = {one["qos"]: row.pk for row in projects for one in row.names}
    return list(_rehearsals(projects, parts(wanted(projects), projects, owners)))


def _seen(project: Project) -> dict[str, Any]:
    row: Enforcement | None = getattr(project, "enforcement", None)
    return row.seen if row else {}


def _rehearsals(projects: Sequence[Any], mine: dict[int, Books]) -> Iterator[Rehearsal]:
    left = None if settings.RECONCILE != "restore" else settings.REMOVALS_PER_PASS
    for project in projects:
        todo = plan(mine[project.pk], seen.books(project, _seen(project)), removals=left)
        steps, withheld = list(todo.steps), list(todo.withheld)
        if left is not None:
            left -= sum(step.removes for step in steps)
        told = _is_told(project, mine[project.pk])
        now, later = (steps, withheld) if told else ([], steps + withheld)
        if now or later:
            titles = {one["qos"]: one["title"] for one in project.names}
            yield Rehearsal(project, titles, list(map(seen.step_line, now)), list(map(seen.step_line, later)))


def _is_told(project: Project, goal: Books) -> bool:
    """Whether the next pass speaks: always where it restores; else of the portal's own changes only."""
    row: Enforcement | None = getattr(project, "enforcement", None)
    if settings.RECONCILE == "observe":
        return False
    changed = row is None or project.change > row.change_applied or digest(goal) != row.digest
    return settings.RECONCILE == "restore" or changed
