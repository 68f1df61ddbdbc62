"""Hand what was asked for over to Slurm: claim, submit held, read back and compare, record, release.

Any failure between sending and recording is "unknown", never "failed"; the follower settles it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import structlog
from accounts.lookup import DirectoryDown
from django.db import transaction
from django.utils import timezone

from access.permissions import Permission
from audit import trail
from audit.actions import Action, Outcome
from jobs import bells
from jobs.models import Handover, HandoverOutcome, Intent, IntentKind, Job, Phase
from jobs.services import people, recording, slurm_door, submissions, tickets
from quotas import services as quotas
from slurm.contract import Gateway, JobRecord, Refused, SlurmError, Submission, Unreachable

log = structlog.get_logger(__name__)
BATCH = 32
AT_ONCE = 4  # kept-alive connections towards slurmrestd
BUDGET = 30.0  # seconds in which a batch may begin submissions; see following.ABANDONED_AFTER


@dataclasses.dataclass(slots=True)
class Attempt:
    """One hand-over under way in this process."""

    handover: Handover
    asked: Submission | None = None
    who: people.Identity | None = None
    record: JobRecord | None = None
    slurm_job_id: int | None = None
    error: Exception | None = None
    differs: tuple[str, ...] = ()
    released: bool = False


def hand_over() -> int:
    """Hand over all that waits; returns how many were taken."""
    taken = 0
    while batch := claim():
        taken += len(batch)
        began = time.monotonic()
        attempts = [Attempt(row) for row in batch]
        _identify(attempts)
        _each(attempts, lambda one: _submit(slurm_door.gateway(), one, began + BUDGET))
        record_accepted(attempts)
        _each([one for one in attempts if _is_good(one)], lambda one: _release(slurm_door.gateway(), one))
        record_released(attempts)
    return taken


@transaction.atomic
def claim(limit: int = BATCH) -> list[Handover]:
    """Take up to `limit` requests no other worker has, and commit a secret token for each before anything is sent."""
    rows = list(
        Job.objects.filter(phase=Phase.REQUESTED, cancel_asked_at=None)
        .select_for_update(skip_locked=True, of=("self",))
        .select_related("project", "allocation", "owner")
        .order_by("pk")[:limit]
    )
    attempts = {row.pk: row.handovers.count() + 1 for row in rows}
    Job.objects.filter(pk__in=attempts).update(phase=Phase.HANDING)
    return Handover.objects.bulk_create(
        [Handover(job=row, cluster_id=row.cluster_id, attempt=attempts[row.pk]) for row in rows]
    )


def _identify(attempts: Iterable[Attempt]) -> None:
    """Check each person once a batch: directory, system, membership."""
    known: dict[tuple[int, int], people.Identity | Exception] = {}
    for one in attempts:
        job = one.handover.job
        key = (job.owner_id or 0, job.project_id)
        if key not in known:
            known[key] = _identity(job)
        found = known[key]
        if isinstance(found, Exception):
            one.error = found
        else:
            one.who, one.asked = found, submissions.submission_of(job, one.handover, found)


def _identity(job: Job) -> people.Identity | Exception:
    if job.owner is None:
        return people.MayNot("nobody")
    try:
        return people.identity(job.owner, job.project, Permission.JOB_SUBMIT)
    except (people.MayNot, DirectoryDown) as error:
        return error


def _each(attempts: list[Attempt], act: Callable[[Attempt], None]) -> None:
    """Slurm calls only: no thread here touches the database."""
    ready = [one for one in attempts if one.error is None]
    if ready:
        with ThreadPoolExecutor(min(AT_ONCE, len(ready))) as pool:
            list(pool.map(act, ready))


def _submit(gateway: Gateway, one: Attempt, until: float) -> None:
    if time.monotonic() > until or one.asked is None or one.who is None:
        one.error = Unreachable("the batch ran out of time before this one was sent")
        return
    try:
        one.slurm_job_id = gateway.submit(one.asked, as_user=one.who.login)
        one.record = gateway.job(one.slurm_job_id, as_user=one.who.login)
    except SlurmError as error:
        one.error = error
        return
    if one.record is not None:
        one.differs = tuple(submissions.differences(one.asked, one.record, one.who.uid))


def _is_good(one: Attempt) -> bool:
    return one.error is None and one.record is not None and not one.differs


def _release(gateway: Gateway, one: Attempt) -> None:
    try:
        gateway.release(one.record.job_id, as_user=one.who.login)  # type: ignore[union-attr]
        one.released = True
    except SlurmError as error:
        log.warning("not released yet", handover=str(one.handover.pk), error=str(error))


@transaction.atomic
def record_accepted(attempts: Iterable[Attempt]) -> None:
    """Write down how each attempt ended; only an attempt that is still ours to settle counts."""
    for one in attempts:
        handover = Handover.objects.select_for_update(of=("self",)).get(pk=one.handover.pk)
        if handover.outcome != HandoverOutcome.TRYING:
            continue  # the follower took it for abandoned; what is in Slurm under its token stays held
        handover.job = one.handover.job
        settle(one, handover)
        one.handover = handover


def settle(one: Attempt, handover: Handover) -> None:
    """Write down how this attempt ended on its (locked) row."""
    match one.error:
        case None if one.record is None:
            unknown(handover, "accepted, but Slurm does not show it")
        case None if one.differs:
            _differs(one, handover)
        case None:
            accept(handover, one.record, one.who)  # type: ignore[arg-type]
        case people.MayNot() | Refused():
            _refused(handover, one.error)
        case DirectoryDown() | Unreachable():
            _not_sent(handover, str(one.error))
        case _:
            unknown(handover, str(one.error))


def accept(handover: Handover, record: JobRecord, who: people.Identity) -> None:
    """The job is in Slurm, held, and what was asked for: from here on it is ours."""
    job = handover.job
    handover.outcome, handover.accepted_at = HandoverOutcome.ACCEPTED, timezone.now()
    recording.identify(handover, record)
    tickets.sign(handover, login=who.login)
    handover.save()
    recording.apply(job, record)
    job.phase, job.accepted_at, job.slurm_job_id = Phase.ACCEPTED, handover.accepted_at, record.job_id
    recording.save(job)
    trail.record(
        Action.JOB_ACCEPTED, about=job, project=job.project, ran_as=who.login, slurm_job_id=record.job_id, uid=who.uid,
        submit_time=record.submit_time, attempt=handover.attempt,
    )  # fmt: skip


@transaction.atomic
def record_released(attempts: Iterable[Attempt]) -> None:
    """Released jobs wait for the scheduler now; what could not be released is left to an intent."""
    for one in attempts:
        if not _is_good(one) or one.handover.outcome != HandoverOutcome.ACCEPTED:
            continue
        if one.released:
            mark_released(one.handover)
        else:
            intend(one.handover, IntentKind.RELEASE)


def mark_released(handover: Handover) -> None:
    """Slurm let it go: from now on it waits for the scheduler."""
    handover.released_at = timezone.now()
    handover.save(update_fields=["released_at"])
    recording.freed(handover.job)
    trail.record(Action.JOB_RELEASED, about=handover.job, project=handover.job.project, ran_as=handover.job.owner_login)


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
