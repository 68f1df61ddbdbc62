"""Write what Slurm says onto our rows: the job as it stands, its hand-over, its runs. Rows change only if facts do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from access.compiled import update_all
from audit import trail
from audit.actions import Action, Outcome
from jobs import bells
from jobs.models import Handover, Job, Kind, Run
from jobs.services import booking
from jobs.services.noticing import noting
from jobs.states import Phase, State, is_over, word
from quotas import services as quotas
from slurm.contract import JobRecord

_FACTS = (
    "phase", "state", "slurm_states", "reason", "refusal", "slurm_job_id", "accepted_at", "started_at", "ended_at",
    "planned_at",
    "node_list", "allocated_gpus", "exit_code", "exit_signal", "seen_at", "change",
    "task_counts",
)  # fmt: skip
SAME_PLAN = timedelta(minutes=1)
# What our columns hold. Slurm's own are longer, and whoever submits by ssh chooses what stands in them.
LONGEST_PATH, LONGEST_NODES, LONGEST_REASON = 500, 500, 200


def identify(handover: Handover, record: JobRecord) -> None:
    """The evidence by which this job is recognised ever after, and where its output lies."""
    handover.slurm_job_id, handover.array_task = record.job_id, record.array_task
    handover.submit_time, handover.uid = record.submit_time, record.uid
    handover.run_submit_time = record.submit_time
    handover.working_directory = _path(record.working_directory)
    handover.stdout_path = _path(_expand(record.standard_output, record))
    handover.stderr_path = _path(_expand(record.standard_error, record))
    if handover.stderr_path == handover.stdout_path:
        handover.stderr_path = ""


def _expand(path: str, record: JobRecord) -> str:
    """The job's number in its path: some releases show it as asked for. A task's number stays a sign (%a)."""
    return path.replace("%j", str(record.job_id)).replace("%A", str(record.job_id))


def _path(path: str) -> str:
    """A path we can keep; one that is longer names nothing, so that its output is not shown rather than another's."""
    return path if len(path) <= LONGEST_PATH else ""


def apply(job: Job, record: JobRecord, counts: Mapping[str, int] | None = None) -> bool:
    """Put Slurm's facts on the job (not saved); whether anything a page shows has changed.

    Of an array, `record` is all tasks together and `counts` how many are in which state.
    """
    before = _shown(job)
    job.task_counts = job.task_counts if counts is None else dict(counts)
    job.slurm_states, job.reason = sorted(record.states), record.reason[:LONGEST_REASON]
    job.started_at, job.node_list, job.allocated_gpus = record.start_time, record.nodes[:LONGEST_NODES], record.gpus
    if "PENDING" in record.states:
        job.started_at, job.node_list, job.allocated_gpus = None, "", 0
    job.planned_at = _planned(job, record)
    over = is_over(record.states)
    job.ended_at = record.end_time if over else None
    job.exit_code, job.exit_signal = (record.exit_code, record.exit_signal) if over else (None, None)
    if job.phase in (Phase.ACCEPTED, Phase.ENDED, Phase.LOST):
        job.phase = Phase.ENDED if over else Phase.ACCEPTED
    job.state = word(job.phase, record.states, record.reason)
    job.seen_at = timezone.now()
    return _shown(job) != before


def _planned(job: Job, record: JobRecord) -> datetime | None:
    """Slurm draws its plan anew all the time: a minute more or less is no news."""
    plan, before = record.expected_start_time, job.planned_at
    if plan is None or plan <= timezone.now():
        return None
    return before if before is not None and abs(plan - before) <= SAME_PLAN else plan


def _shown(job: Job) -> tuple[Any, ...]:
    return tuple(getattr(job, name) for name in _FACTS if name not in ("seen_at", "change"))


def save(job: Job) -> None:
    """Keep the facts, count the change, and tell open pages to look again."""
    save_all([job])


def save_all(jobs: Iterable[Job]) -> None:
    """The same for many in one statement, in the order of their ids: two who do so never wait for each other."""
    jobs = sorted(jobs, key=lambda job: job.pk)
    for job in jobs:
        job.state = word(job.phase, job.slurm_states, job.reason)
        job.change += 1
    update_all(jobs, _FACTS)
    bells.hint([(job.pk, job.change) for job in jobs])


def move(job: Job, phase: Phase) -> None:
    """Another phase, nothing else."""
    job.phase = phase
    save(job)


def freed(job: Job) -> bool:
    """Our own hold is nobody's news (not saved): it is gone before the follower sees it. Whether it was noted."""
    noted = job.reason.startswith("JobHeld")
    if noted:
        job.reason = ""
    return noted


def note_run(handover: Handover, record: JobRecord) -> Run | None:
    """The run this record tells of; None before the first start, and of a whole array, whose tasks have their own."""
    if record.array or record.start_time is None or "PENDING" in record.states:
        return None
    earlier = Run.objects.filter(handover=handover, array_task=record.array_task, ended_at=None)
    earlier.filter(restart_count__lt=record.restart_count).update(ended_at=record.submit_time)  # the requeue ended it
    run, _created = Run.objects.update_or_create(
        handover=handover, array_task=record.array_task, restart_count=record.restart_count, defaults=facts(record)
    )
    return run


def first_run(handover: Handover, record: JobRecord) -> Run | None:
    """The same of a job that was not known before (not saved)."""
    if record.start_time is None or "PENDING" in record.states:
        return None
    number = {"array_task": record.array_task, "restart_count": record.restart_count}
    return Run(handover=handover, **number, **facts(record))


def facts(record: JobRecord) -> dict[str, Any]:
    """What Slurm says of a run, by our columns."""
    over = is_over(record.states)
    return {
        "slurm_states": sorted(record.states), "started_at": record.start_time,
        "node_list": record.nodes[:LONGEST_NODES],
        "ended_at": record.end_time if over else None, "cpus": record.cpus, "memory_mb": record.memory_mb,
        "gpus": record.gpus, "gpu_types": dict(record.gpu_types),
        "exit_code": record.exit_code if over else None, "exit_signal": record.exit_signal if over else None,
    }  # fmt: skip


def tell_story(job: Job, before: str, record: JobRecord) -> None:
    """Events for what happened between two looks: started, requeued, ended."""
    about: dict[str, Any] = {
        "about": job,
        "project": job.project,
        "ran_as": job.owner_login,
        "slurm_job_id": record.job_id,
    }
    if before != job.state and job.state == State.RUNNING:
        noting.note(job, Kind.STARTED)
        trail.record(Action.JOB_STARTED, nodes=record.nodes, gpus=record.gpus, **about)
    if (
        record.restart_count
        and before in (State.RUNNING, State.ENDING)
        and job.state in (State.WAITING, State.REQUEUED)
    ):
        trail.record(Action.JOB_REQUEUED, restart_count=record.restart_count, **about)
    if job.phase == Phase.ENDED and before != job.state:
        noting.note(job, noting.of_end(job))
        good = job.state == State.COMPLETED
        trail.record(
            Action.JOB_CANCELLED if job.state == State.CANCELLED else Action.JOB_ENDED,
            outcome=Outcome.DONE if good or job.state == State.CANCELLED else Outcome.FAILED,
            state=job.state, exit_code=job.exit_code, exit_signal=job.exit_signal,
            asked_by=trail.Login(job.cancel_asked_by.username) if job.cancel_asked_by else None, **about,
        )  # fmt: skip


def settle_hold(job: Job) -> None:
    """At the end: what all runs together used is booked, and the allocation gets the rest back."""
    if job.phase == Phase.ENDED:
        booking.book_jobs([job.pk])
        quotas.release(reference=str(job.pk))
