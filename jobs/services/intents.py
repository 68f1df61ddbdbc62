"""Carry out what doors and the follower intend: cancel, discard, adopt, resubmit, release. By the worker only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone

from accounts.lookup import DirectoryDown
from audit import trail
from audit.actions import Action, Outcome
from cluster import slurm_door
from jobs import bells
from jobs.models import Handover, HandoverOutcome, Intent, IntentKind, Job, Phase
from jobs.services import acting, data, dependencies, outcomes, people, recording, submissions
from jobs.services.present import NotYet, identity, lock_free, locked, observe, same_job, still_acts
from jobs.states import is_over
from quotas import services as quotas
from slurm.contract import JobRecord, Refused, SlurmError, Unreachable

log = structlog.get_logger(__name__)
PATIENCE = 20  # tries before an intent is left to an administrator
AWAY = timedelta(seconds=15)  # until the next try where Slurm or the directory is not there
SURE = 4  # looks after which a waiting job without a hold has been released, and is not just about to be held
RELEASED_BY_HAND = "It was released in Slurm by hand and goes on there as number {number}."
_UNSETTLED = (HandoverOutcome.UNKNOWN, HandoverOutcome.TRYING)


def carry_out(limit: int = 100) -> int:
    """Settle the intents whose time has come; returns how many were settled."""
    now = timezone.now()
    due = list(Intent.objects.filter(done_at=None, next_try_at__lte=now).order_by("asked_at")[:limit])
    return sum(_one(row.pk) for row in due)


def _one(pk: UUID) -> bool:
    """One intent, held by a row lock that another worker skips; the lock is the lease while Slurm is asked."""
    with transaction.atomic():
        rows = Intent.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=pk, done_at=None)
        intent = rows.select_related(
            "job__project", "job__owner", "job__allocation", "job__cluster", "handover"
        ).first()
        if intent is None:
            return False
        intent.tries += 1
        intent.next_try_at = timezone.now() + timedelta(seconds=min(300, 2**intent.tries))
        if intent.tries > PATIENCE:
            return _give_up(intent)
        intent.save(update_fields=["tries", "next_try_at"])
    try:
        result = _ACTS[IntentKind(intent.kind)](intent)
    except (Unreachable, DirectoryDown) as error:  # nobody was asked: that is no try
        Intent.objects.filter(pk=intent.pk).update(tries=intent.tries - 1, next_try_at=timezone.now() + AWAY)
        log.info("intent not tried", intent=str(intent.pk), kind=intent.kind, why=str(error))
        return False
    except (NotYet, SlurmError) as error:
        log.info("intent not settled", intent=str(intent.pk), kind=intent.kind, why=str(error))
        return False
    with transaction.atomic():
        Intent.objects.filter(pk=intent.pk).update(done_at=timezone.now(), result=result[:300])
    return True


def _give_up(intent: Intent) -> bool:
    """After an hour and more of tries: a cancellation may be asked for again, the rest is an administrator's."""
    intent.done_at, intent.result = timezone.now(), "given up"
    intent.save(update_fields=["done_at", "result"])
    if intent.kind == IntentKind.CANCEL:
        Job.objects.filter(pk=intent.job_id).update(cancel_asked_at=None, cancel_asked_by=None)
    log.error("intent given up", intent=str(intent.pk), kind=intent.kind, job=str(intent.job_id))
    return True


def _cancel(intent: Intent) -> str:
    """Wherever the job is on its way, it ends: before Slurm by us, in Slurm by Slurm."""
    job = lock_free(intent.job_id)
    if not job.is_open:
        return "already over"
    if job.phase == Phase.REQUESTED:
        return _cancel_before(job, intent)
    if job.phase in (Phase.HANDING, Phase.CONFIRMING):
        raise NotYet("being handed over")
    handover = job.handovers.filter(outcome=HandoverOutcome.ACCEPTED).order_by("-attempt").first()
    if handover is None:
        raise NotYet("no accepted hand-over")
    if handover.array_task is not None:
        return _end_array(handover)
    return _end_in_slurm(job, handover, intent)


@transaction.atomic
def _cancel_before(job: Job, intent: Intent) -> str:
    moved = Job.objects.filter(pk=job.pk, phase=Phase.REQUESTED).update(phase=Phase.CANCELLED)
    if not moved:
        raise NotYet("taken by a worker meanwhile")
    job.phase, job.ended_at = Phase.CANCELLED, timezone.now()
    recording.save(job)
    quotas.release(reference=str(job.pk))
    data.follow(job)
    trail.record(Action.JOB_CANCELLED, by=intent.asked_by, about=job, project=job.project, before="handing")
    return "cancelled before Slurm had it"


def _end_array(handover: Handover) -> str:
    """Slurm ends a whole array under its number: only where the end of each of its tasks was asked for."""
    tasks = Handover.objects.filter(
        cluster=handover.cluster_id, slurm_job_id=handover.slurm_job_id, uid=handover.uid, job__phase=Phase.ACCEPTED
    )
    if tasks.filter(job__cancel_asked_at=None).exists():
        return "one task of an array is not ended from here"
    try:
        slurm_door.accounts().cancel_any(handover.slurm_job_id or 0)
    except Refused:
        return "already over in Slurm"
    return "asked Slurm to end the array"


def _end_in_slurm(job: Job, handover: Handover, intent: Intent) -> str:
    """As its owner where the owner asked and still may act there, else as the portal's administrator."""
    record = same_job(handover)
    if record is None:
        raise NotYet("not shown by slurmctld; the follower looks in the accounting")
    if is_over(record.states) and not job.is_array:
        observe(handover, record)
        return "already over in Slurm"
    try:
        if intent.asked_by_id == job.owner_id and still_acts(job):
            slurm_door.gateway().cancel(record.job_id, as_user=job.owner_login)
        else:
            slurm_door.accounts().cancel_any(record.job_id)
    except Refused as refusal:
        log.info("cancel refused", job=str(job.pk), words=str(refusal))
        record = None
    after = same_job(handover)
    if after is not None:
        observe(handover, after)
    if record is None and after is not None and not is_over(after.states):
        raise NotYet("Slurm refused to end it")
    return "asked Slurm to end it"


def _discard(intent: Intent) -> str:
    """Throw away what is still held in Slurm and nobody's: never anything that was released."""
    record = slurm_door.gateway().job(intent.slurm_job_id or 0, as_user=None)
    if record is None or (record.submit_time, record.uid) != (intent.submit_time, intent.uid):
        return "gone already"
    if is_over(record.states):
        return "over already"
    if _accepted(record):
        return "it is ours"
    if not record.reason.startswith("JobHeld"):
        return _let_go(intent, record)
    slurm_door.accounts().cancel_any(record.job_id)
    return "discarded"


def _let_go(intent: Intent, record: JobRecord) -> str:
    """Somebody released it by hand: it is their work now and no refused request of ours. No hand-over names it, so the
    follower takes it in as a job from outside the portal."""
    if "PENDING" in record.states and intent.tries < SURE:
        raise NotYet("it is not held")  # Slurm says so only after its scheduler has looked at it
    with transaction.atomic():
        job = locked(intent.job_id)
        job.refusal = f"{job.refusal} {RELEASED_BY_HAND.format(number=record.job_id)}".strip()
        recording.save(job)
        why = {"outcome": Outcome.FAILED, "slurm_job_id": record.job_id, "by_hand": True}
        trail.record(Action.JOB_RELEASED, about=job, project=job.project, **why)
    return "released by hand: left alone"


def _accepted(record: JobRecord) -> bool:
    """Whether this very job of Slurm is one we took as ours."""
    return Handover.objects.filter(
        slurm_job_id=record.job_id, submit_time=record.submit_time, uid=record.uid, outcome=HandoverOutcome.ACCEPTED
    ).exists()


def _adopt(intent: Intent) -> str:
    """A submission whose answer was lost is in Slurm: take it as ours, if it is what was asked for."""
    handover = intent.handover
    if handover is None or handover.outcome not in _UNSETTLED:
        return "settled otherwise"
    record = slurm_door.gateway().job(intent.slurm_job_id or 0, as_user=None)
    if record is None or (record.submit_time, record.uid) != (intent.submit_time, intent.uid):
        raise NotYet("not shown by slurmctld")
    attempt = _attempt(intent.job, handover, record)
    with transaction.atomic():
        row = Handover.objects.select_for_update(of=("self",)).get(pk=handover.pk)
        if row.outcome not in _UNSETTLED:
            return "settled otherwise"
        row.job = locked(intent.job_id)
        return _take_or_refuse(attempt, row, record)


def _attempt(job: Job, handover: Handover, record: JobRecord) -> outcomes.Attempt:
    """The attempt as it stands: what Slurm has beside what was asked for, by whoever may still ask for it."""
    attempt = outcomes.Attempt(handover, record=record)
    try:
        attempt.who = identity(job)
    except people.MayNot as refusal:
        attempt.error = refusal
        return attempt
    attempt.slurm_job_id = record.job_id
    waits_for = dependencies.named(dependencies.of([job]).get(job.pk, []))
    asked = submissions.submission_of(job, handover, attempt.who, waits_for)
    attempt.differs = submissions.compared(slurm_door.gateway(), asked, record, attempt.who.uid)
    return attempt


def _take_or_refuse(attempt: outcomes.Attempt, row: Handover, record: JobRecord) -> str:
    outcomes.settle(attempt, row)
    if attempt.error is not None:  # left meanwhile: what Slurm holds for them is thrown away
        recording.identify(row, record)
        outcomes.intend(row, IntentKind.DISCARD)
        return f"refused: {attempt.error}"
    trail.record(Action.JOB_ADOPTED, about=row.job, project=row.job.project, slurm_job_id=record.job_id)
    if not attempt.differs and row.job.cancel_asked_at is None:
        outcomes.intend(row, IntentKind.RELEASE)
    return "adopted" if not attempt.differs else "differs from the request"


@transaction.atomic
def _resubmit(intent: Intent) -> str:
    """Neither daemon has it: the request waits again, under a new token."""
    job = locked(intent.job_id)
    handover = intent.handover
    if job.phase != Phase.CONFIRMING or handover is None or handover.outcome != HandoverOutcome.UNKNOWN:
        return "settled otherwise"
    handover.outcome = HandoverOutcome.ABSENT
    handover.save(update_fields=["outcome"])
    recording.move(job, Phase.REQUESTED)
    trail.record(Action.JOB_LOST, about=job, project=job.project, outcome=Outcome.FAILED, attempt=handover.attempt)
    bells.ring(bells.HAND_OVER)
    return "handed over again"


def _release(intent: Intent) -> str:
    handover = intent.handover
    if handover is None or handover.released_at is not None:
        return "released already"
    job = lock_free(intent.job_id)
    if job.cancel_asked_at is not None:
        return "to be cancelled instead"
    record = same_job(handover)
    if record is None or not record.reason.startswith("JobHeld"):
        return "not held any more"
    try:
        identity(job)
    except people.MayNot as refusal:
        return _end_for_them(job, handover, str(refusal))
    slurm_door.gateway().release(record.job_id, as_user=job.owner_login)
    with transaction.atomic():
        handover.job = locked(job.pk)
        outcomes.mark_released([handover])
    return "released"


def _end_for_them(job: Job, handover: Handover, why: str) -> str:
    """Its owner may not act any more: what is still held does not start. By the portal's administrator."""
    slurm_door.accounts().cancel_any(handover.slurm_job_id or 0)
    Job.objects.filter(pk=job.pk).update(refusal=why)
    after = same_job(handover)
    if after is not None:
        observe(handover, after)
    return f"ended: {why}"


def _hold(intent: Intent) -> str:
    """A waiting job stays in the queue and does not start, until an administrator says so."""
    job = lock_free(intent.job_id)
    handover = job.handovers.filter(outcome=HandoverOutcome.ACCEPTED).order_by("-attempt").first()
    if handover is None:
        return "not in Slurm"
    record = same_job(handover)
    if record is None or "PENDING" not in record.states:
        return _not_held(intent, job)
    _tell_of_holding(intent, job, record.job_id)
    slurm_door.accounts().hold_any(record.job_id)
    after = same_job(handover)
    if after is not None:
        observe(handover, after)
    return "held"


@transaction.atomic
def _not_held(intent: Intent, job: Job) -> str:
    """It began, or ended, in between."""
    if intent.detail.get("told"):
        trail.record(Action.JOB_HELD, about=job, project=job.project, outcome=Outcome.FAILED, why="does not wait")
    return "does not wait"


@transaction.atomic
def _tell_of_holding(intent: Intent, job: Job, number: int) -> None:
    """Before it is done, for Slurm shares no transaction: whoever dies in between has told, and the intent goes on."""
    if not intent.detail.get("told"):
        trail.record(Action.JOB_HELD, about=job, project=job.project, slurm_job_id=number)
        Intent.objects.filter(pk=intent.pk).update(detail=intent.detail | {"told": True})


_ACTS: dict[IntentKind, Callable[[Intent], str]] = {
    IntentKind.CANCEL: _cancel,
    IntentKind.DISCARD: _discard,
    IntentKind.ADOPT: _adopt,
    IntentKind.RESUBMIT: _resubmit,
    IntentKind.RELEASE: _release,
    IntentKind.HOLD: _hold,
    **dict.fromkeys(acting.KINDS, acting.act),
}
