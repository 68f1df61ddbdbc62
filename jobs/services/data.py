"""The datasets of a job: their use follows the job, and its output is read only by who may use them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.utils.translation import gettext as _

from access.errors import Refused
from access.permissions import Permission
from accounts.models import User
from datasets import services as datasets
from datasets.services.reading import Standing, standings
from jobs.models import Job, Phase
from jobs.specs import JobSpec
from projects.models import Project

OVER = (Phase.ENDED, Phase.REFUSED, Phase.CANCELLED, Phase.LOST)


def permitted(spec: JobSpec, *, project: Project, by: User) -> list[datasets.Permitted]:
    """What the job may use of what it declares; locked until its row is written. Raises datasets.NotPermitted."""
    return datasets.permitted(wanted=spec.datasets, project=project, user=by) if spec.datasets else []


def declare(job: Job, used: Sequence[datasets.Permitted], *, by: User) -> None:
    """With the row of the job, in its transaction."""
    if used:
        datasets.declare(job=job.pk, name=job.name, datasets=used, project=job.project, by=by)


def follow(job: Job) -> None:
    """Slurm said something new of the job: the use of its datasets starts and ends with it."""
    if not job.datasets:
        return
    if job.started_at is not None:
        datasets.started(job=job.pk, at=job.started_at)
    if job.phase in OVER:
        datasets.ended(job=job.pk, started_at=job.started_at, at=job.ended_at, state=job.state)


def read_by(job: Job | None, reader: User) -> Sequence[Standing]:
    """Each dataset of the job as it stands for this reader; asked only where there are any."""
    return standings(job.pk, reader) if job is not None and job.datasets else ()


def may_read(job: Job, reader: User) -> None:
    """Personal data may stand in what a job prints: raises Refused, naming the dataset and whom to ask."""
    for one in read_by(job, reader):
        if not one.may_read:
            raise _refused(job.pk, one, why_shut(one))


def may_take(job: Job, reader: User) -> None:
    """The same, and that no dataset of the job keeps its outputs in the portal."""
    may_read(job, reader)
    for one in read_by(job, reader):
        if not one.may_download:
            said = _("Outputs of jobs on the dataset %(name)s can be read on the job's page and are not given out.")
            raise _refused(job.pk, one, said % {"name": one.use.dataset.name})


def why_shut(one: Standing) -> str:
    """What the reader lacks."""
    dataset = one.use.dataset
    return _(
        "The job used personal data of the dataset %(name)s. Its output is read by who has a permission to use it that "
        "holds today and has accepted its terms of use. Ask its data steward, %(steward)s."
    ) % {"name": dataset.name, "steward": dataset.steward.name}


def _refused(job: UUID, one: Standing, why: str) -> Refused:
    return Refused(Permission.LOG_READ, Job._meta.label_lower, {"pk": job, "dataset": one.use.dataset.code}, why)
