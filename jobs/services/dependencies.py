"""The jobs a job waits for: whether the asker may name them, and what Slurm is told of them when it is handed over."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from uuid import UUID

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext as _

from access import gate
from access.permissions import Permission
from accounts.models import User
from jobs.models import Job, Phase
from jobs.options import Options
from jobs.specs import BadSpec
from jobs.states import State, from_slurm, is_over
from slurm.contract import Gateway, Submission

_KINDS = {"ok": "afterok", "any": "afterany", "notok": "afternotok"}
# a job whose dependency has no number in Slurm yet, but may get one
NOT_YET = RawSQL(
    "EXISTS (SELECT 1 FROM jsonb_array_elements(jobs_job.options -> 'after') AS one JOIN jobs_job AS other "
    "ON other.id = (one ->> 'job')::uuid WHERE other.phase IN ('requested', 'handing', 'confirming'))",
    (),
    output_field=BooleanField(),
)


class NeverMet(Exception):
    """A job it waits for has ended in a way that rules it out; says which."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wait:
    """One dependency: on this number in Slurm, where it has one; `over`: our rows know its end already."""

    kind: str
    job: str
    state: str
    number: str  # "12", or "12_4" of a single task
    over: bool


def check(options: Options, *, by: User) -> None:
    """Raises BadSpec: a job the asker may not see is answered as one that is not there."""
    wanted = {UUID(one.job) for one in options.after}
    if not wanted:
        return
    seen = gate.allowing(Job.objects.filter(pk__in=wanted), by, Permission.JOB_VIEW)
    missing = wanted - set(seen.values_list("pk", flat=True))
    if missing:
        said = _("There is no job %(ids)s.")
        raise BadSpec({"after": [said % {"ids": ", ".join(sorted(map(str, missing)))}]})


def of(jobs: Iterable[Job]) -> dict[UUID, list[Wait]]:
    """What each of these jobs waits for, as our rows have it; those that wait for nothing are left out."""
    wanted = {job.pk: job.asked.after for job in jobs if "after" in job.options}
    ids = {one.job for after in wanted.values() for one in after}
    rows = Job.objects.filter(pk__in=ids).prefetch_related("handovers").defer("script", "environment")
    known = {str(row.pk): row for row in rows} if ids else {}
    return {pk: [_wait(one.kind, known[one.job]) for one in after] for pk, after in wanted.items()}


def _wait(kind: str, job: Job) -> Wait:
    tasks = [row.array_task for row in job.handovers.all() if row.slurm_job_id == job.slurm_job_id]
    task = f"_{tasks[-1]}" if tasks and tasks[-1] is not None else ""
    over = job.phase in (Phase.ENDED, Phase.REFUSED, Phase.CANCELLED, Phase.LOST) or job.slurm_job_id is None
    return Wait(kind, str(job.pk), job.state, f"{job.slurm_job_id}{task}", over)


def still_open(gateway: Gateway, waits: Iterable[Wait]) -> frozenset[str]:
    """What Slurm is to wait for: without what has ended as it should have. Raises NeverMet, and what the gateway does.

    Slurm forgets a job minutes after its end, and takes a dependency on one it does not know as never met.
    """
    found = frozenset[str]()
    for one in waits:
        state = one.state if one.over else _ended(gateway, one)
        if state == "":
            found |= named([one])
        elif not _is_met(one.kind, state):
            raise NeverMet(_SAID[one.kind].format(job=one.job, state=state))
    return found


_SAID = {
    "ok": "It waits for job {job} to succeed, which has ended: {state}.",
    "notok": "It waits for job {job} to fail, which has ended: {state}.",
}


def _is_met(kind: str, state: str) -> bool:
    return kind == "any" or (kind == "ok") == (state == State.COMPLETED)


def named(waits: Iterable[Wait]) -> frozenset[str]:
    """All of them that have a number, as Slurm names them."""
    return frozenset(f"{_KINDS[one.kind]}:{one.number}" for one in waits if one.number[0].isdigit())


def _ended(gateway: Gateway, one: Wait) -> str:
    """Slurm's word on how it ended, a moment ago; "" where it goes on, or is part of an array."""
    record = gateway.job(int(one.number.partition("_")[0]))
    if record is None or not is_over(record.states) or record.array_task is not None:
        return ""
    return from_slurm(record.states)


def met_meanwhile(gateway: Gateway, asked: Submission, shown: frozenset[str]) -> bool:
    """Whether what the record does not show any more has ended since: then it waits for all that is left."""
    gone = asked.dependencies - shown
    records = (gateway.job(int(one.partition(":")[2].partition("_")[0])) for one in gone)
    return shown <= asked.dependencies and all(record is None or is_over(record.states) for record in records)
