"""What people call a job and where they keep it: name, note, archive, star. Slurm hears nothing of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from audit import trail
from audit.actions import Action
from jobs.models import Job, Star

MOST_NAME, MOST_NOTE = 64, 500


@transaction.atomic
def label(*, job: Job, by: User, alias: str | None = None, note: str | None = None) -> None:
    """Another name or note; what is not given stays, and "" takes the name it was asked for by."""
    row = Job.objects.select_for_update(of=("self",)).select_related("project").defer("script").get(pk=job.pk)
    wanted = {"alias": (alias, MOST_NAME), "note": (note, MOST_NOTE)}
    changes = {name: _line(said)[:most] for name, (said, most) in wanted.items() if said is not None}
    if changes.get("alias") == row.name:
        changes["alias"] = ""
    _change(row, changes, by)


def _line(text: str) -> str:
    """One line of text, without what cannot be printed."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())


@transaction.atomic
def archive(*, job: Job, by: User, away: bool = True) -> None:
    """Out of the lists, or back into them."""
    row = Job.objects.select_for_update(of=("self",)).select_related("project").defer("script").get(pk=job.pk)
    if bool(row.archived_at) != away:
        _change(row, {"archived_at": timezone.now() if away else None}, by)


def _change(job: Job, changes: dict[str, Any], by: User) -> None:
    changed = {name: value for name, value in changes.items() if getattr(job, name) != value}
    for name, value in changed.items():
        before, after = (str(one or "") for one in (getattr(job, name), value))
        setattr(job, name, value)
        trail.record(Action.JOB_LABELLED, by=by, about=job, project=job.project, field=name, before=before, after=after)
    if changed:
        job.save(update_fields=list(changed))


def star(*, job: Job, by: User, on: bool = True) -> None:
    """A person's own mark: nobody's business but theirs, so no event."""
    if on:
        Star.objects.get_or_create(user=by, job=job)
    else:
        Star.objects.filter(user=by, job=job).delete()


def starred(by: User, jobs: Iterable[UUID]) -> set[UUID]:
    """Which of these the person has marked."""
    return set(Star.objects.filter(user=by, job__in=list(jobs)).values_list("job_id", flat=True))
