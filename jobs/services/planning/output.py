"""Whether what a job will write fits: by what the last job of its name wrote and what the files' door says is left.

The door may be slow or away, and somebody is typing: it is asked in haste, and what it said, or that it did not
answer, is kept for a while. Where nothing is known nothing is said.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from jobs.services import writing
from jobs.specs import JobSpec
from projects.models import Project
from storage.services import passes, space
from storage.words import FAILURES

KEPT, UNKNOWN = 60, 5  # seconds an answer is good for, and that there was none
LEAST = 64 * 1024**2  # bytes: with less left than this hardly any job goes well
LAST = 50  # of a person's newest jobs: among them one of that name is looked for


@dataclasses.dataclass(frozen=True, slots=True)
class Outlook:
    """What is short, if anything; `wrote`: bytes, going by the last job of the name; 0 where none is known."""

    short: space.Shortage | None = None
    wrote: int = 0


def warnings(spec: JobSpec, *, project: Project, by: User) -> Iterator[str]:
    """A sentence where it will hardly fit."""
    found = outlook(spec, project=project, by=by)
    if found.short is None:
        return
    wrote = filesizeformat(found.wrote)
    told = _("Going by the last job of this name it writes %(size)s.") % {"size": wrote} if found.wrote >= LEAST else ""
    clear = _("Delete old training checkpoints, or ask your administrator for more.")
    yield " ".join(filter(None, (_("Its output may not fit."), told, _left(found.short), clear)))


def _left(short: space.Shortage) -> str:
    said = {
        "user": _("%(size)s of your storage limit are left."),
        "group": _("%(size)s of the storage limit of the project's group are left."),
        "folder": _("%(size)s of the storage limit of the folder are left."),
    }.get(short.bound, _("%(size)s are free on the file system."))
    return said % {"size": filesizeformat(short.left)}


def outlook(spec: JobSpec, *, project: Project, by: User) -> Outlook:
    """As it was found within the last minute; asked for where nothing is kept."""
    facts = repr((project.pk, by.pk, spec.name, spec.options.tasks, spec.options.folder))
    key = f"outlook-{hashlib.sha256(facts.encode()).hexdigest()}"
    kept = cache.get(key)
    if isinstance(kept, Outlook):
        return kept
    cache.set(key, Outlook(), UNKNOWN)  # who asks meanwhile does not ask again
    found = _asked(spec, project, by)
    if found is not None:
        cache.set(key, found, KEPT)
    return found or Outlook()


def _asked(spec: JobSpec, project: Project, by: User) -> Outlook | None:
    """None where the door does not say."""
    if not Path(settings.FILES_SOCKET).exists():
        return None
    try:
        wrote = _wrote(spec, project, by)
        short = space.shortage(
            project=project, by=by, needed=max(wrote, LEAST), folder=spec.options.folder, haste=passes.HASTE
        )
    except FAILURES:
        return None
    return Outlook(short, wrote)


def _wrote(spec: JobSpec, project: Project, by: User) -> int:
    """Bytes, as many tasks as it has now taken into account."""
    mine = Job.objects.filter(owner=by).order_by("-pk").select_related("project").defer("script", "environment")
    ran = (job for job in mine[:LAST] if job.project_id == project.pk and job.ended_at and job.started_at)
    last = next((job for job in ran if job.name == spec.name), None)
    found = writing.written(job=last, by=by, haste=passes.HASTE) if last else None
    return found.files.bytes * spec.options.tasks // last.asked.tasks if found and last else 0
