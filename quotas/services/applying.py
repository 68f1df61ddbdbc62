"""Bring Slurm's accounting to what our rows say: compare, carry out, read again, write down. Only the worker does it.

Nothing is remembered between the steps but what was read last, so a worker killed between any two of them leaves
nothing to repair: the next one compares again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from audit import trail
from audit.actions import Action, Outcome
from cluster import slurm_door
from projects.models import Membership, Project
from quotas.models import Enforcement
from quotas.services import seen, telling, ticks
from quotas.services.alone import alone
from quotas.services.capping import Cap
from quotas.services.wanted import digest, parts, wanted
from slurm.books import Books
from slurm.contract import SlurmError
from slurm.plan import plan
from slurm.steps import Step

log = structlog.get_logger(__name__)
AT_A_TIME = 50  # projects of one comparison


def apply() -> int:
    """Apply every change that was asked for; how many projects were brought up to date."""
    if settings.RECONCILE == "observe" or not pending().exists():
        return 0
    with alone() as first:
        return _apply_all() if first else 0


def apply_for(project_ids: Collection[int]) -> None:
    """Before jobs of these projects are handed over: what Slurm should know of them, it knows.

    One whose last try failed is left to the next round: jobs of members Slurm knows already need not wait for it.
    """
    if settings.RECONCILE == "observe":
        return
    rows = pending().filter(pk__in=project_ids).exclude(enforcement__error__gt="")
    if rows.exists():
        with alone() as first:
            if first:
                bring(list(rows[:AT_A_TIME]))


def never_applied() -> QuerySet[Project]:
    """Projects Slurm has not heard of at all: it would refuse their jobs."""
    return Project.objects.filter(Q(enforcement=None) | Q(enforcement__change_applied=0))


def pending() -> QuerySet[Project]:
    """Projects with a change that Slurm has not heard of."""
    late = Q(enforcement=None) | Q(change__gt=F("enforcement__change_applied"))
    return Project.objects.filter(late).order_by("pk")


def _apply_all() -> int:
    done = 0
    while rows := list(pending()[:AT_A_TIME]):
        good = bring(rows)
        done += good
        if good < len(rows):
            break
    return done


def bring(projects: Sequence[Project], *, cap: Cap | None = None) -> int:
    """Make Slurm hold what these projects want; how many it does. Where Slurm does not answer, none.

    `cap`: of the steps that take something away; the rest waits for the next time.
    """
    goal = wanted(projects)
    accounts, names = [row.slurm_account for row in projects], sorted(goal.qos)
    door = slurm_door.accounts()
    try:
        there = door.books(accounts, names)
        goal = known_people(goal, there)
        todo = (cap or Cap()).plan(goal, there)
        if todo.steps:
            telling.before(projects, todo.steps)
            door.carry_out(todo.steps)
            there = door.books(accounts, names)
    except SlurmError as error:
        _not_answered(projects, str(error))
        return 0
    return _write_down(projects, goal, there)


def known_people(goal: Books, there: Books) -> Books:
    """Somebody the cluster does not know gets nothing new, and loses nothing: a name service may just be away."""
    known = cache(ticks.on_system)
    return without(goal, there, {user for _account, user, _queue in goal.associations if user and not known(user)})


def without(goal: Books, there: Books, unknown: Collection[str]) -> Books:
    """What is wanted, with these people as they are there."""
    if not unknown:
        return goal
    kept = {key: row for key, row in goal.associations.items() if key[1] not in unknown}
    kept |= {key: row for key, row in there.associations.items() if key[1] in unknown and key[0] in goal.governed}
    return dataclasses.replace(goal, associations=kept)


def _write_down(projects: Sequence[Project], goal: Books, there: Books) -> int:
    left, owners, people = plan(goal, there), telling.qos_owners(projects), logins_of(projects)
    wanted_of, seen_of = parts(goal, projects, owners), parts(there, projects, owners)
    good = 0
    for project in projects:
        failed = telling.of(project, (*left.steps, *left.refused), owners)
        result = _Result(wanted_of[project.pk], seen_of[project.pk], _words(failed))
        _keep(project, result, people.get(project.pk, []))
        good += not failed
    return good


@dataclasses.dataclass(frozen=True, slots=True)
class _Result:
    """How it went with one project."""

    goal: Books
    there: Books
    error: str


def _keep(project: Project, result: _Result, logins: Sequence[str]) -> None:
    """The look at groups and folders comes first: shared storage may hang, and must not with rows locked."""
    error = result.error[:500]
    _save(project, result, ticks.verify(project, logins, queue=error), error)


@transaction.atomic
def _save(project: Project, result: _Result, looked: dict[str, Any], error: str) -> None:
    now = timezone.now()
    row, _new = Enforcement.objects.select_for_update().get_or_create(project=project)
    known, row.error = row.error, error
    row.checked_at, row.seen, row.differences = now, seen.keep(result.there), []
    if not row.error:
        row.change_applied, row.digest, row.applied_at, row.told = project.change, digest(result.goal), now, ""
    row.ticks, row.looked_at = looked, now
    row.save()
    if row.error and row.error != known:
        trail.record(Action.LIMITS_FAILED, about=project, project=project, outcome=Outcome.FAILED, why=row.error)


def _not_answered(projects: Sequence[Project], why: str) -> None:
    log.warning("limits not applied yet", why=why)
    for project in projects:
        _keep_why(project, why[:500])


@transaction.atomic
def _keep_why(project: Project, why: str) -> None:
    """What the trail was told and Slurm then did not answer for, it is told too, once."""
    row, _new = Enforcement.objects.select_for_update().get_or_create(project=project)
    if row.told and row.error != why:
        trail.record(Action.LIMITS_FAILED, about=project, project=project, outcome=Outcome.FAILED, why=why)
    row.error = why
    row.save(update_fields=["error"])


def logins_of(projects: Sequence[Project]) -> dict[int, list[str]]:
    """Project id -> logins of its members now."""
    found: dict[int, list[str]] = {}
    rows = Membership.objects.active().filter(project__in=projects, user__is_active=True)
    for pk, login in rows.values_list("project_id", "user__username").order_by("user__username"):
        found.setdefault(pk, []).append(login)
    return found


def _words(steps: Sequence[Step]) -> str:
    """What is not as it should be after all was said to slurmdbd; "" where all is."""
    if not steps:
        return ""
    named = ", ".join(" ".join(filter(None, (step.kind.value, *step.subject))) for step in steps[:5])
    return f"{len(steps)} of Slurm's records are not as wanted: {named}"
