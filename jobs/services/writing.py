"""What a job wrote: the files its owner changed in its folder while it ran."""

from __future__ import annotations

import dataclasses
import math

from django.utils.translation import gettext as _

from accounts.models import User
from files.client import Found
from jobs import specs
from jobs.models import Handover, HandoverOutcome, Job
from jobs.services import tickets
from projects.models import Project
from storage import words
from storage.services import looking

SLACK = 5  # seconds: clocks of nodes and of file servers differ


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """The newest of a job's files, how many with how many bytes, whose, and the folder beneath the project's."""

    files: Found
    owners: dict[int, User]
    folder: str


def written(*, job: Job, by: User, haste: float | None = None) -> Written | None:
    """None before it started. Raises what storage.services.passes.door does."""
    accepted = Handover.objects.filter(job=job, outcome=HandoverOutcome.ACCEPTED).order_by("-attempt")
    handover = accepted.only("working_directory", "uid").first()
    if handover is None or handover.uid is None or job.started_at is None:
        return None
    folder = _beneath(handover.working_directory, job.project.folder)
    until = math.ceil(job.ended_at.timestamp()) + SLACK if job.ended_at else looking.MOST
    files, owners = looking.written(
        project=job.project, by=by, path=folder, uid=handover.uid, since=int(job.started_at.timestamp()) - SLACK,
        until=until, haste=haste,
    )  # fmt: skip
    return Written(files, owners, folder)


def check_folder(folder: str, *, project: Project, by: User) -> None:
    """Slurm starts a job elsewhere where its folder is not there: looked at before. Raises specs.BadSpec."""
    if not folder:
        return
    try:
        found = looking.folder(project=project, by=by, path=folder, limit=1)
    except words.FAILURES as error:
        raise specs.BadSpec({"folder": [words.of(error)[2]]}) from error
    if not found.listing.may_write:
        raise specs.BadSpec({"folder": [_("Your login may not write into this folder.")]})


def _beneath(path: str, folder: str) -> str:
    """A job's folder from the project's on; one that lies elsewhere is not looked into."""
    return path[len(folder) + 1 :] if tickets.within(path, folder) else ""
