"""What a change of members or limits would do: what Slurm would be told, and which waiting jobs it would block."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from accounts.models import User
from jobs.models import Job
from jobs.states import State
from projects.models import Membership, Project
from quotas.models import Allocation, Share
from quotas.services import limits
from quotas.services import preview as trial
from quotas.services.wanted import SUBMITTERS
from slurm.steps import Step

WAITING = (State.WAITING, State.HELD, State.REQUEUED, State.HANDING, State.CONFIRMING)
MOST = 1000  # waiting jobs looked at


@dataclasses.dataclass(frozen=True, slots=True)
class Preview:
    """`steps` for Slurm, in their order; `blocked`: (job, limit in its way) of jobs that could start before."""

    steps: Sequence[Step]
    blocked: Sequence[tuple[Job, str]]


def preview(project: Project, change: Callable[[], object]) -> Preview:
    """What `change` would do; nothing of it stays. Raises what the change raises."""
    before = dict(_stopped(project))
    steps, after = trial.tried(change, lambda: (trial.steps(project), dict(_stopped(project))))
    names = {pk: limit for pk, limit in after.items() if pk not in before}
    jobs = Job.objects.filter(pk__in=names).with_names().order_by("pk")
    return Preview(steps, [(job, names[job.pk]) for job in jobs])


def _stopped(project: Project) -> Iterator[tuple[UUID, str]]:
    """Waiting jobs that the rows as they stand do not let start: (job, the first limit in its way)."""
    rows = _Rows.of(project)
    jobs = Job.objects.filter(project=project, state__in=WAITING).open().select_related("allocation")
    for job in jobs.defer("script", "environment")[:MOST]:
        limit = rows.in_the_way(job)
        if limit:
            yield job.pk, limit


@dataclasses.dataclass(frozen=True, slots=True)
class _Rows:
    """What decides over all of a project's waiting jobs."""

    project: Project
    submitters: frozenset[int]
    shares: dict[tuple[int, int], Share]
    spent: dict[tuple[int, str, int], int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, project: Project) -> _Rows:
        members = Membership.objects.active().filter(project=project, role__in=SUBMITTERS, user__is_active=True)
        shares = Share.objects.filter(allocation__project=project)
        return cls(
            Project.objects.get(pk=project.pk), frozenset(members.values_list("user_id", flat=True)),
            {(share.allocation_id, share.user_id): share for share in shares},
        )  # fmt: skip

    def in_the_way(self, job: Job) -> str:
        """The limit's name; "" where nothing is."""
        if job.owner_id not in self.submitters:
            return "member"
        if not self.project.takes_work:
            return "project"
        if job.partition not in self.project.partitions:
            return "partition"
        if job.allocation is None:
            return ""
        share = self.shares.get((job.allocation_id or 0, job.owner_id or 0))
        by_limits = _of_allocation(job.allocation, job) or (_of_limits(share, job) if share else "")
        return by_limits or ("gpu_minutes" if self._lasts_too_long(job.allocation, share, job) else "")

    def _lasts_too_long(self, allocation: Allocation, share: Share | None, job: Job) -> bool:
        """Whether the job may use more hours than are left: of all, of its GPU type, of its owner's share."""
        asked = job.total_gpus * (job.time_limit_minutes or 0) * job.asked.tasks
        of_type = allocation.gpu_minutes_by_type.get(job.gpu_type)
        return bool(asked) and (
            _over(_left(allocation.gpu_minutes, allocation.used_gpu_minutes), asked)
            or (of_type is not None and _over(_left(of_type, self._used(allocation, gpu_type=job.gpu_type)), asked))
            or (
                share is not None
                and share.gpu_minutes is not None
                and _over(_left(share.gpu_minutes, self._used(allocation, user=job.owner)), asked)
            )
            or (share is not None and self._over_the_type(allocation, share, job, asked))
        )

    def _over_the_type(self, allocation: Allocation, share: Share, job: Job, asked: int) -> bool:
        most = share.gpu_minutes_by_type.get(job.gpu_type)
        return most is not None and _over(
            _left(most, self._used(allocation, gpu_type=job.gpu_type, user=job.owner)), asked
        )

    def _used(self, allocation: Allocation, *, gpu_type: str = "", user: User | None = None) -> int:
        """GPU-minutes booked, asked for once."""
        key = (allocation.pk, gpu_type, user.pk if user else 0)
        if key not in self.spent:
            self.spent[key] = limits.used_minutes(allocation, gpu_type=gpu_type, user=user)
        return self.spent[key]


def _of_allocation(allocation: Allocation, job: Job) -> str:
    if not allocation.is_open:
        return "allocation"
    if allocation.partitions and job.partition not in allocation.partitions:
        return "partition"
    return _of_limits(allocation, job)


def _of_limits(row: Allocation | Share, job: Job) -> str:
    if _over(row.gpus_at_once, job.total_gpus) or _over(row.gpus_by_type.get(job.gpu_type), job.total_gpus):
        return "gpus_at_once"
    if _over(row.longest_minutes, job.time_limit_minutes or 0):
        return "longest_minutes"
    return "jobs_running" if row.jobs_running == 0 else ""


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)


def _over(limit: int | None, asked: int) -> bool:
    return limit is not None and asked > limit
