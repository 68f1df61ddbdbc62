"""The numbers behind the reason a job waits for: what is in use of what, how many end soon, what is left."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from cluster.models import NODES, PARTITIONS
from jobs import reasons
from jobs.models import Job
from jobs.services import limiting
from jobs.states import State

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

WAITS = (State.WAITING, State.HELD, State.REQUEUED)
SOON = timedelta(minutes=40)
AT_ONCE = re.compile(r"(?:QOS|Assoc)Grp(?!.*Minutes)|AssociationResourceLimit|QOSResourceLimit|MaxGRESPerAccount")
HOURS = re.compile(r".*Minutes|QOSTimeLimit|AssociationTimeLimit")
LONGEST = re.compile(r"QOSMaxWall")
OWN = re.compile(r".*(?:PerUser|AssocMaxJobs)")


@dataclasses.dataclass(frozen=True, slots=True)
class Why:
    """The reason in plain words, and sentences with the numbers of this moment."""

    reason: reasons.Reason
    numbers: list[Text]


def why(job: Job) -> Why | None:
    """None where it does not wait and no limit refused it, or Slurm gives no reason."""
    if reasons.is_by_a_limit(job) and (refused := reasons.of(job)):
        return Why(refused, limiting.of_refusal(job))
    reason = reasons.explain(job.reason) if job.state in WAITS else None
    return Why(reason, [*numbers(job), *_plan(job)]) if reason else None


def _plan(job: Job) -> Iterable[Text]:
    """Slurm's own; it is drawn anew all the time."""
    if job.planned_at and job.planned_at > timezone.now():
        when = date_format(timezone.localtime(job.planned_at), "SHORT_DATETIME_FORMAT")
        yield _("Slurm plans to start it at %(when)s; that moves as others end early or go before it.") % {"when": when}


def numbers(job: Job) -> Iterable[Text]:
    """What the reason is about, counted now; of a limit of the project with whose jobs have it, of others' jobs not."""
    word = job.reason.strip("() ")
    share = limiting.share_of(job, word)
    if share is not None:
        said, jobs = limiting.of_share(job, share, word)
        return [*said, *_ends(jobs)]
    if HOURS.match(word):
        return limiting.of_hours(job, job.allocation) if job.allocation and job.time_limit_minutes else []
    if OWN.match(word):
        return _of_person(job)
    if AT_ONCE.match(word) or LONGEST.match(word):
        return _of_allocation(job, word)
    if word.startswith(("Resources", "Priority", "ReqNode", "NodesUnavail")):
        return _of_partition(job)
    return _of_request(job, word)


def _of_person(job: Job) -> Iterable[Text]:
    jobs = list(limiting.running(job).filter(owner=job.owner))
    used = sum(row.allocated_gpus for row in jobs)
    said = ngettext("This person's jobs use %(used)d GPU.", "This person's jobs use %(used)d GPUs.", used)
    return [said % {"used": used}, *_ends(jobs)]


def _of_allocation(job: Job, word: str) -> Iterable[Text]:
    if job.allocation is None:
        return []
    said, jobs = limiting.of_allocation(job, job.allocation, word)
    return [*said, *_ends(jobs)]


def _ends(jobs: Sequence[Job]) -> Iterable[Text]:
    """At the latest: many end sooner than their limit."""
    ends = sorted(job.ends_by for job in jobs if job.ends_by)
    soon = [end for end in ends if end <= timezone.now() + SOON]
    if soon:
        said = ngettext("%(n)d job ends within 40 minutes.", "%(n)d jobs end within 40 minutes.", len(soon))
        yield said % {"n": len(soon)}
    elif ends:
        minutes = max(1, round((ends[0] - timezone.now()).total_seconds() / 60))
        yield _("The next one ends in %(n)d minutes at the latest.") % {"n": minutes}


def _of_partition(job: Job) -> Iterable[Text]:
    """By the picture of the cluster, as the cluster page has it."""
    names = {name for row in PARTITIONS.all() if row.name == job.partition for name in row.node_names}
    nodes = [node for node in NODES.all() if node.name in names]
    serving = [node for node in nodes if not node.out_of_service]
    if job.gpus:
        free = sum(max(0, node.gpus - node.gpus_allocated) for node in serving)
        yield _("%(free)d of %(all)d GPUs of the partition are free; it asks for %(n)d.") % {
            "free": free, "all": sum(node.gpus for node in nodes), "n": job.total_gpus,
        }  # fmt: skip
    out = len(nodes) - len(serving)
    if out:
        yield ngettext("%(n)d node is out of service.", "%(n)d nodes are out of service.", out) % {"n": out}
    before = Job.objects.filter(partition=job.partition, state=State.WAITING, pk__lt=job.pk).open().count()
    if before:
        said = ngettext("%(n)d job asked for earlier waits too.", "%(n)d jobs asked for earlier wait too.", before)
        yield said % {"n": before}


def _of_request(job: Job, word: str) -> Iterable[Text]:
    asked = job.asked
    if word.startswith("BeginTime") and asked.begin:
        yield _("It asked not to start before %(time)s (UTC).") % {"time": asked.begin.replace("T", " ").rstrip("Z")}
    if word.startswith("JobArrayTaskLimit") and asked.array:
        yield _("%(n)d of its %(all)d tasks run at once.") % {"n": asked.at_once, "all": asked.tasks}
