"""How an attempt to hand a job over ended: on its row, the job and the trail; intents for what is left to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from django.utils import timezone

from access.compiled import update_all
from accounts.lookup import DirectoryDown
from audit import trail
from audit.actions import Action, Outcome
from audit.models import AuditEvent
from jobs import bells
from jobs.models import Handover, HandoverOutcome, Intent, IntentKind, Job, Kind, Phase
from jobs.services import data, dependencies, people, recording, tickets
from jobs.services.noticing import noting
from quotas import services as quotas
from slurm.contract import JobRecord, Refused, SlurmError, Submission, Unreachable


@dataclasses.dataclass(slots=True)
class Attempt:
    """One hand-over under way in this process."""

    handover: Handover
    asked: Submission | None = None
    who: people.Identity | None = None
    record: JobRecord | None = None
    slurm_job_id: int | None = None
    error: Exception | None = None
    waits: list[dependencies.Wait] = dataclasses.field(default_factory=list)
    differs: tuple[str, ...] = ()
    released: bool = False


def settle(one: Attempt, handover: Handover) -> None:
    """Write down how this attempt ended on its (locked) row."""
    match one.error:
        case None if one.record is None:
            unknown(handover, "accepted, but Slurm does not show it")
        case None if one.differs:
            _differs(one, handover)
        case None:
            accept([(handover, one.record, one.who)])  # type: ignore[list-item]
        case SlurmError() if one.slurm_job_id is not None:  # submitted; it was the reading back that failed
            unknown(handover, str(one.error))
        case people.MayNot() | dependencies.NeverMet() | Refused():
            _refused(handover, one.error)
        case DirectoryDown() | Unreachable():
            _not_sent(handover, str(one.error))
        case _:
            unknown(handover, str(one.error))


Accepted = tuple[Handover, JobRecord, people.Identity]


def accept(taken: Sequence[Accepted]) -> None:
    """These jobs are in Slurm, held, and what was asked for: from here on they are ours. A few statements for all."""
    if not taken:
        return
    events = [_take(handover, record, who) for handover, record, who in taken]
    update_all([handover for handover, _record, _who in taken], _EVIDENCE)
    recording.save_all([handover.job for handover, _record, _who in taken])
    trail.record_all(events)


_EVIDENCE = (
    "outcome", "accepted_at", "slurm_job_id", "array_task", "submit_time", "run_submit_time", "uid",
    "working_directory", "stdout_path", "stderr_path", "ticket", "notes_ticket", "folder_ticket",
    "ticket_expires_at", "ticket_restart_count",
)  # fmt: skip


def _take(handover: Handover, record: JobRecord, who: people.Identity) -> AuditEvent:
    job = handover.job
    handover.outcome, handover.accepted_at = HandoverOutcome.ACCEPTED, timezone.now()
    recording.identify(handover, record)
    tickets.sign(handover, login=who.login)
    recording.apply(job, record)
    recording.freed(job)
    job.phase, job.accepted_at, job.slurm_job_id = Phase.ACCEPTED, handover.accepted_at, record.job_id
    return trail.event(
        Action.JOB_ACCEPTED, about=job, project=job.project, ran_as=who.login, slurm_job_id=record.job_id, uid=who.uid,
        submit_time=record.submit_time, attempt=handover.attempt,
    )  # fmt: skip


def mark_released(handovers: Sequence[Handover]) -> None:
    """Slurm let them go: from now on they wait for the scheduler."""
    if not handovers:
        return
    now = timezone.now()
    for handover in handovers:
        handover.released_at = now
    Handover.objects.filter(pk__in=[handover.pk for handover in handovers]).update(released_at=now)
    jobs = [handover.job for handover in handovers]
    recording.save_all([job for job in jobs if recording.freed(job)])
    trail.record_all(
        trail.event(Action.JOB_RELEASED, about=job, project=job.project, ran_as=job.owner_login) for job in jobs
    )


def intend(handover: Handover, kind: str) -> None:
    """Leave something to be done about this hand-over; a second time changes nothing."""
    Intent.objects.get_or_create(
        job=handover.job, kind=kind, slurm_job_id=handover.slurm_job_id, done_at=None,
        defaults={"handover": handover, "submit_time": handover.submit_time, "uid": handover.uid},
    )  # fmt: skip
    bells.ring(bells.CARRY_OUT)


def unknown(handover: Handover, why: str) -> None:
    """It may or may not be in Slurm: the follower looks for its token."""
    handover.outcome, handover.error = HandoverOutcome.UNKNOWN, why[:500]
    handover.save(update_fields=["outcome", "error"])
    recording.move(handover.job, Phase.CONFIRMING)
    trail.record(
        Action.JOB_UNCONFIRMED, about=handover.job, project=handover.job.project, outcome=Outcome.FAILED, why=why
    )


def _not_sent(handover: Handover, why: str) -> None:
    """Nothing reached Slurm: the request waits as before."""
    handover.outcome, handover.error = HandoverOutcome.NOT_SENT, why[:500]
    handover.save(update_fields=["outcome", "error"])
    recording.move(handover.job, Phase.REQUESTED)


def _refused(handover: Handover, error: Exception) -> None:
    handover.outcome, handover.error = HandoverOutcome.REFUSED, str(error)[:500]
    handover.error_code = getattr(error, "code", None)
    handover.save(update_fields=["outcome", "error", "error_code"])
    refuse(handover.job, str(error))


def refuse(job: Job, words: str) -> None:
    """Slurm, or a check before it, said no: the allocation gets its part back."""
    job.refusal = words
    recording.move(job, Phase.REFUSED)
    noting.note(job, Kind.FAILED)
    data.follow(job)
    quotas.release(reference=str(job.pk))
    trail.record(
        Action.JOB_REFUSED, about=job, project=job.project, outcome=Outcome.REFUSED, ran_as=job.owner_login, words=words
    )


def _differs(one: Attempt, handover: Handover) -> None:
    """Slurm has something else than was asked for: it stays held and is thrown away."""
    recording.identify(handover, one.record)  # type: ignore[arg-type]
    words = "Slurm's record differs from the request: " + ", ".join(one.differs)
    _refused(handover, Refused(words))
    intend(handover, IntentKind.DISCARD)
