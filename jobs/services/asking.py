"""What a person may ask for: a job, and its end. Nothing here speaks to Slurm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from access.compiled import Fixed, insert
from accounts.models import User
from audit import trail
from audit.actions import Action
from cluster.models import Cluster, Partition
from datasets import services as datasets
from jobs import bells, specs
from jobs.models import Intent, IntentKind, Job, Phase
from jobs.services import data, dependencies, ending, pace, starting, writing
from jobs.states import State
from projects.models import Project, ProjectState
from quotas import services as quotas
from quotas.models import Allocation

# the field of a request that a limit of its allocation speaks of
FIELD_OF_LIMIT = {
    "gpus_at_once": "gpus", "gpu_minutes": "time_limit_minutes", "longest_minutes": "time_limit_minutes",
    "jobs_submitted": "allocation", "partition": "partition",
}  # fmt: skip


class KeyReused(Exception):
    """The idempotency key came with another request before."""


class NotNow(Exception):
    """The project or the person cannot submit at present; says why."""


class AlreadyOver(Exception):
    """The job has ended; there is nothing to cancel."""


class NotFromHere(AlreadyOver):
    """One task of an array typed into a shell: Slurm would end the whole array under this number."""


def the_cluster() -> Cluster:
    """The one cluster this portal drives."""
    return Cluster.objects.get_or_create(name=settings.CLUSTER_NAME)[0]


_PARTITIONS = Fixed(lambda cluster: Partition.objects.filter(cluster__name=cluster))


def partitions_of(project: Project) -> list[Partition]:
    """The partitions of the cluster that the project may use."""
    rows = _PARTITIONS.all(cluster=settings.CLUSTER_NAME)
    return [row for row in rows if row.name in project.partitions]


def prepare(
    raw: dict[str, Any], *, project: Project, by: User | None = None, partitions: Sequence[Partition] | None = None,
    choose: Callable[[Project, str], Allocation] = quotas.choose,
) -> tuple[specs.JobSpec, Allocation]:  # fmt: skip
    """Check what was asked for; raises BadSpec with every wrong field, the allocation's among them.

    The jobs to wait for are looked up where it is known who asks (`by`), and in any case when it is written down. Who
    prepares many at once gives the partitions, and a way to choose that remembers. A preset it names is applied first.
    """
    raw, errors = starting.complete(raw, project=project)
    spec = allocation = None
    try:
        spec = specs.check(
            raw, project=project, partitions=partitions_of(project) if partitions is None else partitions
        )
        _taken_here(spec)
        if by is not None:
            dependencies.check(spec.options, by=by)
            writing.check_folder(spec.options.folder, project=project, by=by)
    except specs.BadSpec as bad:
        errors = bad.errors | errors
    try:
        allocation = choose(project, str(raw.get("allocation") or ""))
    except quotas.NoAllocation:
        errors["allocation"] = [_("The project has no such allocation in force.")]
    if spec is None or allocation is None or errors:
        raise specs.BadSpec(errors)
    return spec, allocation


def _taken_here(spec: specs.JobSpec) -> None:
    """The REST door of 22.05 takes no signal for the batch script itself. Raises BadSpec."""
    if "B" not in spec.options.signal.rpartition(":")[0]:
        return
    if Cluster.objects.filter(name=settings.CLUSTER_NAME, slurm_version__startswith="22.05").exists():
        said = _("Slurm 22.05 sends it to what srun starts only: leave out B: and start your program with srun.")
        raise specs.BadSpec({"signal": [said]})


def submit(
    *, project: Project, spec: specs.JobSpec, allocation: Allocation, by: User, idempotency_key: str | None = None
) -> Job:
    """Write the request down; a worker hands it to Slurm. The same key with the same request gives the same job.

    Raises NotNow, TooFast, quotas.OverAllocation, datasets.NotPermitted, specs.BadSpec (a field message each) or
    KeyReused; then nothing was written but the refusal.
    """
    digest = spec.digest(project=project.code, allocation=allocation.code)
    earlier = _earlier(by, idempotency_key, digest)
    if earlier is not None:
        return earlier
    may_submit(project, by)
    pace.check(by=by)
    dependencies.check(spec.options, by=by)
    try:
        return _write(project=project, spec=spec, allocation=allocation, by=by, key=idempotency_key, digest=digest)
    except datasets.NotPermitted as refusal:
        datasets.refused(reasons=refusal.reasons, wanted=spec.datasets, project=project, by=by)
        raise
    except (IntegrityError, quotas.OverAllocation):  # or the same request, a moment ago, took the last of it
        earlier = _earlier(by, idempotency_key, digest)
        if earlier is None:
            raise
        return earlier


@transaction.atomic
def cancel(*, job: Job, by: User) -> None:
    """Ask for the job's end; Slurm has the last word on when it ended. Works at every point of the hand-over."""
    locked = Job.objects.select_for_update(of=("self",)).defer("script").get(pk=job.pk)
    if not locked.is_open:
        raise AlreadyOver(_("The job has already ended."))
    if locked.handovers.filter(array_task__isnull=False).exists():
        raise NotFromHere(_("A task of an array from outside the portal is ended there, with scancel."))
    if locked.cancel_asked_at is None:
        locked.cancel_asked_at, locked.cancel_asked_by = timezone.now(), by
        locked.save(update_fields=["cancel_asked_at", "cancel_asked_by"])
    open_ones = Intent.objects.filter(job=locked, kind=IntentKind.CANCEL, done_at=None)
    if not open_ones.exists():
        Intent.objects.create(job=locked, kind=IntentKind.CANCEL, asked_by=by)
    trail.record(Action.JOB_CANCEL_ASKED, by=by, about=locked, project=locked.project, before=locked.state)
    bells.ring(bells.CARRY_OUT)


def earlier(*, project: Project, spec: specs.JobSpec, allocation: Allocation, by: User, key: str | None) -> Job | None:
    """The job that this very request made when it came before. Raises KeyReused."""
    return _earlier(by, key, spec.digest(project=project.code, allocation=allocation.code))


def _earlier(by: User, key: str | None, digest: str) -> Job | None:
    if not key:
        return None
    job = Job.objects.filter(owner=by, idempotency_key=key).first()
    if job is not None and job.digest != digest:
        raise KeyReused(key)
    return job


def may_submit(project: Project, by: User) -> None:
    """Raises NotNow, with the reason."""
    if not project.takes_work:
        raise NotNow(_closed(project))
    if by.uid_number is None or by.uid_number < 1000:
        raise NotNow(_("Your sign-in has no user number on the cluster; ask the cluster administrator."))


def _closed(project: Project) -> str:
    """Why it takes none today, and who can change that."""
    if project.state == ProjectState.ARCHIVED:
        return _("The project is archived and takes no new jobs.")
    if project.ends_on and project.ends_on < timezone.now().date():
        words = _("The project's period ended on %(day)s: it takes no new jobs. A cluster administrator can extend it.")
        return words % {"day": date_format(project.ends_on, "SHORT_DATE_FORMAT")}
    words = _("The project's period begins on %(day)s: it takes no jobs before. A cluster administrator can change it.")
    return words % {"day": date_format(project.starts_on or timezone.now(), "SHORT_DATE_FORMAT")}


@transaction.atomic
def _write(
    *, project: Project, spec: specs.JobSpec, allocation: Allocation, by: User, key: str | None, digest: str
) -> Job:
    cluster, used = cluster_of(spec.partition), data.permitted(spec, project=project, by=by)
    job = made(cluster, project=project, spec=spec, allocation=allocation, by=by, key=key, digest=digest)
    job.datasets = [one.facts for one in used]
    insert(job)
    trail.record(Action.JOB_SUBMITTED, by=by, **facts(job))
    data.declare(job, used, by=by)
    # last: others who spend this allocation wait from here on
    quotas.hold(
        allocation=allocation, reference=str(job.pk), gpus=spec.total_gpus, minutes=spec.time_limit_minutes,
        gpu_type=spec.gpu_type, partition=spec.partition, user=by, tasks=spec.options.tasks,
        at_once=spec.options.at_once, ends=ending.ends,
    )  # fmt: skip
    bells.ring(bells.HAND_OVER)
    return job


def made(
    cluster_id: int,
    *,
    project: Project,
    spec: specs.JobSpec,
    allocation: Allocation,
    by: User,
    key: str | None,
    digest: str,
) -> Job:
    """The request as a row (not saved)."""
    return Job(
        cluster_id=cluster_id, project=project, owner=by, owner_login=by.username,
        allocation=allocation,
        name=spec.name, partition=spec.partition, gpu_type=spec.gpu_type, gpus=spec.gpus, nodes=spec.nodes,
        cpus=spec.cpus,
        memory_mb=spec.memory_mb, time_limit_minutes=spec.time_limit_minutes, script=spec.script,
        environment=dict(spec.environment), options=spec.options.stored(), digest=digest, idempotency_key=key or None,
        phase=Phase.REQUESTED, state=State.HANDING,
    )  # fmt: skip


def facts(job: Job) -> dict[str, Any]:
    """What the trail keeps of a request."""
    return {
        "about": job, "project": job.project, "digest": job.digest, "partition": job.partition,
        "gpus": job.total_gpus, "gpu_type": job.gpu_type, "nodes": job.nodes, "minutes": job.time_limit_minutes,
        "allocation": job.allocation.code if job.allocation else None,
        **({"tasks": job.asked.tasks, "array": job.asked.array} if job.is_array else {}),
    }  # fmt: skip


def cluster_of(partition: str) -> int:
    """The cluster (its key) that has this partition."""
    return next(row.cluster_id for row in _PARTITIONS.all(cluster=settings.CLUSTER_NAME) if row.name == partition)
