"""Environments of a project: a job of the person's, asked for as any other, builds one; its end settles it."""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from access import gate
from access.errors import Refused as NotTheirs
from access.permissions import Permission
from accounts.models import User
from files.answers import Refused
from jobs.models import Job
from jobs.services import asking, reading
from jobs.specs import BadSpec
from jobs.states import State
from logs.client import BadTicket, ReaderDown
from presets import building
from presets.models import Environment, EnvironmentState
from presets.services import environments
from projects.models import Project
from storage.services import changing

log = structlog.get_logger(__name__)
MINUTES = 120  # or what the partition allows
MEMORY_GB = 2
TAIL = 1024 * 1024  # bytes of the output: more than the longest lock
PATIENCE = timedelta(days=1)  # for an output that cannot be read
AT_ONCE = 50


def build(*, project: Project, name: str, kind: str, text: str, python: str = "", by: User) -> Environment:
    """Ask for the job, in one transaction with the row of what it builds.

    Raises BadSpec (a field message each) and what `asking.submit` raises.
    """
    try:
        row = environments.draft(project=project, name=name, kind=kind, text=text, python=python, by=by)
        spec, allocation = _request(row)
        with transaction.atomic():
            job = asking.submit(project=project, spec=spec, allocation=allocation, by=by)
            return environments.asked(row=row, job=job.pk, by=by)
    except ValidationError as wrong:
        raise BadSpec(wrong.message_dict) from wrong
    except environments.WrongFile as wrong:
        raise BadSpec({"text": [str(wrong)]}) from wrong
    except environments.StillBuilding as waiting:
        raise asking.NotNow(str(waiting)) from waiting
    except IntegrityError as error:  # somebody asked for the same name a moment ago
        raise asking.NotNow(_("%(name)s is being built just now. Wait for it.") % {"name": name}) from error


def rebuild(*, environment: Environment, by: User) -> Environment:
    """The same file once more, under the next number: what was built stays as it is. Raises what `build` does."""
    return build(
        project=environment.project, name=environment.name, kind=environment.kind, text=environment.text,
        python=environment.python, by=by,
    )  # fmt: skip


def _request(row: Environment) -> tuple[asking.specs.JobSpec, asking.Allocation]:
    partitions = sorted(asking.partitions_of(row.project), key=lambda one: (bool(one.gpu_types), one.name))
    if not partitions:
        raise asking.NotNow(_("The project may use no partition of the cluster."))
    partition = partitions[0]
    raw = {
        "name": f"environment {row.name}-{row.number}", "partition": partition.name, "gpus": 0, "cpus": 1,
        "memory_gb": MEMORY_GB, "time_limit_minutes": min(MINUTES, partition.max_time_minutes or MINUTES),
        "script": building.script(
            title=row.title, name=row.name, number=row.number, kind=row.kind, text=row.text, python=row.python
        ),
    }  # fmt: skip
    try:
        return asking.prepare(raw, project=row.project)
    except BadSpec as bad:
        raise asking.NotNow(str(bad)) from bad


def settle() -> int:
    """What became of those being built, from their jobs and the end of what these printed; how many are settled."""
    rows = list(Environment.objects.building().select_related("project").order_by("asked_at")[:AT_ONCE])
    jobs = Job.objects.filter(pk__in=[row.job for row in rows]).only("pk", "state", "phase", "ended_at").in_bulk()
    return sum(_settled(row, jobs[row.job]) for row in rows if row.job in jobs and not jobs[row.job].is_open)


def _settled(row: Environment, job: Job) -> bool:
    """False where its output cannot be read at present."""
    if State(job.state) != State.COMPLETED:
        environments.failed(row=row, why=job.state)
        return True
    try:
        built = building.read(_printed(job))
    except ReaderDown as error:
        log.info("an environment is not settled yet", why=str(error))
        if timezone.now() - (job.ended_at or timezone.now()) < PATIENCE:
            return False
        built = None
    if built is None:
        environments.failed(row=row, why="unread")
    else:
        environments.ready(row=row, built=built)
    return True


def _printed(job: Job) -> str:
    """The end of its output; "" where there is none."""
    held, _state = reading.ticket(job)
    try:
        return reading.reader().tail(held, "stdout", TAIL).data.decode(errors="replace") if held else ""
    except BadTicket:
        return ""


def can_retire(environment: Environment, *, by: User) -> bool:
    """Who had it built, as long as they may submit, and those who answer for the project's presets."""
    takes = Permission.JOB_SUBMIT if environment.by_id == by.pk else Permission.PRESET_MANAGE
    return gate.can(environment.project, by, takes)


def may_retire(environment: Environment, *, by: User) -> None:
    """Raises access.errors.Refused where they may not."""
    if not can_retire(environment, by=by):
        raise NotTheirs(Permission.PRESET_MANAGE, Environment._meta.label_lower, {"pk": environment.pk})


def retire(*, environment: Environment, by: User) -> None:
    """It is no longer offered. Raises what `may_retire` does."""
    may_retire(environment, by=by)
    environments.retire(environment=environment, by=by)


def offer_again(*, environment: Environment, by: User) -> None:
    """It is offered again. Raises what `may_retire` does."""
    may_retire(environment, by=by)
    environments.offer_again(environment=environment, by=by)


def delete(*, environment: Environment, by: User) -> None:
    """Remove its files, as the person they belong to. Raises access.errors.Refused, NotNow, and what
    the files' door does."""
    if environment.by_id != by.pk:
        said = _("Its files belong to %(name)s, who alone can delete them.") % {"name": environment.by.name}
        raise NotTheirs(Permission.JOB_SUBMIT, Environment._meta.label_lower, {"pk": environment.pk}, said)
    if environment.state is EnvironmentState.BUILDING:
        raise asking.NotNow(_("It is being built: cancel its job first."))
    if Job.objects.open().filter(project=environment.project, options__software=environment.title).exists():
        raise asking.NotNow(_("Jobs that have not ended use it."))
    try:
        changing.delete(project=environment.project, by=by, path=environment.folder, whole=True)
    except Refused as refused:
        if refused.answer != "missing":
            raise
    environments.deleted(environment=environment, by=by)
