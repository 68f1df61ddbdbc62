"""The limit behind Slurm's reason for a job to wait: of its allocation or its person's share, used how far, by whom."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from django.db.models import Sum
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from jobs.models import Job, JobQuerySet
from jobs.states import State
from quotas.models import Allocation, Share
from quotas.services import limits, refusing

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

# our associations are people's, one a queue; the account's own row limits nobody
SHARE = re.compile(r"Assoc(?:Grp(?:Billing|GRES)|MaxJobs|MaxWall)")
RUNNING = (State.RUNNING, State.ENDING)


def running(job: Job) -> JobQuerySet:
    """The jobs of its project that run."""
    rows = Job.objects.open().filter(project=job.project_id, state__in=RUNNING)
    return rows.only("allocated_gpus", "started_at", "ended_at", "time_limit_minutes", "owner_login")


def share_of(job: Job, word: str) -> Share | None:
    """The share that is in the way, where the reason is about one and there is one."""
    if job.allocation is None or not SHARE.match(word):
        return None
    return Share.objects.filter(allocation=job.allocation, user=job.owner).first()


def of_share(job: Job, share: Share, word: str) -> tuple[list[Text], Sequence[Job]]:
    """Sentences about a share, and the jobs of which one must end; Slurm counts a share on each queue."""
    jobs = list(running(job).filter(owner=job.owner, allocation=share.allocation_id, partition=job.partition))
    if "Minutes" in word:
        return [*_hours(share.allocation, share, job)], []
    if "Wall" in word:
        return [*_longest(share, job)], []
    if "Jobs" in word:
        return [
            *_at_once(_("This person's share lets %(limit)d jobs run at once, and %(used)d do."), share, jobs)
        ], jobs
    most = _most_gpus(share, job)
    words = _("On the queue %(queue)s this person's jobs use %(used)d of the %(limit)d GPUs of their share.")
    used = sum(row.allocated_gpus for row in jobs)
    return [words % {"queue": job.partition, "used": used, "limit": most}] if most is not None else [], jobs


def of_allocation(job: Job, allocation: Allocation, word: str) -> tuple[list[Text], Sequence[Job]]:
    """The same of an allocation, with the people whose jobs have it now."""
    if "Wall" in word:
        return [*_longest(allocation, job)], []
    jobs = list(running(job).filter(allocation=allocation))
    if "Jobs" not in word:
        return [*_gpus(allocation, job, jobs)], jobs
    if "Submit" in word:
        return [], jobs
    said = _at_once(_("The allocation lets %(limit)d jobs run at once, and %(used)d do."), allocation, jobs)
    return [*said, *_whose(Counter(row.owner_login for row in jobs))], jobs


def of_refusal(job: Job) -> list[Text]:
    """The limits that are in its way now, of the allocation and of its person's share: value, used how far, by whom."""
    if job.allocation is None:
        return []
    said = [*_in_the_way(job.allocation, job, Job.objects.filter(allocation=job.allocation))]
    share = Share.objects.filter(allocation=job.allocation, user=job.owner).select_related("allocation").first()
    if share is not None:
        said += _in_the_way(share, job, Job.objects.filter(allocation=job.allocation, owner=job.owner))
    return said


def _in_the_way(row: Allocation | Share, job: Job, others: JobQuerySet) -> Iterator[Text]:
    """What the job asks for against each limit; the portal counts what is queued and running as Slurm does."""
    under_way = Counter(others.open().exclude(pk=job.pk).values_list("owner_login", flat=True))
    if row.jobs_submitted is not None and under_way.total() + job.asked.tasks > row.jobs_submitted:
        words = _("The allocation lets %(limit)d jobs be queued and running, and %(used)d are: %(who)s.")
        if isinstance(row, Share):
            words = _("This person's share is %(limit)d jobs queued and running, and they have %(used)d: %(who)s.")
        who = refusing.named(under_way.most_common(refusing.SHOWN))
        yield words % {"limit": row.jobs_submitted, "used": under_way.total(), "who": who}
    most = _most_gpus(row, job)
    if most is not None and job.total_gpus > most:
        words = _("It asks for %(asked)d GPUs; at most %(limit)d at once are given.")
        yield words % {"asked": job.total_gpus, "limit": most}
    if row.longest_minutes is not None and (job.time_limit_minutes or 0) > row.longest_minutes:
        yield from _longest(row, job)
    if row.gpu_minutes is not None or row.gpu_minutes_by_type:
        share = row if isinstance(row, Share) else None
        yield from _hours(share.allocation if share else row, share, job)  # type: ignore[arg-type]


def _most_gpus(row: Allocation | Share, job: Job) -> int | None:
    """At once, of its type; None where neither all nor those are limited."""
    known = (row.gpus_at_once, row.gpus_by_type.get(job.gpu_type))
    return min((one for one in known if one is not None), default=None)


def _at_once(words: str, row: Allocation | Share, jobs: Sequence[Job]) -> Iterator[Text]:
    if row.jobs_running is not None:
        yield words % {"limit": row.jobs_running, "used": len(jobs)}


def _gpus(allocation: Allocation, job: Job, jobs: Sequence[Job]) -> Iterator[Text]:
    used, limit = sum(row.allocated_gpus for row in jobs), allocation.gpus_at_once
    typed = allocation.gpus_by_type.get(job.gpu_type)
    if limit is not None:
        yield _("The allocation uses %(used)d of %(limit)d GPUs.") % {"used": used, "limit": limit}
    else:
        yield _("The allocation's jobs use %(used)d GPUs.") % {"used": used}
    if typed is not None:
        yield _("Of the type %(type)s it gives %(limit)d at once.") % {"type": job.gpu_type.upper(), "limit": typed}
    who: Counter[str] = Counter()
    for row in jobs:
        who[row.owner_login] += row.allocated_gpus
    yield from _whose(who)


def _whose(who: Counter[str]) -> Iterator[Text]:
    if who:
        yield _("In use by %(who)s.") % {"who": refusing.named(who.most_common(refusing.SHOWN))}


def of_hours(job: Job, allocation: Allocation) -> Iterator[Text]:
    """What is left of an allocation's GPU-hours, and who has committed them."""
    yield from _hours(allocation, None, job)
    people = refusing.holders(allocation, Sum(limits.STILL_HELD))
    if any(amount for _login, amount in people):
        yield _("Committed by jobs under way, GPU-hours: %(who)s.") % {"who": refusing.named(people, 60)}


def _hours(allocation: Allocation, share: Share | None, job: Job) -> Iterator[Text]:
    """By the allocation as a whole or a person's share; of its type where that is limited."""
    yield _("It could use %(wanted)s GPU-hours.") % {"wanted": _said(job.total_gpus * (job.time_limit_minutes or 0))}
    of, user = share or allocation, job.owner if share else None
    words = _("%(left)s of %(all)s GPU-hours of this person's share are left.")
    words = words if share else _("%(left)s of %(all)s GPU-hours of the allocation are left.")
    for kind, limit in (("", of.gpu_minutes), (job.gpu_type, of.gpu_minutes_by_type.get(job.gpu_type))):
        if limit is not None:
            left = max(0, limit - limits.used_minutes(allocation, gpu_type=kind, user=user))
            said = words % {"left": _said(left), "all": number_format(limit / 60, 1 if limit % 60 else 0)}
            yield f"{kind.upper()}: {said}" if kind else said


def _longest(row: Allocation | Share, job: Job) -> Iterable[Text]:
    if row.longest_minutes is not None and job.time_limit_minutes:
        words = _("It asks for %(asked)s hours; at most %(limit)s are given.")
        yield words % {"asked": _said(job.time_limit_minutes), "limit": _said(row.longest_minutes)}


def _said(minutes: int) -> str:
    return number_format(minutes / 60, 1)
