"""Manifests of datasets: a job of the steward's, asked for through the portal's own door, measures a version."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from datasets.models import DatasetVersion
from datasets.services import versions
from jobs.models import Job
from jobs.services import asking, reading
from jobs.specs import BadSpec
from jobs.states import State
from projects.models import Project

PIECE = 1024 * 1024  # bytes read at a time
MINUTES = 240  # or what the partition allows


class NoRoom(Exception):
    """The project has no partition, or no allocation, that could run the job; says what."""


def measure(*, version: DatasetVersion, project: Project, by: User) -> Job:
    """Ask for the job, in one transaction with the note of it. Raises NoRoom, versions.HasManifest and what `submit`
    raises."""
    partitions = sorted(asking.partitions_of(project), key=lambda row: (bool(row.gpu_types), row.name))
    if not partitions:
        raise NoRoom(_("The project may use no partition of the cluster."))
    partition = partitions[0]
    raw = {
        "name": f"manifest {version.dataset.code} {version.label}"[:64], "partition": partition.name, "gpus": 0,
        "cpus": 1, "memory_gb": 1, "time_limit_minutes": min(MINUTES, partition.max_time_minutes or MINUTES),
        "script": versions.script_of(version),
    }  # fmt: skip
    try:
        spec, allocation = asking.prepare(raw, project=project)
    except BadSpec as bad:
        raise NoRoom(str(bad)) from bad
    with transaction.atomic():
        job = asking.submit(project=project, spec=spec, allocation=allocation, by=by)
        versions.measuring(version=version, job=job.pk, by=by)
    return job


def keep(*, version: DatasetVersion, by: User) -> DatasetVersion:
    """Read what the job printed and keep it. Raises versions.NoManifest, HasManifest, reading.ReaderDown."""
    job = _job(version.manifest_job)
    if job is None or job.state != State.COMPLETED:
        raise versions.NoManifest("the job has not completed")
    return versions.keep_manifest(version=version, output=_printed(job, by), by=by)


def _printed(job: Job, by: User) -> Iterator[bytes]:
    """All of it, piece by piece; of one writing of the file."""
    chunk = reading.read(job=job, by=by, offset=0, limit=PIECE)
    while chunk.data:
        yield chunk.data
        at = chunk.offset + len(chunk.data)
        if at >= chunk.size:
            return
        chunk = reading.read(job=job, by=by, offset=at, limit=PIECE, generation=chunk.generation)
        if chunk.offset != at:
            raise versions.NoManifest("the output was written anew meanwhile")


def _job(pk: UUID | None) -> Job | None:
    return Job.objects.select_related("project").defer("script").filter(pk=pk).first() if pk else None
