"""The notices of a person: how many are new, the newest of them, and that they were read."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet
from django.utils import timezone

from access import gate
from access.permissions import Permission
from accounts.models import User
from jobs.models import Job, Notice, Way

MOST = 100
COUNTED = 100  # above, a bell says "99+"
SHOWN = (Way.BELL, Way.MAIL)


def _of(user: User) -> QuerySet[Notice]:
    return Notice.objects.filter(user=user, way__in=SHOWN)


def unread(user: User) -> int:
    """How many are new, up to COUNTED."""
    return _of(user).filter(read_at=None).values("pk")[:COUNTED].count()


def shown(user: User) -> list[Notice]:
    """The newest, of jobs the person may still see."""
    return visible(user, list(_of(user).order_by("-pk")[:MOST]))


def visible(user: User, rows: Sequence[Notice]) -> list[Notice]:
    """Those of jobs the person may see now, each with its job: membership may have ended since."""
    jobs = gate.allowing(Job.objects.lines().filter(pk__in={row.job_id for row in rows}), user, Permission.JOB_VIEW)
    seen = {job.pk: job for job in jobs}
    found = [row for row in rows if row.job_id in seen]
    for row in found:
        row.job = seen[row.job_id]
    return found


def mark_read(user: User) -> None:
    """All that are there now."""
    _of(user).filter(read_at=None).update(read_at=timezone.now())
