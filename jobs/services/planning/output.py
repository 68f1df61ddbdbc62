"""Whether what a job will write fits: by what the last job of its name wrote and what the files' door says is left.

The door may be slow or away, and somebody is typing: it is asked in haste, and what it said, or that it did not
answer, is kept for a while. Where nothing is known nothing is said.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import TypeVar, cast

from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from jobs.services import writing
from jobs.specs import JobSpec
from projects.models import Project
from storage.services import passes, space
from storage.words import FAILURES

Answer = TypeVar("Answer")
_known: dict[Hashable, tuple[float, object]] = {}  # until when an answer is good, and what it is
MOST = 2000  # answers kept by a process
KEPT, UNKNOWN = 60, 5  # seconds an answer is good for, and that there was none
LEAST = 64 * 1024**2  # bytes: with less left than this hardly any job goes well
EVERYTHING = 2**62  # bytes: what nothing has room for, so that the answer is how much is left, and of what
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
    """What is left is asked once a minute for a folder, and what was written once a minute for a name."""
    if not Path(settings.FILES_SOCKET).exists():
        return Outlook()
    folder = spec.options.folder
    left = _kept(("left", project.pk, by.pk, folder), lambda: space.shortage(
        project=project, by=by, needed=EVERYTHING, folder=folder, haste=passes.HASTE))  # fmt: skip
    if left is None:
        return Outlook()
    each = _kept(("wrote", project.pk, by.pk, spec.name), lambda: _wrote(spec.name, project, by)) or 0
    wrote = int(each * spec.options.tasks)
    needed = max(wrote, LEAST)
    return Outlook(dataclasses.replace(left, needed=needed) if needed > left.left else None, wrote)


def forget() -> None:
    """The next look asks anew."""
    _known.clear()


def _kept(facts: Hashable, ask: Callable[[], Answer]) -> Answer | None:
    """The answer of the last minute; asked for where there is none. None: not known, which is kept for seconds."""
    now = time.monotonic()
    until, found = _known.get(facts, (0.0, None))
    if now < until:
        return cast(Answer | None, found)
    if len(_known) >= MOST:
        _known.clear()
    _known[facts] = (now + UNKNOWN, None)  # who looks meanwhile does not ask again
    try:
        answer = ask()
    except FAILURES:
        return None
    _known[facts] = (now + KEPT, answer)
    return answer


def _wrote(name: str, project: Project, by: User) -> float:
    """Bytes of a task of the last job of this name; 0 where there was none."""
    mine = Job.objects.filter(owner=by).exclude(started_at=None).exclude(ended_at=None).order_by("-pk")
    rows = mine.values_list("pk", "project_id", "name")[:LAST]
    pk = next((pk for pk, of, called in rows if (of, called) == (project.pk, name)), None)
    job = Job.objects.select_related("project").defer("script", "environment").get(pk=pk) if pk else None
    found = writing.written(job=job, by=by, haste=passes.HASTE) if job else None
    return found.files.bytes / job.asked.tasks if found and job else 0.0
