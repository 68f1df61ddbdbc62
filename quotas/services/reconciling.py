"""Compare portal and Slurm, all projects at once: our own late changes are applied, others' are drift and are shown.

What another hand changed is reported; with BANCADA_RECONCILE=restore it is put back, at most so many removals a pass;
with =observe nothing is written at all. No answer is no difference: a silent slurmdbd changes nothing on either side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from audit import trail
from audit.actions import Action, Outcome
from cluster import slurm_door
from projects.models import Project
from quotas.models import Enforcement
from quotas.services import applying, seen, telling, ticks
from quotas.services.alone import alone
from quotas.services.capping import Cap
from quotas.services.wanted import digest, parts, wanted
from slurm.books import Books
from slurm.contract import SlurmError
from slurm.plan import Difference, Plan, differences

log = structlog.get_logger(__name__)
LOOKED_AT = 50  # projects whose group and folder are looked at in one pass


def reconcile() -> int:
    """One pass over all projects; how many differ."""
    with alone() as first:
        return _pass() if first else 0


def _pass() -> int:
    projects = list(Project.objects.order_by("pk"))
    goal, cap = wanted(projects), Cap(settings.REMOVALS_PER_PASS)
    try:
        there = slurm_door.accounts().books(None, sorted(goal.qos))
        goal = applying.known_people(goal, there)
        if settings.RECONCILE == "restore":
            there = _restore(goal, there, cap)
    except SlurmError as error:
        log.warning("not compared", why=str(error))
        return 0
    differ = _compare(projects, goal, there, cap)
    _look_around()
    return differ


def _restore(goal: Books, there: Books, cap: Cap) -> Books:
    todo = cap.plan(goal, there)
    if not todo.steps:
        return there
    _tell_of_restoring(todo)
    try:
        slurm_door.accounts().carry_out(todo.steps)
    except SlurmError as error:
        _tell_of_restoring(todo, outcome=Outcome.FAILED, why=str(error))
        raise
    return slurm_door.accounts().books(None, sorted(goal.qos))


@transaction.atomic
def _tell_of_restoring(todo: Plan, outcome: Outcome = Outcome.DONE, why: str | None = None) -> None:
    """Before it is done, for Slurm shares no transaction: whoever dies between has told, and the next pass goes on."""
    lines = [seen.in_trail(seen.step_line(step)) for step in todo.steps[:100]]
    withheld = len(todo.withheld)
    trail.record(Action.DRIFT_RESTORED, outcome=outcome, steps=lines, count=len(todo.steps), withheld=withheld, why=why)


def _compare(projects: Sequence[Project], goal: Books, there: Books, cap: Cap) -> int:
    owners = telling.qos_owners(projects)
    found = _by_project(projects, differences(goal, there), owners)
    wanted_of, seen_of = parts(goal, projects, owners), parts(there, projects, owners)
    known = {row.project_id: row for row in Enforcement.objects.filter(project__in=projects)}
    ours = [row for row in projects if is_ours(row, known.get(row.pk), wanted_of[row.pk])]
    for project in projects:
        if settings.RECONCILE == "observe" or project not in ours:
            _note(project, known.get(project.pk), found[project.pk], seen_of[project.pk])
    if settings.RECONCILE != "observe":
        for first in range(0, len(ours), applying.AT_A_TIME):
            applying.bring(ours[first : first + applying.AT_A_TIME], cap=cap)
    Enforcement.objects.filter(project__in=projects).update(checked_at=timezone.now())
    return len([lines for lines in found.values() if lines])


def _by_project(
    projects: Sequence[Project], found: Sequence[Difference], owners: Mapping[str, int]
) -> defaultdict[int, list[Difference]]:
    accounts = {row.slurm_account: row.pk for row in projects}
    sorted_out: defaultdict[int, list[Difference]] = defaultdict(list)
    for one in found:
        sorted_out[accounts.get(one.account) or owners[one.qos]].append(one)
    return sorted_out


def is_ours(project: Project, row: Enforcement | None, goal: Books) -> bool:
    """Our own doing: a change just made, or a day on which a period or a membership began or ended."""
    return row is None or project.change > row.change_applied or digest(goal) != row.digest


@transaction.atomic
def _note(project: Project, row: Enforcement | None, found: Sequence[Difference], there: Books) -> None:
    """Written only where something is another than at the last look."""
    row = row or Enforcement(project=project)
    lines, kept = [seen.difference_line(one) for one in found], seen.keep(there)
    if (lines, kept) == (row.differences, row.seen):
        return
    if lines and lines != row.differences:
        told = [seen.in_trail(line) for line in lines[:50]]
        trail.record(Action.DRIFT_SEEN, about=project, project=project, differences=told, count=len(lines))
    row.differences, row.seen = lines, kept
    row.save()


def _look_around() -> None:
    """Logins, groups and folders of the projects that were not looked at for longest."""
    rows = list(Enforcement.objects.select_related("project").order_by("looked_at")[:LOOKED_AT])
    logins = applying.logins_of([row.project for row in rows])
    for row in rows:
        row.ticks = ticks.verify(row.project, logins.get(row.project_id, []), queue=row.error)
        row.looked_at = timezone.now()
        row.save(update_fields=["ticks", "looked_at"])
