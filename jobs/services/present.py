"""A job as Slurm has it at this moment, and who may speak for it: what every act in Slurm stands on. Worker only."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from access.permissions import Permission
from accounts.lookup import DirectoryDown
from cluster import slurm_door
from jobs.models import Handover, Job
from jobs.services import afterwards, arrays, data, people, recording
from slurm.contract import JobRecord


class NotYet(Exception):
    """The intent cannot be settled now; it stays open."""


def same_job(handover: Handover) -> JobRecord | None:
    """The job in slurmctld if it still is the one we mean: number, submit time and uid together.

    Of an array, one of its tasks, or those that wait as one record.
    """
    record = slurm_door.gateway().job(handover.slurm_job_id or 0, as_user=None)
    if record is not None and record.array_task is not None and handover.array_task is None:
        return record if arrays.is_task(handover, record) else None
    same = record is not None and (record.submit_time, record.uid) == (handover.run_submit_time, handover.uid)
    return record if same else None


@transaction.atomic
def observe(handover: Handover, record: JobRecord) -> None:
    """Our own act shows at once, before the follower's next look; of an array only the follower sees all tasks."""
    job = locked(handover.job_id)
    if job.is_array:
        return
    before = job.state
    recording.note_run(handover, record)
    if recording.apply(job, record):
        recording.save(job)
        recording.tell_story(job, before, record)
        recording.settle_hold(job)
        data.follow(job)
        afterwards.due([job])


def identity(job: Job) -> people.Identity:
    """The owner as the cluster knows them, checked now. Raises people.MayNot, DirectoryDown or NotYet."""
    if job.owner is None:
        raise NotYet("nobody owns it")
    return people.identity(job.owner, job.project, Permission.JOB_SUBMIT)


def still_acts(job: Job) -> bool:
    """Whether the worker may speak as the owner; a job's end does not wait until that is known."""
    try:
        return bool(identity(job))
    except (people.MayNot, DirectoryDown, NotYet):
        return False


def lock_free(pk: UUID) -> Job:
    """The job without its script, and without a lock: Slurm is asked meanwhile."""
    return Job.objects.select_related("project", "owner", "allocation", "cluster").defer("script").get(pk=pk)


def locked(pk: UUID) -> Job:
    """The job, locked until the transaction ends."""
    rows = Job.objects.select_for_update(of=("self",)).select_related("project", "owner", "allocation", "cluster")
    return rows.get(pk=pk)
