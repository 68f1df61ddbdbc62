"""What an allocation still gives: holding a job's part of it, releasing it, and choosing the allocation to spend."""

from __future__ import annotations

import dataclasses
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from audit import trail
from audit.actions import Action
from projects.models import Project
from quotas.models import Allocation, Hold


class OverAllocation(Exception):
    """The request does not fit; `limit` names which limit of the allocation stands in the way."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class NoAllocation(Exception):
    """The project has no allocation of that code in force."""


@dataclasses.dataclass(frozen=True, slots=True)
class Balance:
    """An allocation's GPU-minutes: used, committed by jobs under way, and free (None: no limit)."""

    limit: int | None
    used: int
    committed: int

    @property
    def free(self) -> int | None:
        """What is left, never negative."""
        return None if self.limit is None else max(0, self.limit - self.used - self.committed)


def choose(project: Project, code: str = "") -> Allocation:
    """The allocation a request spends: the one named, else the project's default."""
    rows = Allocation.objects.current().filter(project=project)
    found = rows.filter(code=code).first() if code else rows.filter(is_default=True).first()
    if found is None:
        raise NoAllocation(code)
    return found


def balance(allocation: Allocation) -> Balance:
    """How the allocation stands now."""
    committed = allocation.holds.filter(released_at=None).aggregate(sum=Sum("gpu_minutes"))["sum"] or 0
    return Balance(allocation.gpu_minutes, allocation.used_gpu_minutes, committed)


@transaction.atomic
def hold(*, allocation: Allocation, reference: str, gpus: int, minutes: int) -> Hold:
    """Commit a job's largest possible use; raises OverAllocation with the limit named. Once per reference.

    Last in a transaction: whoever else spends this allocation waits from here to its end.
    """
    row = _locked(allocation.pk) if _counts(allocation, gpus) else allocation
    _check(row, gpus=gpus, minutes=minutes)
    return Hold.objects.create(allocation=row, reference=reference, gpus=gpus, gpu_minutes=gpus * minutes)


@transaction.atomic
def release(*, reference: str, used_gpu_minutes: int = 0) -> None:
    """Give a hold back and book what was used; a second call does nothing."""
    row = Hold.objects.select_for_update().filter(reference=reference, released_at=None).first()
    if row is None:
        return
    row.released_at, row.used_gpu_minutes = timezone.now(), used_gpu_minutes
    row.save(update_fields=["released_at", "used_gpu_minutes"])
    allocation = _locked(row.allocation_id)
    allocation.used_gpu_minutes += used_gpu_minutes
    allocation.save(update_fields=["used_gpu_minutes"])


@transaction.atomic
def create_allocation(*, project: Project, by: User | None, **fields: Any) -> Allocation:
    """A new allocation; `fields` are Allocation's own."""
    allocation = Allocation(project=project, **fields)
    allocation.full_clean()
    allocation.save()
    trail.record(
        Action.ALLOCATION_CREATED, by=by, about=allocation, project=project, qos=allocation.qos,
        gpus_at_once=allocation.gpus_at_once, gpu_minutes=allocation.gpu_minutes,
    )  # fmt: skip
    return allocation


def _locked(pk: int) -> Allocation:
    """Its amounts are ours until the transaction ends; rows that only name it are written meanwhile all the same."""
    return Allocation.objects.select_for_update(no_key=True).get(pk=pk)


def _counts(allocation: Allocation, gpus: int) -> bool:
    """Whether others' jobs matter for this one, so that two must not be let in at once."""
    return allocation.jobs_submitted is not None or (allocation.gpu_minutes is not None and gpus > 0)


def _check(allocation: Allocation, *, gpus: int, minutes: int) -> None:
    if allocation.gpus_at_once is not None and gpus > allocation.gpus_at_once:
        raise OverAllocation(
            "gpus_at_once", _("The allocation gives at most %(n)d GPUs at once.") % {"n": allocation.gpus_at_once}
        )
    if allocation.longest_minutes is not None and minutes > allocation.longest_minutes:
        raise OverAllocation(
            "longest_minutes",
            _("The allocation lets a job run for at most %(n)d minutes.") % {"n": allocation.longest_minutes},
        )
    if allocation.jobs_submitted is not None and _under_way(allocation) >= allocation.jobs_submitted:
        raise OverAllocation(
            "jobs_submitted",
            _("The allocation lets %(n)d jobs be queued and running.") % {"n": allocation.jobs_submitted},
        )
    free = balance(allocation).free if allocation.gpu_minutes is not None and gpus else None
    if free is not None and gpus * minutes > free:
        raise OverAllocation(
            "gpu_minutes",
            _("The job may use %(asked).1f GPU-hours; %(free).1f are free in the allocation.")
            % {"asked": gpus * minutes / 60, "free": free / 60},
        )


def _under_way(allocation: Allocation) -> int:
    return allocation.holds.filter(released_at=None).count()
