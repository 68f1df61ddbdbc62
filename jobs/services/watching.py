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


def may(session_key: str, pk: str, permission: Permission) -> Watch:
    """The right to watch now; raises access.errors.Denied."""
    user = person_of(session_key) or AnonymousUser()
    job = gate.fetch(Job.objects.only("pk", "project_id", "owner_id"), user, permission, pk=pk)
    return Watch(job.pk, user.pk or 0, job.project_id)


def note(session_key: str, watch: Watch) -> None:
    """Record that somebody else than the owner watches this output (once an hour)."""
    user = person_of(session_key)
    if user is not None:
        job = Job.objects.select_related("project").defer("script", "environment").get(pk=watch.job_id)
        reading.note(job=job, by=user)


__all__ = ["Denied", "Watch", "may", "note"]
