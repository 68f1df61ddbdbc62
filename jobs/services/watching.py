"""May this session watch this job? What sockets ask at connect and again while they are open."""

from __future__ import annotations

import dataclasses
import time
from typing import cast
from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from access import gate
from access.errors import Denied
from access.permissions import Permission
from accounts.middleware import person_of
from accounts.models import User
from jobs.models import Job
from jobs.services import data, reading


@dataclasses.dataclass(frozen=True, slots=True)
class Watch:
    """Who watches which job."""

    job_id: UUID
    user_id: int
    project_id: int
    owner_id: int | None
    datasets: tuple[str, ...] = ()  # codes

    @property
    def groups(self) -> list[str]:
        """Where hints come from: the job, the person, the datasets it uses."""
        return [f"job-{self.job_id}", f"user-{self.user_id}", *(f"dataset-{code}" for code in self.datasets)]


SAME_READING, MOST_NOTED = reading.SAME_READING.total_seconds(), 10_000
_noted: dict[tuple[int, UUID], float] = {}  # who watches what -> when it was last seen to be in the trail
# two hundred sockets come at once when a process was restarted
WATCHED = gate.Listing(lambda pk: Job.objects.filter(pk=pk).only("project", "owner", "datasets"), most=1)


def may(session_key: str, pk: str | UUID, permission: Permission) -> Watch:
    """The right to watch now; raises access.errors.Denied."""
    user = person_of(session_key) or AnonymousUser()
    job = WATCHED.fetch(user, permission, pk=UUID(str(pk)))
    if permission == Permission.LOG_READ:
        data.may_read(job, cast(User, user))
    codes = tuple(one["code"] for one in job.datasets)
    return Watch(job.pk, user.pk or 0, job.project_id, job.owner_id, codes)


def note(session_key: str, watch: Watch) -> None:
    """Record that somebody else than the owner watches this output (once an hour, and asked for no more often)."""
    key, now = (watch.user_id, watch.job_id), time.monotonic()
    if watch.user_id == watch.owner_id or now - _noted.get(key, -SAME_READING) < SAME_READING:
        return
    user = person_of(session_key)
    if user is not None:
        job = Job.objects.select_related("project").defer("script", "environment").get(pk=watch.job_id)
        reading.note(job=job, by=user)
        if len(_noted) >= MOST_NOTED:
            _noted.clear()
        _noted[key] = now


__all__ = ["Denied", "Watch", "may", "note"]
