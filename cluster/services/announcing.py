"""Announcements: published by cluster administrators, shown where they belong, put away by whoever has read them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.utils import timezone

from audit import trail
from audit.actions import Action
from cluster.models import Announcement, Dismissal


@transaction.atomic
def publish(*, by: Any, **facts: Any) -> Announcement:
    """From now, or from when it says, until it says."""
    row = Announcement.objects.create(asked_by=by, **facts)
    trail.record(
        Action.ANNOUNCED, by=by, about=row, place=row.place, starts=row.starts_at.isoformat(),
        ends=row.ends_at.isoformat(),
    )  # fmt: skip
    return row


@transaction.atomic
def end(*, row: Announcement, by: Any) -> None:
    """Not shown any more."""
    if Announcement.objects.filter(pk=row.pk, ended_at=None).update(ended_at=timezone.now()):
        trail.record(Action.ANNOUNCEMENT_ENDED, by=by, about=row, place=row.place)


def dismiss(*, row: Announcement, by: Any) -> None:
    """One's own business: it is not recorded."""
    Dismissal.objects.get_or_create(announcement=row, user=by)


def concerns(row: Announcement, projects: Collection[str], partitions: Collection[str]) -> bool:
    """Whether it is for somebody in these projects, which may use these queues."""
    if row.project_code:
        return row.project_code in projects
    return not row.partition or row.partition in partitions
