"""Does one more job fit? A refusal names the limit, its value, what is used, by whom, and who can raise it."""

from __future__ import annotations

import dataclasses

from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from quotas.models import Allocation, Hold, Share, Usage

# what a job under way may still use beyond what is booked of it already
STILL_HELD = Greatest(F("gpu_minutes") - F("used_gpu_minutes"), 0)
SHOWN = 3  # people named in a refusal
# who can do something about it
PI = gettext_lazy("The PI or a manager of the project can raise your share.")
OPERATOR = gettext_lazy("The PI can ask the cluster administrator for more.")


class OverAllocation(Exception):
    """The request does not fit; `limit` names which limit of the allocation stands in the way."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit
        self.place: int | None = None  # of a batch: which job is the first that does not fit


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """What a job asks of an allocation, or `jobs` alike together; GPUs and minutes are one job's, or one task's."""

    gpus: int
    minutes: int
    gpu_type: str = ""
    partition: str = ""
    user: User | None = None
    jobs: int = 1
    tasks: int = 1  # of each job

    @property
    def gpu_minutes(self) -> int:
        """The most it can use, all together."""
        return self.gpus * self.minutes * self.entries

    @property
    def entries(self) -> int:
        """What Slurm counts as jobs: every task of an array is one."""
        return self.jobs * self.tasks


def check(allocation: Allocation, wish: Wish) -> None:
    """Raises OverAllocation for the first limit in the way."""
    if allocation.partitions and wish.partition and wish.partition not in allocation.partitions:
        names = ", ".join(allocation.partitions)
        raise _over("partition", _("The allocation is for the queues %(names)s.") % {"names": names}, OPERATOR)
    _at_once(allocation, wish)
    _longest(allocation.longest_minutes, wish.minutes, OPERATOR)
    _jobs(allocation, wish)
    _hours(allocation, wish)
    if allocation.is_shared and wish.user is not None:
        share = Share.objects.filter(allocation=allocation, user=wish.user).first()
        if share is not None:
            _share(allocation, share, wish)


def _over(limit: str, message: str, cure: object) -> OverAllocation:
    return OverAllocation(limit, f"{message} {cure}")


def _at_once(allocation: Allocation, wish: Wish) -> None:
    most = allocation.gpus_at_once
    if most is not None and wish.gpus > most:
        words = _("The job asks for %(asked)d GPUs; the allocation gives at most %(n)d GPUs at once.")
        raise _over("gpus_at_once", words % {"asked": wish.gpus, "n": most}, OPERATOR)
    most = allocation.gpus_by_type.get(wish.gpu_type)
    if most is not None and wish.gpus > most:
        words = _("The job asks for %(asked)d GPUs; the allocation gives at most %(n)d of the type %(type)s at once.")
        raise _over("gpus_at_once", words % {"asked": wish.gpus, "n": most, "type": wish.gpu_type}, OPERATOR)


def _longest(most: int | None, minutes: int, cure: object) -> None:
    if most is not None and minutes > most:
        words = _("The allocation lets a job run for at most %(n)d minutes.")
        raise _over("longest_minutes", words % {"n": most}, cure)


def _jobs(allocation: Allocation, wish: Wish) -> None:
    most = allocation.jobs_submitted
    if most is None:
        return
    now = _entries(allocation.holds.filter(released_at=None))
    if now + wish.entries > most:
        words = _("The allocation lets %(n)d jobs be queued and running, and %(now)d are: %(who)s.")
        facts = {"n": most, "now": now, "who": _holders(allocation, Sum("tasks"))}
        raise _over("jobs_submitted", words % facts + " " + _("A place is free when one of them ends."), OPERATOR)


def _hours(allocation: Allocation, wish: Wish) -> None:
    if not wish.gpus:
        return
    if allocation.gpu_minutes is not None:
        _fits(allocation, wish, allocation.gpu_minutes, used=allocation.used_gpu_minutes, gpu_type="")
    most = allocation.gpu_minutes_by_type.get(wish.gpu_type)
    if most is not None:
        _fits(allocation, wish, most, used=used_minutes(allocation, gpu_type=wish.gpu_type), gpu_type=wish.gpu_type)


def _fits(allocation: Allocation, wish: Wish, most: int, *, used: int, gpu_type: str) -> None:
    committed = held_minutes(allocation, gpu_type=gpu_type)
    free = max(0, most - used - committed)
    if wish.gpu_minutes <= free:
        return
    words = _(
        "The job may use %(asked).1f GPU-hours; %(free).1f of the allocation's %(all).1f are free: %(used).1f used, "
        "%(committed).1f committed by jobs under way (%(who)s)."
    )
    facts = {
        "asked": wish.gpu_minutes / 60, "free": free / 60, "all": most / 60, "used": used / 60,
        "committed": committed / 60, "who": _holders(allocation, Sum("gpu_minutes") / 60),
    }  # fmt: skip
    raise _over("gpu_minutes", f"{words % facts} {_when(allocation)}", OPERATOR)


def _share(allocation: Allocation, share: Share, wish: Wish) -> None:
    mine = allocation.holds.filter(released_at=None, user=share.user)
    if share.gpus_at_once is not None and wish.gpus > share.gpus_at_once:
        words = _("Your share of the allocation is %(n)d GPUs at once.")
        raise _over("gpus_at_once", words % {"n": share.gpus_at_once}, PI)
    if share.longest_minutes is not None and wish.minutes > share.longest_minutes:
        words = _("Your share of the allocation lets a job run for at most %(n)d minutes.")
        raise _over("longest_minutes", words % {"n": share.longest_minutes}, PI)
    if share.jobs_submitted is not None and _entries(mine) + wish.entries > share.jobs_submitted:
        words = _("Your share of the allocation is %(n)d jobs queued and running, and you have them.")
        raise _over("jobs_submitted", words % {"n": share.jobs_submitted}, PI)
    if share.gpu_minutes is not None and wish.gpus:
        used = used_minutes(allocation, user=share.user) + held_minutes(allocation, user=share.user)
        free = max(0, share.gpu_minutes - used)
        if wish.gpu_minutes > free:
            words = _("The job may use %(asked).1f GPU-hours; %(free).1f of your share's %(all).1f are free.")
            facts = {"asked": wish.gpu_minutes / 60, "free": free / 60, "all": share.gpu_minutes / 60}
            raise _over("gpu_minutes", words % facts, PI)


def _entries(holds: QuerySet[Hold]) -> int:
    return int(holds.aggregate(sum=Sum("tasks"))["sum"] or 0)


def held_minutes(allocation: Allocation, *, gpu_type: str = "", user: User | None = None) -> int:
    """GPU-minutes that jobs under way may still use, of one type or person where given."""
    rows = allocation.holds.filter(released_at=None)
    rows = rows.filter(gpu_type=gpu_type) if gpu_type else rows
    rows = rows.filter(user=user) if user else rows
    return int(rows.aggregate(sum=Sum(STILL_HELD))["sum"] or 0)


def used_minutes(allocation: Allocation, *, gpu_type: str = "", user: User | None = None) -> int:
    """GPU-minutes booked within the allocation's period, of one type or person where given."""
    rows = within(allocation)
    rows = rows.filter(gpu_type=gpu_type) if gpu_type else rows
    rows = rows.filter(user=user) if user else rows
    return round((rows.aggregate(sum=Sum("gpu_seconds"))["sum"] or 0) / 60)


def within(allocation: Allocation) -> QuerySet[Usage]:
    """The usage that counts for an allocation: of the days of its period."""
    rows = Usage.objects.filter(allocation=allocation, day__gte=allocation.starts_on)
    return rows.filter(day__lte=allocation.ends_on) if allocation.ends_on else rows


def _holders(allocation: Allocation, amount: object) -> str:
    """The people who hold most, e.g. "ana 12, davi 3"."""
    rows = allocation.holds.filter(released_at=None).values("user__username").annotate(n=amount).order_by("-n")
    return ", ".join(f"{row['user__username'] or '–'} {row['n'] or 0:.0f}" for row in rows[:SHOWN]) or _("nobody")


def _when(allocation: Allocation) -> str:
    if allocation.ends_on is None or allocation.ends_on < timezone.now().date():
        return _("Hours are free again as jobs end early.")
    day = date_format(allocation.ends_on, "SHORT_DATE_FORMAT")
    return _("Hours are free again as jobs end early; the period ends on %(day)s.") % {"day": day}
