"""Does one more job fit? A refusal names the limit, its value, what is used, by whom, and who can raise it."""

from __future__ import annotations

import dataclasses
from typing import TypedDict

from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from accounts.models import User
from quotas.models import Allocation, Hold, Share, Usage
from quotas.services.refusing import (
    Ends,
    Facts,
    OverAllocation,
    frees_at,
    holders,
    named,
    over,
    when_hours,
    when_places,
)

# what a job under way may still use beyond what is booked of it already
STILL_HELD = Greatest(F("gpu_minutes") - F("used_gpu_minutes"), 0)


class _Whose(TypedDict):
    """Whose minutes, of which type ("" all)."""

    user: User
    gpu_type: str


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
    ends: Ends | None = None  # when running jobs must have ended

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
        words = _("The allocation is for the queues %(names)s.") % {"names": ", ".join(allocation.partitions)}
        raise over("partition", words, allocation, Facts(None, None))
    _at_once(allocation, wish)
    _longest(allocation, wish)
    _jobs(allocation, wish)
    _hours(allocation, wish)
    if allocation.is_shared and wish.user is not None:
        share = Share.objects.filter(allocation=allocation, user=wish.user).first()
        if share is not None:
            _share(allocation, share, wish)


def _at_once(allocation: Allocation, wish: Wish) -> None:
    most = allocation.gpus_at_once
    if most is not None and wish.gpus > most:
        words = _("The job asks for %(asked)d GPUs; the allocation gives at most %(n)d GPUs at once.")
        raise over("gpus_at_once", words % {"asked": wish.gpus, "n": most}, allocation, Facts(most, wish.gpus))
    most = allocation.gpus_by_type.get(wish.gpu_type)
    if most is not None and wish.gpus > most:
        words = _("The job asks for %(asked)d GPUs; the allocation gives at most %(n)d of the type %(type)s at once.")
        words %= {"asked": wish.gpus, "n": most, "type": wish.gpu_type}
        raise over("gpus_at_once", words, allocation, Facts(most, wish.gpus))


def _longest(allocation: Allocation, wish: Wish) -> None:
    most = allocation.longest_minutes
    if most is not None and wish.minutes > most:
        words = _("The job asks for %(asked)d minutes; the allocation lets a job run for at most %(n)d minutes.")
        words %= {"asked": wish.minutes, "n": most}
        raise over("longest_minutes", words, allocation, Facts(most, wish.minutes))


def _jobs(allocation: Allocation, wish: Wish) -> None:
    most = allocation.jobs_submitted
    if most is None:
        return
    now = _entries(allocation.holds.filter(released_at=None))
    if now + wish.entries > most:
        people, moment = holders(allocation, Sum("tasks")), frees_at(allocation, wish.ends)
        words = _("The allocation lets %(n)d jobs be queued and running, and %(now)d are: %(who)s.")
        words %= {"n": most, "now": now, "who": named(people)}
        facts = Facts(most, wish.entries, committed=now, people=people, frees_at=moment)
        raise over("jobs_submitted", f"{words} {when_places(moment)}", allocation, facts)


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
    people, moment = holders(allocation, Sum(STILL_HELD)), frees_at(allocation, wish.ends)
    words = _(
        "The job may use %(asked).1f GPU-hours; %(free).1f of the allocation's %(all).1f are free: %(used).1f used, "
        "%(committed).1f committed by jobs under way (%(who)s)."
    )
    words %= _in_hours(wish, most, used, committed, free) | {"who": named(people, 60)}
    facts = Facts(most, wish.gpu_minutes, used, committed, people, moment, allocation.ends_on)
    raise over("gpu_minutes", f"{words} {when_hours(allocation, moment)}", allocation, facts)


def _in_hours(wish: Wish, most: int, used: int, committed: int, free: int) -> dict[str, float]:
    figures = {"asked": wish.gpu_minutes, "all": most, "used": used, "committed": committed, "free": free}
    return {name: minutes / 60 for name, minutes in figures.items()}


def _share(allocation: Allocation, share: Share, wish: Wish) -> None:
    _share_of_job(allocation, share, wish)
    if share.jobs_submitted is not None:
        _share_of_places(allocation, share, wish, share.jobs_submitted)
    if share.gpu_minutes is not None and wish.gpus:
        _share_of_hours(allocation, share, wish, share.gpu_minutes)
    typed = share.gpu_minutes_by_type.get(wish.gpu_type)
    if typed is not None and wish.gpus:
        _share_of_hours(allocation, share, wish, typed, gpu_type=wish.gpu_type)


def _share_of_job(allocation: Allocation, share: Share, wish: Wish) -> None:
    most = share.gpus_at_once
    if most is not None and wish.gpus > most:
        words = _("The job asks for %(asked)d GPUs; your share of the allocation is at most %(n)d GPUs at once.")
        words %= {"asked": wish.gpus, "n": most}
        raise over("gpus_at_once", words, allocation, Facts(most, wish.gpus, raised_by="project"))
    most = share.gpus_by_type.get(wish.gpu_type)
    if most is not None and wish.gpus > most:
        words = _("The job asks for %(asked)d GPUs; your share is at most %(n)d of the type %(type)s at once.")
        words %= {"asked": wish.gpus, "n": most, "type": wish.gpu_type}
        raise over("gpus_at_once", words, allocation, Facts(most, wish.gpus, raised_by="project"))
    most = share.longest_minutes
    if most is not None and wish.minutes > most:
        words = _(
            "The job asks for %(asked)d minutes; your share of the allocation lets a job run for at most %(n)d minutes."
        )
        words %= {"asked": wish.minutes, "n": most}
        raise over("longest_minutes", words, allocation, Facts(most, wish.minutes, raised_by="project"))


def _share_of_places(allocation: Allocation, share: Share, wish: Wish, most: int) -> None:
    now = _entries(allocation.holds.filter(released_at=None, user=share.user))
    if now + wish.entries <= most:
        return
    moment = frees_at(allocation, wish.ends, share.user)
    words = _("Your share of the allocation is %(n)d jobs queued and running, and you have %(now)d.")
    words %= {"n": most, "now": now}
    facts = Facts(most, wish.entries, 0, now, [(share.user.username, now)], moment, None, "project")
    raise over("jobs_submitted", f"{words} {when_places(moment)}", allocation, facts)


def _share_of_hours(allocation: Allocation, share: Share, wish: Wish, most: int, *, gpu_type: str = "") -> None:
    whose: _Whose = {"user": share.user, "gpu_type": gpu_type}
    used, committed = used_minutes(allocation, **whose), held_minutes(allocation, **whose)
    free = max(0, most - used - committed)
    if wish.gpu_minutes <= free:
        return
    moment = frees_at(allocation, wish.ends, share.user)
    words = _(
        "The job may use %(asked).1f GPU-hours; %(free).1f of your share's %(all).1f are free: %(used).1f used, "
        "%(committed).1f committed by your jobs under way."
    )
    words %= _in_hours(wish, most, used, committed, free)
    words = f"{gpu_type.upper()}: {words}" if gpu_type else words
    people = [(share.user.username, committed)]
    facts = Facts(most, wish.gpu_minutes, used, committed, people, moment, allocation.ends_on, "project")
    raise over("gpu_minutes", f"{words} {when_hours(allocation, moment)}", allocation, facts)


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


__all__ = ["STILL_HELD", "OverAllocation", "Wish", "check", "held_minutes", "used_minutes", "within"]
