"""Everybody's jobs on the cluster: one's own view of what one may see, and of the rest what the site allows."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from access import gate
from access.permissions import Permission
from accounts.models import User
from jobs.models import Job, JobQuerySet
from jobs.states import View

FACTS = ("state", "gpus", "partition", "times", "project", "login")  # what a site may let strangers see


@dataclasses.dataclass(frozen=True, slots=True)
class Stranger:
    """What is shown of a job that is not the reader's to see; None or "" is not said. `pk` is for paging alone."""

    pk: UUID
    view: View | None
    gpus: int | None
    gpu_type: str
    partition: str
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float | None
    project: str
    login: str

    @property
    def is_open(self) -> bool:
        """As far as is said: the list of everybody's goes on."""
        return True


def allowed() -> frozenset[str]:
    """The facts of others' jobs that the site shows; none: there is no such list."""
    return frozenset(settings.OTHERS_JOBS) & set(FACTS)


def lines(rows: JobQuerySet, *, by: User, most: int) -> list[Job | Stranger]:
    """These rows, reduced where the person may not see them. `rows` must not be narrowed by what is not shown."""
    found = list(rows[:most])
    keys = [job.pk for job in found]
    seen = gate.allowing(Job.objects.filter(pk__in=keys), by, Permission.JOB_VIEW).order_by()
    own = set(seen.values_list("pk", flat=True))
    facts = allowed()
    return [job if job.pk in own else _reduced(job, facts) for job in found]


def _reduced(job: Job, facts: frozenset[str]) -> Stranger:
    times = "times" in facts
    return Stranger(
        pk=job.pk,
        view=job.view if "state" in facts else None,
        gpus=job.total_gpus if "gpus" in facts else None,
        gpu_type=job.gpu_type if "gpus" in facts else "",
        partition=job.partition if "partition" in facts else "",
        created_at=job.created_at if times else None,
        started_at=job.started_at if times else None,
        ended_at=job.ended_at if times else None,
        seconds=job.elapsed_seconds() if times else None,
        project=job.project.title if "project" in facts else "",
        login=job.owner_login if "login" in facts else "",
    )


def filters(asked: dict[str, Any]) -> dict[str, Any]:
    """An address' filters without those that would tell what is not shown."""
    facts = allowed()
    needs = {"state": "state", "gpu": "gpus", "since": "times", "until": "times", "project_code": "project",
             "person": "login"}  # fmt: skip
    kept = {name: value if needs.get(name, "") in facts else type(value)() if isinstance(value, str) else None
            for name, value in asked.items() if name in needs}  # fmt: skip
    return asked | kept | {"q": ""}
