"""What an allocation still gives: holding a job's part of it, releasing it, and choosing the allocation to spend."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from access.compiled import Fixed, insert_all
from accounts.models import User
from projects.models import Project
from quotas.models import Allocation, Hold
from quotas.services.limits import STILL_HELD, OverAllocation, Wish, check
from quotas.services.refusing import Ends


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


_NAMED = Fixed(
    lambda project, code, today: Allocation.objects.in_force(today).filter(project_id=project, code=code)[:1]
)
_DEFAULT = Fixed(
    lambda project, today: Allocation.objects.in_force(today).filter(project_id=project, is_default=True)[:1]
)


def choose(project: Project, code: str = "") -> Allocation:
    """The allocation a request spends: the one named, else the project's default."""
    where: dict[str, Any] = {"project": project.pk, "today": timezone.now().date()}
    found = _NAMED.first(code=code, **where) if code else _DEFAULT.first(**where)
    if found is None:
        raise NoAllocation(code)
    return found


def balance(allocation: Allocation) -> Balance:
    """How the allocation stands now."""
    committed = allocation.holds.filter(released_at=None).aggregate(sum=Sum(STILL_HELD))["sum"] or 0
    return Balance(allocation.gpu_minutes, allocation.used_gpu_minutes, committed)


def hold(
    *, allocation: Allocation, reference: str, gpus: int, minutes: int, gpu_type: str = "", partition: str = "",
    user: User | None = None, tasks: int = 1, at_once: int = 1, ends: Ends | None = None,
) -> Hold:  # fmt: skip
    """Commit a job's largest possible use; raises OverAllocation with the limit named. Once per reference.

    Of an array, GPUs and minutes are one task's: the hours of all its tasks are held, and the GPUs of `at_once`.
    `ends` says of references when those that run must have ended: a refusal tells.
    """
    return hold_all(
        allocation=allocation, references=[reference], gpus=gpus, minutes=minutes, gpu_type=gpu_type,
        partition=partition, user=user, tasks=tasks, at_once=at_once, ends=ends,
    )[0]  # fmt: skip


@transaction.atomic
def hold_all(
    *, allocation: Allocation, references: Sequence[str], gpus: int, minutes: int, gpu_type: str = "",
    partition: str = "", user: User | None = None, tasks: int = 1, at_once: int = 1, ends: Ends | None = None,
) -> list[Hold]:  # fmt: skip
    """The same for several jobs that ask for the same: all fit together, or none is held.

    Last in a transaction: whoever else spends this allocation waits from here to its end.
    """
    wish = Wish(gpus, minutes, gpu_type, partition, user, len(references), tasks, ends)
    row = _locked(allocation.pk) if _counts(allocation, gpus) else allocation
    check(row, wish)
    held = [
        Hold(
            allocation=row, reference=name, gpus=gpus * at_once, gpu_minutes=gpus * minutes * tasks, tasks=tasks,
            gpu_type=gpu_type, user=user,
        )
        for name in references
    ]  # fmt: skip
    insert_all(held)
    return held


@transaction.atomic
def take_again(*, reference: str) -> None:
    """A job taken for lost is back: what it held counts again, whatever the allocation says by now."""
    Hold.objects.filter(reference=reference).exclude(released_at=None).update(released_at=None)


@transaction.atomic
def release(*, reference: str) -> None:
    """Give back what a job held; what it used is booked by itself. A second call does nothing."""
    Hold.objects.filter(reference=reference, released_at=None).update(released_at=timezone.now())


def _locked(pk: int) -> Allocation:
    """Its amounts are ours until the transaction ends; rows that only name it are written meanwhile all the same."""
    return Allocation.objects.select_for_update(no_key=True).get(pk=pk)


def _counts(allocation: Allocation, gpus: int) -> bool:
    """Whether others' jobs matter for this one, so that two must not be let in at once."""
    hours = allocation.gpu_minutes is not None or bool(allocation.gpu_minutes_by_type)
    return allocation.jobs_submitted is not None or allocation.is_shared or (hours and gpus > 0)


__all__ = [
    "STILL_HELD",
    "Balance",
    "NoAllocation",
    "OverAllocation",
    "balance",
    "choose",
    "hold",
    "hold_all",
    "release",
    "take_again",
]  # fmt: skip
