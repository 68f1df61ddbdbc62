"""May this session watch this job? What sockets ask at connect and again while they are open."""

from __future__ import annotations

import dataclasses
from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from access import gate
from access.errors import Denied
from access.permissions import Permission
from accounts.middleware import person_of
from jobs.models import Job
from jobs.services import reading


@dataclasses.dataclass(frozen=True, slots=True)
class Watch:
    """Who watches which job."""

    job_id: UUID
    user_id: int
    project_id: int
    owner_id: int | None


# two hundred sockets come at once when a process was restarted
WATCHED = gate.Listing(lambda pk: Job.objects.filter(pk=pk).only("project", "owner"), most=1)


def may(session_key: str, pk: str | UUID, permission: Permission) -> Watch:
    """The right to watch now; raises access.errors.Denied."""
    user = person_of(session_key) or AnonymousUser()
    job = WATCHED.fetch(user, permission, pk=UUID(str(pk)))
    return Watch(job.pk, user.pk or 0, job.project_id, job.owner_id)


def note(session_key: str, watch: Watch) -> None:
    """Record that somebody else than the owner watches this output (once an hour)."""
    user = person_of(session_key) if watch.user_id != watch.owner_id else None
    if user is not None:
        job = Job.objects.select_related("project").defer("script", "environment").get(pk=watch.job_id)
        reading.note(job=job, by=user)


__all__ = ["Denied", "Watch", "may", "note"]
