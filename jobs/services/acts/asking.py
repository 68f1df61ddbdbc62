"""Ask for an act on a job in Slurm: an intent that the worker carries out, and the trail's word of who wanted it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from access import gate
from access.permissions import Permission
from accounts.models import User
from audit import trail
from audit.actions import Action
from jobs import bells
from jobs.acts import Act, Rights, judge
from jobs.models import Intent, IntentKind, Job
from jobs.services import asking as submitting

KINDS = {
    Act.HOLD: IntentKind.HOLD_ASKED, Act.RELEASE: IntentKind.LET_GO, Act.REQUEUE: IntentKind.REQUEUE,
    Act.EXTEND: IntentKind.EXTEND,
}  # fmt: skip


class NotPossible(Exception):
    """The job does not stand so that this can be done, or not by this person; says why."""


def rights_of(job: Job, user: User, rights: Collection[str] | None = None) -> Rights:
    """What the person may do with it; `rights` as gate.rights_to gave them."""
    held = gate.rights_to(job, user) if rights is None else rights
    may = Permission.JOB_CANCEL in held
    return Rights(
        act=may,
        act_on_all=may and _on_all(job, user),
        submit=Permission.JOB_SUBMIT in held,
        operate=gate.site_can(user, Permission.CLUSTER_OPERATE),
    )


def _on_all(job: Job, user: User) -> bool:
    """Who may act on another's job may on everybody's; of one's own it is asked only where it makes a difference."""
    if job.owner_id != user.pk:
        return True
    return job.reason == "JobHeldAdmin" and Permission.JOB_CANCEL in gate.permissions_on(job.project, user)


def rights_of_all(jobs: Sequence[Job], user: User) -> dict[UUID, Rights]:
    """The same of many, in two statements."""
    rows = Job.objects.filter(pk__in=[job.pk for job in jobs])
    may, submit = (
        set(gate.allowing(rows, user, permission).values_list("pk", flat=True))
        for permission in (Permission.JOB_CANCEL, Permission.JOB_SUBMIT)
    )
    operate = gate.site_can(user, Permission.CLUSTER_OPERATE)
    return {
        job.pk: Rights(job.pk in may, job.pk in may and _on_all(job, user), job.pk in submit, operate) for job in jobs
    }


@transaction.atomic
def ask(*, job: Job, act: Act, by: User, **detail: Any) -> None:
    """Leave the intent and ring; asking again while it is open changes nothing. Raises NotPossible.

    `detail` is {"minutes"} for EXTEND. The end itself is `services.cancel`, which works before Slurm has the job too.
    """
    row = Job.objects.select_for_update(of=("self",)).select_related("project").defer("script").get(pk=job.pk)
    verdict = judge(row, act, rights_of(row, by))
    if not verdict.ok:
        raise NotPossible(str(verdict.words))
    if act is Act.CANCEL:
        submitting.cancel(job=row, by=by)
        return
    intend(row, KINDS[act], by=by, **detail)


def intend(job: Job, kind: IntentKind, *, by: User, **detail: Any) -> None:
    """In the transaction of whoever judged it."""
    if Intent.objects.filter(job=job, kind=kind, done_at=None).exists():
        return
    Intent.objects.create(job=job, kind=kind, asked_by=by, detail=detail)
    trail.record(
        Action.JOB_CHANGE_ASKED, by=by, about=job, project=job.project, act=kind.value, before=job.state, **detail
    )
    bells.ring(bells.CARRY_OUT)
