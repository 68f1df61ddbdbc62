"""Hand what was asked for over to Slurm: claim, submit held, read back and compare, record, release.

Any failure between sending and recording is "unknown", never "failed"; the follower settles it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from access.compiled import Fixed, insert_all, update_all
from access.permissions import Permission
from accounts.lookup import DirectoryDown
from cluster import slurm_door
from jobs.models import Handover, HandoverOutcome, IntentKind, Job, Phase
from jobs.models.handover import new_token
from jobs.services import dependencies, outcomes, people, recording, submissions
from quotas.services import applying as quotas
from slurm.contract import Gateway, SlurmError, Unreachable

log = structlog.get_logger(__name__)
BATCH = 32
GATHER = 0.1  # seconds; where jobs come faster than a small batch takes, the next is made a larger one
AT_ONCE = 4  # kept-alive connections towards slurmrestd
FRESH = 5.0  # seconds for which a batch that went well says that Slurm answers
BUDGET = 30.0  # seconds in which a batch may begin submissions; see following.ABANDONED_AFTER

_good = {"until": 0.0}


def _asked_for(known: bool) -> QuerySet[Job]:
    """What waits to be handed over; `known`: without the jobs of projects that Slurm has not heard of and refuses."""
    rows = Job.objects.filter(~dependencies.NOT_YET, phase=Phase.REQUESTED, cancel_asked_at=None)
    return rows.exclude(project__in=quotas.never_applied()) if known else rows


def _next(known: bool) -> QuerySet[Job]:
    rows = _asked_for(known).select_for_update(skip_locked=True, of=("self",))
    return rows.select_related("project", "allocation", "owner", "cluster").order_by("pk")[:BATCH]


def _first(known: bool) -> QuerySet[Job]:
    return _asked_for(known).only("pk")[:1]


_LATE = Fixed(
    lambda: _asked_for(False).filter(project__in=quotas.pending().order_by()).only("project_id")
    .order_by("project_id").distinct("project_id")
)  # fmt: skip
_WAITING = {known: Fixed(partial(_first, known)) for known in (True, False)}
_NEXT = {known: Fixed(partial(_next, known)) for known in (True, False)}


def _ready(rows: dict[bool, Fixed[Job]]) -> list[Job]:
    """Where the portal keeps Slurm's accounting, it knows what Slurm has not heard of yet."""
    return rows[settings.RECONCILE != "observe"].all()


def hand_over() -> int:
    """Hand over all that waits; returns how many were taken."""
    taken, gateway, attempts = 0, slurm_door.gateway(), list[outcomes.Attempt]()
    late = {row.project_id for row in _LATE.all()}
    if late:
        quotas.apply_for(late)
    while _ready(_WAITING) and _answers(gateway):
        if 0 < len(attempts) < BATCH // 2:
            time.sleep(GATHER)
        attempts = [outcomes.Attempt(row) for row in claim()]
        taken += len(attempts)
        _one_batch(gateway, attempts)
        if not attempts or any(isinstance(one.error, DirectoryDown | Unreachable) for one in attempts):
            break
    return taken


def _answers(gateway: Gateway) -> bool:
    """With Slurm away nothing is taken, so that nothing has to be put back. What it did just now is answer enough."""
    if time.monotonic() < _good["until"]:
        return True
    try:
        gateway.version()
    except SlurmError as error:
        log.warning("nothing handed over", why=str(error))
        return False
    return True


def _note_answers(attempts: list[outcomes.Attempt]) -> None:
    """One that failed, whyever, is reason to ask before the next batch."""
    good = bool(attempts) and all(one.released for one in attempts)
    _good["until"] = time.monotonic() + FRESH if good else 0.0


def _one_batch(gateway: Gateway, attempts: list[outcomes.Attempt]) -> None:
    until = time.monotonic() + BUDGET
    _identify(attempts)
    _each(attempts, lambda one: _submit(gateway, one, until))
    record_accepted(attempts)
    _each([one for one in attempts if _is_good(one)], lambda one: _release(gateway, one))
    record_released(attempts)
    _note_answers(attempts)


@transaction.atomic
def claim() -> list[Handover]:
    """Take up to BATCH requests no other worker has, and commit a secret token for each before anything is sent."""
    rows = _ready(_NEXT)
    if not rows:
        return []
    Job.objects.filter(pk__in=[row.pk for row in rows]).update(phase=Phase.HANDING)
    for row in rows:
        row.phase = Phase.HANDING
    last = {row.job_id: row for row in Handover.objects.filter(job__in=rows).order_by("attempt")}
    unsent, new = list[Handover](), list[Handover]()
    for job in rows:
        earlier = last.get(job.pk)
        if earlier is not None and earlier.outcome == HandoverOutcome.NOT_SENT:
            unsent.append(_again(earlier, job))
        else:
            new.append(Handover(job=job, cluster_id=job.cluster_id, attempt=earlier.attempt + 1 if earlier else 1))
    update_all(unsent, ["token", "outcome", "began_at", "error"])
    insert_all(new)
    return [*unsent, *new]


def _again(row: Handover, job: Job) -> Handover:
    """An attempt that was never sent is tried again on its own row, under a new token (not saved)."""
    row.job = job
    row.token, row.outcome, row.began_at, row.error = new_token(), HandoverOutcome.TRYING, timezone.now(), ""
    return row


def _identify(attempts: Iterable[outcomes.Attempt]) -> None:
    """Check each person once a batch: directory, system, membership."""
    known: dict[tuple[int, int], people.Identity | Exception] = {}
    waits = dependencies.of(one.handover.job for one in attempts)
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
            one.waits = waits.get(job.pk, [])


def _identity(job: Job) -> people.Identity | Exception:
    if job.owner is None:
        return people.MayNot("nobody")
    try:
        return people.identity(job.owner, job.project, Permission.JOB_SUBMIT)
    except (people.MayNot, DirectoryDown) as error:
        return error


def _each(attempts: list[outcomes.Attempt], act: Callable[[outcomes.Attempt], None]) -> None:
    """Slurm calls only: no thread here touches the database."""
    ready = [one for one in attempts if one.error is None]
    if ready:
        with ThreadPoolExecutor(min(AT_ONCE, len(ready))) as pool:
            list(pool.map(act, ready))


def _submit(gateway: Gateway, one: outcomes.Attempt, until: float) -> None:
    if time.monotonic() > until or one.asked is None or one.who is None:
        one.error = Unreachable("the batch ran out of time before this one was sent")
        return
    try:
        if one.waits:
            one.asked = dataclasses.replace(one.asked, dependencies=dependencies.still_open(gateway, one.waits))
        one.slurm_job_id = gateway.submit(one.asked, as_user=one.who.login)
        one.record = gateway.job(one.slurm_job_id, as_user=one.who.login)
        if one.record is not None:
            one.differs = submissions.compared(gateway, one.asked, one.record, one.who.uid)
    except (SlurmError, dependencies.NeverMet) as error:
        one.error = error


def _is_good(one: outcomes.Attempt) -> bool:
    return one.error is None and one.record is not None and not one.differs


def _release(gateway: Gateway, one: outcomes.Attempt) -> None:
    try:
        gateway.release(one.record.job_id, as_user=one.who.login)  # type: ignore[union-attr]
        one.released = True
    except SlurmError as error:
        log.warning("not released yet", handover=str(one.handover.pk), error=str(error))


@transaction.atomic
def record_accepted(attempts: Iterable[outcomes.Attempt]) -> None:
    """Write down how each attempt ended; only an attempt that is still ours to settle counts."""
    mine = {one.handover.pk: one for one in attempts}
    rows = Handover.objects.select_for_update(of=("self",)).filter(pk__in=mine, outcome=HandoverOutcome.TRYING)
    good = []
    for handover in rows.order_by("pk"):
        one = mine[handover.pk]
        handover.job, one.handover = one.handover.job, handover
        if _is_good(one):
            good.append((handover, one.record, one.who))
        else:
            outcomes.settle(one, handover)
    # what is missing here the follower took for abandoned: in Slurm it stays held under its token
    outcomes.accept(good)  # type: ignore[arg-type]


@transaction.atomic
def record_released(attempts: Iterable[outcomes.Attempt]) -> None:
    """Released jobs wait for the scheduler now; what could not be released is left to an intent."""
    ours = [one for one in attempts if _is_good(one) and one.handover.outcome == HandoverOutcome.ACCEPTED]
    outcomes.mark_released([one.handover for one in ours if one.released])
    left = [one for one in ours if not one.released]
    for one in left:
        one.handover.job.reason = one.record.reason  # type: ignore[union-attr]
    recording.save_all([one.handover.job for one in left])
    for one in left:
        outcomes.intend(one.handover, IntentKind.RELEASE)
