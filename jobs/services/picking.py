"""What a request can name without knowing it by heart: jobs to wait for, folders of earlier jobs, reservations."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models.fields.json import KT
from django.utils.translation import gettext_lazy as _

from access import gate
from access.ids import first_at
from access.permissions import Permission
from accounts.models import User
from cluster.models import Cluster
from cluster.models.picture import Kept
from jobs.models import Job
from jobs.options import KINDS
from jobs.services import finding
from jobs.states import View, view
from projects.models import Project

MOST, NEWEST = 8, 200  # rows offered; a person's newest jobs that are looked through for folders
HOW = {"ok": _("after it has succeeded"), "any": _("after it has ended"), "notok": _("after it has failed")}
BACK = 90 * 24 * 3600.0  # seconds that the search goes back


@dataclasses.dataclass(frozen=True, slots=True)
class Wait:
    """A job that can be waited for; `kind` "" where it is not."""

    job: Job
    kind: str

    @property
    def choices(self) -> list[tuple[str, object, bool]]:
        """What the field says for each kind, in words, and whether it does."""
        return [(f"{kind}:{self.job.pk}", HOW[kind], kind == self.kind) for kind in KINDS]


def waits(*, project: Project, by: User, said: str, q: str = "") -> tuple[list[Wait], str]:
    """The jobs that the field names, then others to choose from; and what of the field names none the person may see.

    Without a search their own that are not over, with one all of the project's of the last three months.
    """
    asked = dict(_pairs(said))
    seen = gate.allowing(Job.objects.lines("owner"), by, Permission.JOB_VIEW)
    named = {row.pk: row for row in seen.filter(pk__in=list(asked))} if asked else {}
    here = Job.objects.lines("owner").filter(project=project).exclude(pk__in=list(asked)).order_by("-pk")
    rows = here.filter(finding.saying(q), pk__gte=first_at(time.time() - BACK)) if q else here.open().filter(owner=by)
    others = gate.allowing(rows, by, Permission.JOB_VIEW)
    rest = [one for one in said.split() if not any(pk in named for _kind, pk in _ids([one]))]
    chosen = [Wait(named[pk], asked[pk]) for pk in asked if pk in named]
    return [*chosen, *(Wait(row, "") for row in others[:MOST])], " ".join(rest)


def named(said: str, *, by: User) -> str:
    """What the field says, with the names of jobs the person may see instead of their ids."""
    asked = dict(_pairs(said))
    seen = gate.allowing(Job.objects.filter(pk__in=list(asked)), by, Permission.JOB_VIEW) if asked else ()
    names = {f"{asked[row.pk]}:{row.pk}": f"{row.called} ({HOW[asked[row.pk]]})" for row in seen}
    return ", ".join(names.get(word.lower(), word) for word in said.split())


def _pairs(said: str) -> Iterable[tuple[UUID, str]]:
    return ((pk, kind) for kind, pk in _ids(said.split()))


def _ids(words: Iterable[str]) -> Iterable[tuple[str, UUID]]:
    for word in words:
        kind, _sign, text = word.partition(":")
        try:
            pk = UUID(text)
        except ValueError:
            continue
        if kind in KINDS:
            yield kind, pk


@dataclasses.dataclass(frozen=True, slots=True)
class Folder:
    """Where an earlier job started, from the project's folder on."""

    path: str
    name: str
    state: View
    at: datetime


def folders(*, project: Project, by: User) -> Sequence[Folder]:
    """Of the person's own newest jobs in the project, each folder once, newest first."""
    mine = Job.objects.filter(owner=by).order_by("-pk").annotate(path=KT("options__folder"))
    rows = mine.values_list("project_id", "path", "name", "alias", "state", "created_at")[:NEWEST]
    found: dict[str, Folder] = {}
    for project_id, path, name, alias, state, at in rows:
        if project_id == project.pk and path and path not in found and len(found) < MOST:
            found[path] = Folder(path, alias or name, view(state), at)
    return list(found.values())


def reservations(*, project: Project, by: User) -> Sequence[Kept]:
    """Those of the picture that let the person's jobs in this project in: under way and to come."""
    cluster = Cluster.objects.filter(name=settings.CLUSTER_NAME).first()
    return [one for one in cluster.kept if one.is_for(by.username, project.slurm_account)] if cluster else []
