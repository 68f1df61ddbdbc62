"""What the next comparison with Slurm would do, from what was seen last; nothing is told to anybody."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef
from django.db.models.functions import JSONObject

from projects.models import Project
from quotas.models import Allocation, Enforcement
from quotas.services import drift, reconciling, seen
from quotas.services.applying import AT_A_TIME, without
from quotas.services.capping import Cap
from quotas.services.wanted import parts, wanted
from slurm.books import Books
from slurm.plan import Plan
from slurm.steps import Step

MOST = 5000  # projects rehearsed at once


@dataclasses.dataclass(slots=True)
class Rehearsal:
    """One project: the steps told to Slurm, those over the cap, and those only shown, as plain values.

    `is_ours`: the portal changed something; else another hand did, in Slurm. `titles`: the allocation of each QOS.
    """

    project: Project
    titles: dict[str, str]
    is_ours: bool
    steps: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    waiting: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    shown: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    @property
    def says_something(self) -> bool:
        """Whether there is a step of any kind."""
        return bool(self.steps or self.waiting or self.shown)

    @property
    def can_resolve(self) -> bool:
        """Whether somebody may put it back or take it over: another hand's, noted as a difference."""
        return not self.is_ours and bool(_found(self.project))

    @property
    def can_adopt(self) -> bool:
        """Whether the portal has a place for what Slurm holds."""
        return self.can_resolve and drift.can_adopt(_found(self.project), self.titles)


def rehearse() -> list[Rehearsal]:
    """The projects of which the next pass would do or show something, by code; a fixed number of queries."""
    names = Allocation.objects.filter(project=OuterRef("pk")).values(facts=JSONObject(qos="qos", title="title"))
    rows = Project.objects.select_related("enforcement").annotate(names=ArraySubquery(names))
    projects: list[Any] = list(rows.order_by("pk")[:MOST])
    owners = {one["qos"]: row.pk for row in projects for one in row.names}
    goal, there = wanted(projects), _together([seen.books(row, _seen(row)) for row in projects])
    goal = without(goal, there, {login for row in projects for login in _unknown(row)})
    found = _sorted_out(projects, goal, owners)
    accounts = {row.slurm_account: row.pk for row in projects}
    for name, steps in _pass(projects, found, goal, there, owners):
        for step in steps:
            getattr(found[accounts.get(step.account) or owners[step.qos]], name).append(seen.step_line(step))
    return sorted((one for one in found.values() if one.says_something), key=lambda one: one.project.code)


def _pass(
    projects: Sequence[Project], found: Mapping[int, Rehearsal], goal: Books, there: Books, owners: Mapping[str, int]
) -> Iterator[tuple[str, Sequence[Step]]]:
    """The steps as `reconciling` takes them: with one cap, all at once where it restores, else what is ours."""
    cap = Cap(settings.REMOVALS_PER_PASS)
    if settings.RECONCILE == "restore":
        yield from _named(cap.plan(goal, there))
        return
    told = [row.pk for row in projects if found[row.pk].is_ours and settings.RECONCILE != "observe"]
    goal_of, there_of = parts(goal, projects, owners), parts(there, projects, owners)
    for first in range(0, len(told), AT_A_TIME):
        some = told[first : first + AT_A_TIME]
        yield from _named(cap.plan(_together([goal_of[pk] for pk in some]), _together([there_of[pk] for pk in some])))
    others = sorted({row.pk for row in projects} - set(told))
    todo = Cap().plan(_together([goal_of[pk] for pk in others]), _together([there_of[pk] for pk in others]))
    yield "shown", (*todo.steps, *todo.refused)


def _named(todo: Plan) -> Iterator[tuple[str, Sequence[Step]]]:
    """By the field of Rehearsal they go into."""
    yield from (("steps", todo.steps), ("waiting", todo.withheld), ("shown", todo.refused))


def _sorted_out(projects: Sequence[Any], goal: Books, owners: Mapping[str, int]) -> dict[int, Rehearsal]:
    mine = parts(goal, projects, owners)
    return {
        row.pk: Rehearsal(
            row, {one["qos"]: one["title"] for one in row.names}, reconciling.is_ours(row, _row(row), mine[row.pk])
        )
        for row in projects
    }


def _together(books: Sequence[Books]) -> Books:
    """One book of the books of many projects."""
    accounts, qos, people = dict[str, Any](), dict[str, Any](), dict[Any, Any]()
    for one in books:
        accounts |= one.accounts
        qos |= one.qos
        people |= one.associations
    return Books(accounts, qos, people, frozenset().union(*(one.governed for one in books)))


def _row(project: Project) -> Enforcement | None:
    return getattr(project, "enforcement", None)


def _seen(project: Project) -> dict[str, Any]:
    row = _row(project)
    return row.seen if row else {}


def _found(project: Project) -> list[dict[str, Any]]:
    row = _row(project)
    return row.differences if row else []


def _unknown(project: Project) -> list[str]:
    """Logins that the worker, when it looked last, did not find on the cluster: they get nothing and lose nothing."""
    row = _row(project)
    missing: list[str] = row.ticks.get("login", {}).get("missing", []) if row and row.ticks else []
    return missing
