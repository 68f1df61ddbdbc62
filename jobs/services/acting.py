"""Carry out in Slurm what people asked for beside the end: hold, release, requeue, another limit, parts of arrays."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from access import gate
from access.permissions import Permission
from audit import trail
from audit.actions import Action
from audit.actions import Outcome as How
from cluster import slurm_door
from jobs.models import Handover, HandoverOutcome, Intent, IntentKind, Job
from jobs.services.present import NotYet, lock_free, observe, same_job, still_acts
from slurm.contract import JobRecord, Refused
from slurm.orders import Order, Verb

KINDS = (IntentKind.HOLD_ASKED, IntentKind.LET_GO, IntentKind.REQUEUE, IntentKind.EXTEND, IntentKind.AT_ONCE,
         IntentKind.END_TASKS)  # fmt: skip
VERBS = {IntentKind.LET_GO: Verb.RELEASE, IntentKind.REQUEUE: Verb.REQUEUE, IntentKind.EXTEND: Verb.LIMIT,
         IntentKind.AT_ONCE: Verb.AT_ONCE, IntentKind.END_TASKS: Verb.END_TASKS}  # fmt: skip


def act(intent: Intent) -> str:
    """As the owner where the owner asked and still may act, else as the portal's administrator; what came of it."""
    job = lock_free(intent.job_id)
    handover = job.handovers.filter(outcome=HandoverOutcome.ACCEPTED).order_by("-attempt").first()
    if handover is None:
        if job.is_open:
            raise NotYet("being handed over")
        return "already over"
    record = _present(handover)
    if record is None:
        return "not in Slurm any more"
    kind = IntentKind(intent.kind)
    try:
        _do(kind, intent, job, record)
    except Refused as refusal:
        _told(intent, job, record, How.REFUSED, why=str(refusal))
        return f"Slurm refused: {refusal}"
    _after(intent, job, handover, record)
    return "done"


def _present(handover: Handover) -> JobRecord | None:
    """Of an array any of its tasks stands for it: they share number and uid."""
    if handover.job.is_array:
        record = slurm_door.gateway().job(handover.slurm_job_id or 0, as_user=None)
        return record if record is not None and record.uid == handover.uid else None
    return same_job(handover)


def _do(kind: IntentKind, intent: Intent, job: Job, record: JobRecord) -> None:
    """Raises Refused where Slurm, or a rule of ours, says no."""
    as_owner = intent.asked_by_id == job.owner_id and kind != IntentKind.EXTEND and still_acts(job)
    if kind == IntentKind.EXTEND and not gate.site_can(intent.asked_by, Permission.CLUSTER_OPERATE):
        raise Refused("only a cluster administrator changes a time limit")
    if kind == IntentKind.HOLD_ASKED:
        if as_owner:
            slurm_door.gateway().hold(record.job_id, as_user=job.owner_login)
        else:
            slurm_door.accounts().hold_any(record.job_id)
        return
    order = Order(VERBS[kind], record.job_id, **_values(intent))
    if as_owner:
        slurm_door.gateway().order(order, as_user=job.owner_login)
    else:
        slurm_door.accounts().order_any(order)


def _values(intent: Intent) -> dict[str, Any]:
    detail = intent.detail
    if intent.kind == IntentKind.EXTEND:
        return {"number": int(detail.get("minutes", 0))}
    if intent.kind == IntentKind.AT_ONCE:
        return {"number": int(detail.get("number", 0))}
    return {"tasks": str(detail.get("tasks", ""))} if intent.kind == IntentKind.END_TASKS else {}


def _after(intent: Intent, job: Job, handover: Handover, before: JobRecord) -> None:
    """Our own act shows at once."""
    after = _run_anew(handover) if intent.kind == IntentKind.REQUEUE else _present(handover)
    if after is not None and not job.is_array:
        observe(handover, after)
    facts = {"before": before.reason or _states(before), "after": _states(after) if after else ""}
    if intent.kind == IntentKind.EXTEND:
        facts = {"before": str(job.time_limit_minutes), "after": str(intent.detail["minutes"])}
    with transaction.atomic():  # what our row says, and what the trail says of it
        if intent.kind == IntentKind.EXTEND:
            Job.objects.filter(pk=job.pk).update(time_limit_minutes=int(intent.detail["minutes"]))
        _told(intent, job, before, How.DONE, **facts)


def _run_anew(handover: Handover) -> JobRecord | None:
    """Slurm gives a requeued job another submit time: we ordered it, so what is there now is this job."""
    record = slurm_door.gateway().job(handover.slurm_job_id or 0, as_user=None)
    if record is None or record.uid != handover.uid or handover.job.is_array:
        return None
    handover.run_submit_time = record.submit_time
    handover.save(update_fields=["run_submit_time"])
    return record


def _states(record: JobRecord) -> str:
    return record.reason or " ".join(sorted(record.states))


def _told(intent: Intent, job: Job, record: JobRecord, outcome: How, **facts: str) -> None:
    trail.record(
        Action.JOB_CHANGED, by=intent.asked_by, about=job, project=job.project, outcome=outcome, act=intent.kind,
        slurm_job_id=record.job_id, **facts,
    )  # fmt: skip
