"""What a person wants to be told, and how: of all their jobs, or of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.db.models import Q

from accounts.models import User
from jobs.models import Job, Kind, NoticeChoice, Way

USUAL: Mapping[str, str] = {Kind.STARTED: Way.NONE, Kind.ENDED: Way.BELL, Kind.FAILED: Way.MAIL, Kind.TIME: Way.BELL}


def ways_of(user: User, job: Job | None = None) -> dict[str, str]:
    """Kind -> way, every kind: of one job what was chosen for it, else what was chosen for all, else the usual."""
    found = choices([(user.pk, job.pk if job else None)])
    return found[user.pk, job.pk if job else None]


def choices(wanted: Iterable[tuple[int, UUID | None]]) -> dict[tuple[int, UUID | None], dict[str, str]]:
    """The same for many (user, job), in one statement."""
    pairs = set(wanted)
    rows = NoticeChoice.objects.filter(user__in={user for user, _job in pairs})
    rows = rows.filter(Q(job=None) | Q(job__in={job for _user, job in pairs if job}))
    kept = {(row.user_id, row.job_id): row.ways for row in rows}
    return {
        (user, job): {**USUAL, **kept.get((user, None), {}), **(kept.get((user, job), {}) if job else {})}
        for user, job in pairs
    }


def choose(*, by: User, ways: Mapping[str, str], job: Job | None = None) -> None:
    """Keep it; what is no kind or way is left out. Of a job it is its owner's alone to say."""
    kept = {kind: ways[kind] for kind in Kind.values if ways.get(kind) in Way.values}
    if job is not None and job.owner_id != by.pk:
        return
    NoticeChoice.objects.update_or_create(user=by, job=job, defaults={"ways": kept})
