"""Jobs of Slurm that no hand-over names: our own in the making, duplicates to throw away, or work from outside."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from django.db import DatabaseError, transaction

from accounts.models import User
from audit import trail
from audit.actions import Action
from audit.models import AuditEvent
from cluster.models import Cluster
from jobs import bells
from jobs.models import Handover, HandoverOutcome, Intent, IntentKind, Job, Phase, Run, Source
from jobs.services import booking, recording
from jobs.states import is_over, word
from projects.models import Project
from quotas.models import Allocation
from slurm.contract import Gateway, JobRecord

log = structlog.get_logger(__name__)
_TOKEN = re.compile(r"bancada:([0-9a-f]{32})")
_TEXT = ("name", "comment", "admin_comment", "working_directory", "standard_output", "standard_error")
MOST_AT_ONCE, AT_A_TIME = 1000, 200  # jobs taken in within one look, and within one transaction
_MAKING = (HandoverOutcome.TRYING, HandoverOutcome.UNKNOWN)


@dataclasses.dataclass(frozen=True, slots=True)
class Stranger:
    """A job nobody asked the portal for: as it is now, and the runs before where they are known."""

    project: Project
    record: JobRecord
    earlier: Sequence[JobRecord] = ()


def meet(gateway: Gateway, cluster: Cluster, strangers: Iterable[JobRecord]) -> None:
    """Say of each unknown job under one of our accounts what it is. Those of other accounts are not our business.

    An array of ten thousand tasks comes in over several looks, so that what all others' jobs do is not told late.
    """
    projects = {row.slurm_account: row for row in Project.objects.all()}
    ours = [record for record in strangers if record.account in projects]
    asked: dict[int, JobRecord | None] = {}
    new: list[Stranger] = []
    for record in ours[:MOST_AT_ONCE]:
        full = _with_text(gateway, record, asked)
        if full is not None and _is_new(cluster, full):
            new.append(Stranger(projects[record.account], full))
    take_in(cluster, new)


def _with_text(gateway: Gateway, record: JobRecord, asked: dict[int, JobRecord | None]) -> JobRecord | None:
    """The record with its free text, which the tasks of an array share and are asked for once; None: it is gone."""
    if record.job_id not in asked:
        asked[record.job_id] = gateway.job(record.job_id)
    full = asked[record.job_id]
    if full is None or (full.submit_time, full.uid) != (record.submit_time, record.uid):
        return None
    if full.array_task == record.array_task:
        return full
    return dataclasses.replace(record, **{name: getattr(full, name) for name in _TEXT})


def _is_new(cluster: Cluster, full: JobRecord) -> bool:
    """Whether it is work from outside; what it is instead is seen to."""
    if full.restart_count and _requeued(cluster, full):
        return False
    token = _TOKEN.fullmatch(full.admin_comment or full.comment)
    claimed = Handover.objects.filter(token=token[1]).select_related("job__owner").first() if token else None
    if claimed is None or not _is_theirs(claimed, full):
        return True
    if claimed.outcome in _MAKING or _is_it(claimed, full):
        return False
    if full.reason.startswith("JobHeld"):
        discard(claimed, full)
        return False
    return True  # a copied token does not hide what runs


def _name(record: JobRecord) -> str:
    """As a page and a terminal may show it: whoever submits by ssh may put escape codes in."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in record.name[:64]) or str(record.job_id)


def _requeued(cluster: Cluster, record: JobRecord) -> bool:
    """A requeue keeps number, uid and comment and moves the submit time: the same job, another run."""
    rows = Handover.objects.filter(
        cluster=cluster, slurm_job_id=record.job_id, array_task=record.array_task, uid=record.uid,
        submit_time__lt=record.submit_time,
    )  # fmt: skip
    row = rows.select_related("job").order_by("-submit_time").first()
    if row is None or row.job.name != _name(record):
        return False
    if not row.job.is_outside and row.comment != (record.admin_comment or record.comment):
        return False
    Handover.objects.filter(pk=row.pk).update(run_submit_time=record.submit_time)
    return True


def _is_theirs(handover: Handover, record: JobRecord) -> bool:
    """The token is a hint its owner can copy; uid and time must fit the attempt as well."""
    owner = handover.job.owner
    return (
        owner is not None
        and owner.uid_number == record.uid
        and record.submit_time >= handover.began_at.replace(microsecond=0)
    )


def _is_it(handover: Handover, record: JobRecord) -> bool:
    """The very job of this hand-over: it was written down between the bulk read and now."""
    task = record.array_task if handover.job.is_array else handover.array_task
    ours = (handover.slurm_job_id, task, handover.submit_time, handover.uid)
    return ours == (record.job_id, record.array_task, record.submit_time, record.uid)


def discard(handover: Handover, record: JobRecord) -> None:
    """A second copy under one token stays held and is thrown away."""
    Intent.objects.get_or_create(
        job=handover.job, kind=IntentKind.DISCARD, slurm_job_id=record.job_id, done_at=None,
        defaults={"submit_time": record.submit_time, "uid": record.uid},
    )  # fmt: skip
    bells.ring(bells.CARRY_OUT)


def take_in(cluster: Cluster, strangers: Sequence[Stranger]) -> int:
    """Write them down as work from outside, some at a time; how many."""
    firsts = range(0, len(strangers), AT_A_TIME)
    return sum(_take_in_or_each(cluster, strangers[first : first + AT_A_TIME]) for first in firsts)


def _take_in_or_each(cluster: Cluster, strangers: Sequence[Stranger]) -> int:
    """Together; one that cannot be written down must not hide everybody's."""
    try:
        return _take_in(cluster, strangers)
    except (DatabaseError, ValueError):
        if len(strangers) == 1:
            log.exception("a job of Slurm could not be taken in", slurm_job_id=strangers[0].record.job_id)
            return 0
        return sum(_take_in_or_each(cluster, [one]) for one in strangers)


@transaction.atomic
def _take_in(cluster: Cluster, strangers: Sequence[Stranger]) -> int:
    """Jobs typed into a shell: they appear, marked so, under whoever owns the uid. A few statements for all."""
    uids = {one.record.uid for one in strangers}
    owners = {row.uid_number: row for row in User.objects.filter(uid_number__in=uids, is_active=True)}
    spent = Allocation.objects.filter(project__in={one.project.pk for one in strangers}).order_by("-pk")
    allocations = {(row.project_id, row.qos): row for row in spent}
    handovers = []
    for one in strangers:
        allocation = allocations.get((one.project.pk, one.record.qos))
        job = _job(cluster, one.project, owners.get(one.record.uid), allocation, one.record)
        handovers.append(_handover(job, one.record))
    Job.objects.bulk_create([handover.job for handover in handovers])
    Handover.objects.bulk_create(handovers)
    pairs = list(zip(handovers, strangers, strict=True))
    Run.objects.bulk_create(_runs(pairs))
    trail.record_all(_event(handover.job, one.record) for handover, one in pairs)
    booking.book_jobs([handover.job.pk for handover in handovers if handover.job.phase == Phase.ENDED])
    bells.ring(bells.RENEW_TICKETS)
    return len(pairs)


def _runs(pairs: Iterable[tuple[Handover, Stranger]]) -> list[Run]:
    """Each has ended but the last, which may go on."""
    found = []
    for handover, one in pairs:
        for record in one.earlier:
            run = recording.first_run(handover, record)
            if run is not None:
                run.ended_at = record.end_time or one.record.submit_time
                found.append(run)
        last = recording.first_run(handover, one.record)
        found += [last] if last else []
    return found


def _job(
    cluster: Cluster, project: Project, owner: User | None, allocation: Allocation | None, record: JobRecord
) -> Job:
    nodes = max(1, record.node_count)
    job = Job(
        cluster=cluster, project=project, owner=owner, source=Source.OUTSIDE, allocation=allocation,
        owner_login=(owner.username if owner else record.user or str(record.uid))[:64],
        name=_name(record), partition=record.partition[:60], created_at=record.submit_time,
        gpu_type=next(iter(record.gpu_types), "")[:40], gpus=record.gpus // nodes, nodes=nodes,
        cpus=max(1, record.cpus // nodes), memory_mb=record.memory_mb // nodes, digest="",
        time_limit_minutes=record.time_limit_minutes, slurm_job_id=record.job_id, accepted_at=record.submit_time,
        phase=Phase.ENDED if is_over(record.states) else Phase.ACCEPTED,
    )  # fmt: skip
    recording.apply(job, record)
    job.state = word(job.phase, record.states, record.reason)
    return job


def _handover(job: Job, record: JobRecord) -> Handover:
    handover = Handover(job=job, cluster=job.cluster, outcome=HandoverOutcome.ACCEPTED, accepted_at=record.submit_time)
    recording.identify(handover, record)
    handover.released_at = handover.began_at = record.submit_time
    return handover


def _event(job: Job, record: JobRecord) -> AuditEvent:
    about: dict[str, Any] = {"about": job, "project": job.project, "ran_as": job.owner_login}
    return trail.event(Action.JOB_DISCOVERED, slurm_job_id=record.job_id, **about)
