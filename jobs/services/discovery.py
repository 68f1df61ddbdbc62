"""Jobs of Slurm that no hand-over names: our own in the making, duplicates to throw away, or work from outside."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

import structlog
from django.db import DatabaseError, transaction

from accounts.models import User
from audit import trail
from audit.actions import Action
from cluster.models import Cluster
from jobs import bells
from jobs.models import Handover, HandoverOutcome, Intent, IntentKind, Job, Phase, Source
from jobs.services import recording
from jobs.states import is_over, word
from projects.models import Project
from slurm.contract import Gateway, JobRecord

log = structlog.get_logger(__name__)
_TOKEN = re.compile(r"bancada:([0-9a-f]{32})")
_TEXT = ("name", "comment", "admin_comment", "working_directory", "standard_output", "standard_error")
_MAKING = (HandoverOutcome.TRYING, HandoverOutcome.UNKNOWN)


def meet(gateway: Gateway, cluster: Cluster, strangers: Iterable[JobRecord]) -> None:
    """Say of each unknown job under one of our accounts what it is. Those of other accounts are not our business."""
    projects = {row.slurm_account: row for row in Project.objects.all()}
    asked: dict[int, JobRecord | None] = {}
    for record in strangers:
        project = projects.get(record.account)
        full = _with_text(gateway, record, asked) if project is not None else None
        if project is not None and full is not None:
            try:
                _meet_one(cluster, project, full)
            except (DatabaseError, ValueError):  # one job that cannot be written down must not hide everybody's
                log.exception("a job of Slurm could not be taken in", slurm_job_id=record.job_id)


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


def _meet_one(cluster: Cluster, project: Project, full: JobRecord) -> None:
    if full.restart_count and _requeued(cluster, full):
        return
    token = _TOKEN.fullmatch(full.admin_comment or full.comment)
    claimed = Handover.objects.filter(token=token[1]).select_related("job__owner").first() if token else None
    if claimed is None or not _is_theirs(claimed, full):
        _take_in(cluster, project, full)
    elif claimed.outcome in _MAKING or _is_it(claimed, full):
        return
    elif full.reason.startswith("JobHeld"):
        discard(claimed, full)
    else:  # a copied token does not hide what runs
        _take_in(cluster, project, full)


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
    ours = (handover.slurm_job_id, handover.array_task, handover.submit_time, handover.uid)
    return ours == (record.job_id, record.array_task, record.submit_time, record.uid)


def discard(handover: Handover, record: JobRecord) -> None:
    """A second copy under one token stays held and is thrown away."""
    Intent.objects.get_or_create(
        job=handover.job, kind=IntentKind.DISCARD, slurm_job_id=record.job_id, done_at=None,
        defaults={"submit_time": record.submit_time, "uid": record.uid},
    )  # fmt: skip
    bells.ring(bells.CARRY_OUT)


@transaction.atomic
def _take_in(cluster: Cluster, project: Project, record: JobRecord) -> None:
    """A job typed into a shell: it appears, marked so, under whoever owns the uid."""
    owner = User.objects.filter(uid_number=record.uid, is_active=True).first()
    nodes = max(1, record.node_count)
    job = Job(
        cluster=cluster, project=project, owner=owner, source=Source.OUTSIDE,
        allocation=project.allocations.filter(qos=record.qos).first(),
        owner_login=(owner.username if owner else record.user or str(record.uid))[:64],
        name=_name(record), partition=record.partition[:60], created_at=record.submit_time,
        gpu_type=next(iter(record.gpu_types), "")[:40], gpus=record.gpus // nodes, nodes=nodes,
        cpus=max(1, record.cpus // nodes), memory_mb=record.memory_mb // nodes, digest="",
        time_limit_minutes=record.time_limit_minutes, slurm_job_id=record.job_id, accepted_at=record.submit_time,
        phase=Phase.ENDED if is_over(record.states) else Phase.ACCEPTED,
    )  # fmt: skip
    recording.apply(job, record)
    job.state = word(job.phase, record.states, record.reason)
    job.save(force_insert=True)
    handover = Handover(job=job, cluster=cluster, outcome=HandoverOutcome.ACCEPTED, accepted_at=record.submit_time)
    recording.identify(handover, record)
    handover.released_at = handover.began_at = record.submit_time
    handover.save(force_insert=True)
    recording.note_run(handover, record)
    trail.record(Action.JOB_DISCOVERED, about=job, project=project, ran_as=job.owner_login, slurm_job_id=record.job_id)
    bells.ring(bells.RENEW_TICKETS)
