"""What a cluster administrator does about a difference between portal and Slurm: put it back, or take it over."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from django.db import transaction

from accounts.models import User
from audit import trail
from audit.actions import Action
from projects.models import Project
from projects.services import lock, touched
from quotas.models import Allocation, Enforcement
from quotas.services import seen
from quotas.services.allocations import LIMITS, change_allocation


class NothingToDo(Exception):
    """There is no difference (any more), or none of this kind."""


@transaction.atomic
def restore(*, project: Project, by: User) -> int:
    """Have the worker put Slurm back to what the portal wants; how many lines differ now. Raises NothingToDo."""
    lines = _lines(project)
    lock(project)
    touched(project)
    told = [seen.in_trail(line) for line in lines]
    trail.record(Action.DRIFT_RESTORED, by=by, about=project, project=project, differences=told)
    return len(lines)


@transaction.atomic
def adopt(*, project: Project, by: User) -> int:
    """Take Slurm's limits of QOS over into the allocations; how many. Those of people are restored, not adopted.

    Raises NothingToDo, or ValidationError where the portal cannot hold such a value.
    """
    found = _adoptable(project, _lines(project))
    if not found:
        raise NothingToDo(project.code)
    allocations = {row.qos: row for row in Allocation.objects.filter(project=project, qos__in=found)}
    for qos, fields in found.items():
        change_allocation(allocation=allocations[qos], by=by, why="adopted from Slurm", **fields)
    trail.record(Action.DRIFT_ADOPTED, by=by, about=project, project=project, adopted=found)
    return sum(len(fields) for fields in found.values())


def is_adoptable(line: dict[str, Any]) -> bool:
    """Whether the portal has a place for what Slurm holds."""
    return bool(line["qos"]) and not line["user"] and line["field"] in LIMITS


def can_adopt(found: Iterable[dict[str, Any]], ours: Container[str]) -> bool:
    """Whether any of these lines can be taken over; `ours`: names of the project's QOS."""
    return any(is_adoptable(one) and one["qos"] in ours for one in found)


def _adoptable(project: Project, lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    ours = set(Allocation.objects.filter(project=project).values_list("qos", flat=True))
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        if is_adoptable(line) and line["qos"] in ours:
            found.setdefault(line["qos"], {})[line["field"]] = line["there"]
    return found


def _lines(project: Project) -> list[dict[str, Any]]:
    row = Enforcement.objects.filter(project=project).first()
    if row is None or not row.differences:
        raise NothingToDo(project.code)
    return list(row.differences)
